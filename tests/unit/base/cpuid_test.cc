#include "base/cpuid.h"

#include <cstddef>
#include <iterator>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("CPUID is taken from what another process has read, and only that") {
  CpuidAtStart known = ReadCpuidAtStart();
  const CpuidLeaf features = ReadCpuid(1);
  CHECK(known.leaves[1].edx == features.edx);
  CHECK(known.leaves[0].ebx != 0);  // the vendor's name
  const CpuidLeaf other = ReadCpuid(0xd, 0);
  for (size_t i = 0; i < std::size(kCpuidAtStart); ++i) {
    known.leaves[i].eax = static_cast<uint32_t>(100 + i);
  }
  SetKnownCpuid(&known);
  for (size_t i = 0; i < std::size(kCpuidAtStart); ++i) {
    CHECK(ReadCpuid(kCpuidAtStart[i].leaf, kCpuidAtStart[i].subleaf).eax == 100 + i);
  }
  CHECK(ReadCpuid(0xd, 0).ebx == other.ebx);
  SetKnownCpuid(nullptr);
  CHECK(ReadCpuid(1).edx == features.edx);
}

}  // namespace
}  // namespace hbbp
