#include "perf/ip_correction.h"

namespace hbbp {
namespace {

// Code without a taken branch is seldom longer.
constexpr uint64_t kLongestRun = 4096;

constexpr bool IsKernelAddress(uint64_t address) { return address >> 63 != 0; }

}  // namespace

EbsMethod ChooseEbsMethod(EbsMethod wanted, uint32_t precise_ip, bool has_stacks) {
  if (wanted == EbsMethod::kPlain || !has_stacks) return EbsMethod::kPlain;
  if (wanted == EbsMethod::kIpPlusOne) return EbsMethod::kIpPlusOne;
  return precise_ip != 0 ? EbsMethod::kIpPlusOne : EbsMethod::kPlain;
}

IpOrigin IpCorrection::CorrectBy(uint64_t from, uint64_t to, uint64_t ip) {
  if (to == ip && IsKernelAddress(from) == IsKernelAddress(ip)) {
    ++to_branch_;
    return {from};
  }
  if (to < ip && ip - to <= kLongestRun) {
    ++before_;
    return {ip, IpPosition::kAfter};
  }
  ++kept_;
  return {ip};
}

void IpCorrection::AppendTo(std::vector<std::pair<std::string, uint64_t>>* counters) const {
  const auto add = [counters](const char* name, uint64_t number) {
    if (number != 0) counters->emplace_back(name, number);
  };
  add("ip-exact", exact_);
  add("ip-moved-to-branch", to_branch_);
  add("ip-moved-before", before_);
  add("ip-kept", kept_);
}

}  // namespace hbbp
