// IbsOp and IbsFetch are what AMD's instruction-based sampling knows of a sampled op or fetch,
// field by field.
#ifndef HBBP_LIB_EVENTS_IBS_SAMPLE_H_
#define HBBP_LIB_EVENTS_IBS_SAMPLE_H_

#include <cstdint>

namespace hbbp {

// Says where the data of a load came from, beyond the L2 cache of its core.
enum class IbsDataSource : uint8_t {
  kNone = 0,         // no such load, or not known
  kLocalL3 = 1,      // or another cache of the core complex
  kNearCache = 2,    // of another core complex, same node
  kDram = 3,         // IbsOp::is_remote says of which node
  kFarCache = 5,     // of another node
  kLongLatency = 6,  // memory
  kOther = 7,        // MMIO, configuration space, APIC
  kExtension = 8,    // memory (CXL)
  kPeerAgent = 12,   // coherent memory of another kind of processor
};

// This is a NUMA node that is not known.
inline constexpr uint32_t kUnknownNode = UINT32_MAX;

struct IbsOp {
  uint32_t capabilities = 0;
  // IBS_OP_CTL
  uint64_t max_count = 0;
  uint64_t current_count = 0;
  bool is_valid = false;
  bool counts_uops = false;  // else cycles
  bool only_l3_misses = false;
  // IBS_OP_RIP, unless IBS_OP_DATA says that it is invalid
  uint64_t ip = 0;
  // IBS_OP_DATA
  uint16_t completion_to_retire_cycles = 0;
  uint16_t tag_to_retire_cycles = 0;
  bool is_branch = false;  // one that retired
  bool is_taken = false;
  bool is_mispredicted = false;
  bool is_return = false;
  bool ip_is_invalid = false;
  bool is_fused_branch = false;
  bool is_microcode = false;
  bool is_resync = false;  // families 10h to 16h
  // IBS_OP_DATA2
  IbsDataSource data_source = IbsDataSource::kNone;
  bool is_remote = false;
  bool hit_owned_line = false;  // in another cache; else modified
  // IBS_OP_DATA3
  bool is_load = false;
  bool is_store = false;
  bool missed_l1_dtlb = false;
  bool missed_l2_dtlb = false;
  bool hit_l1_dtlb_2m = false;
  bool hit_l1_dtlb_1g = false;
  bool hit_l2_dtlb_2m = false;
  bool hit_l2_dtlb_1g = false;
  bool missed_dc = false;
  bool missed_l2 = false;
  bool is_misaligned = false;
  bool has_load_bank_conflict = false;  // families 10h to 16h, as the next three
  bool has_store_bank_conflict = false;
  bool is_forwarded = false;  // data from a store to a load
  bool is_forwarding_cancelled = false;
  bool is_write_combining = false;
  bool is_uncacheable = false;
  bool is_locked = false;
  bool found_miss_underway = false;  // no new miss address buffer was needed
  bool has_linear_address = false;
  bool has_physical_address = false;
  bool is_software_prefetch = false;
  // The op missed or passed the L1 data cache, and nothing is known of what is beyond that.
  bool is_unknown_beyond_l1 = false;
  uint8_t width_bytes = 0;  // of the access; 0: not known
  uint8_t open_requests = 0;
  uint16_t dc_miss_cycles = 0;
  uint16_t dtlb_refill_cycles = 0;
  // IBS_DC_LINADDR, IBS_DC_PHYSADDR, IBS_BRTARGET
  uint64_t linear_address = 0;
  uint64_t physical_address = 0;
  uint64_t branch_target = 0;  // 0 unless the op is a taken branch
};

// Returns whether it is known where in memory the op accessed data.
constexpr bool AccessesMemory(const IbsOp& op) {
  return (op.is_load || op.is_store) && op.has_linear_address;
}

struct IbsFetch {
  uint32_t capabilities = 0;
  // IBS_FETCH_CTL
  uint32_t max_count = 0;
  uint32_t current_count = 0;
  uint16_t latency_cycles = 0;  // until it was delivered or aborted
  bool is_valid = false;
  bool is_complete = false;  // else aborted
  bool missed_ic = false;
  bool missed_op_cache = false;
  bool missed_l2 = false;
  bool missed_l3 = false;
  bool only_l3_misses = false;
  bool has_physical_address = false;
  uint64_t page_bytes = 0;  // of the translation; 0: not known
  bool missed_l1_itlb = false;
  bool missed_l2_itlb = false;
  bool is_randomized = false;
  // IBS_FETCH_LINADDR, IBS_FETCH_PHYSADDR
  uint64_t linear_address = 0;
  uint64_t physical_address = 0;
  // IC_IBS_EXTD_CTL
  uint16_t itlb_refill_cycles = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_EVENTS_IBS_SAMPLE_H_
