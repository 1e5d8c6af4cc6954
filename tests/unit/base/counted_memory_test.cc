#include "base/counted_memory.h"

#include <new>
#include <vector>

#include "support/catch.h"
#include "support/failing_host.h"

namespace hbbp {
namespace {

TEST_CASE("memory is counted, also what is used elsewhere") {
  CountedMemory memory;
  {
    std::pmr::vector<char> bytes(1000, 'x', &memory);
    CHECK(memory.used() == 1000);
    memory.AddOthers(500);
    CHECK(memory.used() == 1500);
  }
  CHECK(memory.used() == 500);
  memory.SubtractOthers(500);
  CHECK(memory.used() == 0);
  CHECK(memory.peak() == 1500);
}

TEST_CASE("no more memory is used than is allowed") {
  CountedMemory memory({}, 1000);
  void* all = memory.allocate(1000, 16);
  CHECK_THROWS_AS(memory.allocate(1, 1), std::bad_alloc);
  CHECK_THROWS_AS(memory.AddOthers(1), std::bad_alloc);
  CHECK(memory.used() == 1000);
  memory.deallocate(all, 1000, 16);
  memory.AddOthers(400);
  CHECK_THROWS_AS(memory.allocate(601, 8), std::bad_alloc);
  void* rest = memory.allocate(600, 8);
  CHECK(memory.used() == memory.peak());
  memory.deallocate(rest, 600, 8);
  CHECK(memory.used() == 400);
}

TEST_CASE("memory is the host's where it has an allocator") {
  FailingHost host;
  CountedMemory memory(host.allocator());
  {
    std::pmr::vector<double> numbers(10, 1.0, &memory);
    CHECK(host.live == 1);
    host.every = 1;
    CHECK_THROWS_AS(numbers.push_back(2), std::bad_alloc);
    CHECK(numbers.size() == 10);
    CHECK(memory.used() == 10 * sizeof(double));
  }
  CHECK(host.live == 0);
  CHECK(memory.used() == 0);
}

}  // namespace
}  // namespace hbbp
