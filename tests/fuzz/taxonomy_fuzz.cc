// Parses any text as a file of taxonomies.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "isa/taxonomy.h"

namespace {

constexpr uint8_t kLockXadd[] = {0xf0, 0x0f, 0xc1, 0x01};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto taxonomies = hbbp::ParseTaxonomies({reinterpret_cast<const char*>(data), size});
  if (!taxonomies.ok()) {
    if (!taxonomies.status().message().starts_with("line ") && size <= hbbp::kMaxTaxonomyBytes) {
      std::abort();
    }
    return 0;
  }
  hbbp::InstructionProperties properties;
  if (!hbbp::DescribeInstruction(kLockXadd, &properties)) std::abort();
  if (taxonomies->empty()) std::abort();
  for (const hbbp::Taxonomy& taxonomy : *taxonomies) {
    if (taxonomy.groups().empty() || taxonomy.name().empty()) std::abort();
    const size_t group = taxonomy.GroupOf(properties);
    if (group > taxonomy.groups().size() || taxonomy.GroupName(group).empty()) std::abort();
  }
  return 0;
}
