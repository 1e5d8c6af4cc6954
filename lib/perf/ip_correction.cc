#include "perf/ip_correction.h"

namespace hbbp {
namespace {

// Code without a taken branch is seldom longer.
constexpr uint64_t kLongestRun = 4096;

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

void IpCorrection::AppendTo(Counters* counters) const {
  AddCounter("ip-exact", exact_, counters);
  AddCounter("ip-moved-to-branch", to_branch_, counters);
  AddCounter("ip-moved-before", before_, counters);
  AddCounter("ip-kept", kept_, counters);
}

}  // namespace hbbp
