#include "symbols/line_memory.h"

#include <memory>
#include <string>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

std::weak_ptr<std::string> Make(LineMemory* memory, LineCost cost) {
  const std::shared_ptr<std::string> thing = std::make_unique<std::string>("thing");
  memory->Use(thing, cost);
  return thing;
}

TEST_CASE("What was used longest ago is dropped", "[line_memory]") {
  LineMemory memory(100);
  const auto first = Make(&memory, {40, 0}), second = Make(&memory, {40, 0});
  memory.Use(first.lock(), {40, 0});
  CHECK(memory.IsLast(first.lock().get()));
  const auto third = Make(&memory, {40, 0});
  CHECK(second.expired());
  CHECK(!first.expired());
  CHECK(!third.expired());
  CHECK(memory.kept().bytes == 80);
}

TEST_CASE("What was used last is kept at any cost, and until its user is done", "[line_memory]") {
  LineMemory memory(100);
  const auto small = Make(&memory, {10, 0});
  const auto large = Make(&memory, {1000, 0});
  CHECK(small.expired());
  CHECK(memory.kept().bytes == 1000);
  const std::shared_ptr<std::string> in_use = large.lock();
  Make(&memory, {1, 0});
  CHECK(memory.kept().bytes == 1);
  REQUIRE(in_use != nullptr);
  CHECK(*in_use == "thing");
  memory.Use(in_use, {50, 0});
  CHECK(memory.kept().bytes == 51);
}

TEST_CASE("What is held leaves less room for the rest", "[line_memory]") {
  LineMemory memory(100);
  const auto first = Make(&memory, {40, 0});
  memory.Hold(50);
  CHECK(memory.kept().bytes == 90);
  const auto second = Make(&memory, {30, 0});
  CHECK(first.expired());
  CHECK(!second.expired());
  CHECK(memory.kept().bytes == 80);
  memory.Release(50);
  CHECK(memory.kept().bytes == 30);
}

TEST_CASE("A cost may change", "[line_memory]") {
  LineMemory memory(100);
  const auto grows = Make(&memory, {10, 1}), other = Make(&memory, {60, 0});
  memory.Use(grows.lock(), {50, 2});
  CHECK(other.expired());
  CHECK(memory.kept().bytes == 50);
  CHECK(memory.kept().descriptors == 2);
  memory.Use(grows.lock(), {20, 1});
  CHECK(memory.kept().bytes == 20);
  memory.Drop(grows.lock().get());
  CHECK(grows.expired());
  CHECK(memory.kept().bytes == 0);
  CHECK(memory.kept().descriptors == 0);
  memory.Drop(nullptr);
}

TEST_CASE("Too many descriptors drop what has some", "[line_memory]") {
  LineMemory memory(100);
  const auto files = Make(&memory, {1, LineMemory::kMaxDescriptors}), unit = Make(&memory, {1, 0});
  const auto more = Make(&memory, {1, 1});
  CHECK(files.expired());
  CHECK(!unit.expired());
  CHECK(memory.kept().descriptors == 1);
}

}  // namespace
}  // namespace hbbp
