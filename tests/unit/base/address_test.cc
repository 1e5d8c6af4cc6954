#include "base/address.h"

#include <concepts>
#include <cstdint>

#include "support/catch.h"

namespace hbbp {
namespace {

template <typename A, typename B>
concept Subtractable = requires(A a, B b) {
  a - b;
};
template <typename A, typename B>
concept Comparable = requires(A a, B b) {
  a < b;
};

// Confusing two kinds of address must not compile.
static_assert(Subtractable<RuntimeAddress, RuntimeAddress>);
static_assert(!Subtractable<RuntimeAddress, FileOffset>);
static_assert(!Subtractable<ModuleAddress, RuntimeAddress>);
static_assert(!Comparable<RuntimeAddress, ModuleAddress>);
static_assert(!Comparable<FileOffset, ModuleAddress>);
static_assert(!std::convertible_to<RuntimeAddress, ModuleAddress>);
static_assert(!std::convertible_to<ModuleAddress, uint64_t>);

TEST_CASE("addresses are ordered and moved by bytes") {
  const RuntimeAddress low{0x1000};
  const RuntimeAddress high{0x1800};
  CHECK(low < high);
  CHECK(low != high);
  CHECK(low + 0x800 == high);
  CHECK(high - uint64_t{0x800} == low);
  CHECK(high - low == 0x800);
}

}  // namespace
}  // namespace hbbp
