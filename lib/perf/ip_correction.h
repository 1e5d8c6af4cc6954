// IpCorrection finds out which instruction an IP sample is of.
//
// A precise sample (PEBS) has the address of the instruction after the one in which the event
// happened, unless processor or kernel have corrected that (PERF_RECORD_MISC_EXACT_IP). The newest
// branch of the sample says where control came from ("IP+1" in Nowak et al., "Establishing a Base
// of Trust with Performance Counters for Enterprise Workloads"):
//   its target is the IP                    the event was in the branch
//   its target is a short way before the IP  control ran on: it was in the instruction before
//   else                                     the stack is of another moment; the IP stays
// An imprecise sample has an IP any number of instructions later; nothing is corrected there
// unless asked for.
#ifndef HBBP_LIB_PERF_IP_CORRECTION_H_
#define HBBP_LIB_PERF_IP_CORRECTION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "events/samples.h"
#include "perf/branch_stack_bursts.h"

namespace hbbp {

struct IpOrigin {
  uint64_t ip = 0;
  IpPosition position = IpPosition::kAt;
  bool operator==(const IpOrigin&) const = default;
};

// Returns kPlain or kIpPlusOne for an event. `has_stacks` says that samples come with all their
// newest branches.
EbsMethod ChooseEbsMethod(EbsMethod wanted, uint32_t precise_ip, bool has_stacks);

class IpCorrection {
 public:
  // Corrects a sample of a kIpPlusOne source. `stack` is newest first, as that of
  // BranchStackBursts.
  template <typename Stack>
  IpOrigin Correct(uint64_t ip, bool is_exact, const Stack& stack) {
    if (is_exact) {
      ++exact_;
      return {ip};
    }
    for (size_t i = 0; i < stack.size(); ++i) {
      const auto& entry = stack[i];
      if (entry.from == 0 || entry.to == 0 || IsSpeculative(entry)) continue;
      return CorrectBy(entry.from, entry.to, ip);
    }
    ++kept_;
    return {ip};
  }

  // Appends the counts that are not 0.
  void AppendTo(Counters* counters) const;

 private:
  IpOrigin CorrectBy(uint64_t from, uint64_t to, uint64_t ip);

  uint64_t exact_ = 0;
  uint64_t to_branch_ = 0;
  uint64_t before_ = 0;
  uint64_t kept_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_IP_CORRECTION_H_
