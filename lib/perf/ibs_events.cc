#include "perf/ibs_events.h"

namespace hbbp {
namespace {

constexpr uint64_t k4K = 4 << 10, k2M = 2 << 20, k1G = 1 << 30;

bool IsMemory(const IbsOp& op) { return op.is_load || op.is_store; }
bool HasTranslation(const IbsOp& op) { return IsMemory(op) && op.has_linear_address; }
bool MissesBothDtlbs(const IbsOp& op) { return op.missed_l1_dtlb && op.missed_l2_dtlb; }
bool HitsL2Dtlb(const IbsOp& op) { return op.missed_l1_dtlb && !op.missed_l2_dtlb; }
bool HitsL1Dtlb(const IbsOp& op) { return HasTranslation(op) && !op.missed_l1_dtlb; }
bool MissesDcByLoad(const IbsOp& op) { return op.is_load && op.missed_dc; }
// Data came from beyond the caches of the core.
bool IsNorthBridge(const IbsOp& op) { return op.is_load && op.data_source != IbsDataSource::kNone; }
bool IsFrom(const IbsOp& op, IbsDataSource source) {
  return op.is_load && op.data_source == source;
}
bool IsFromCache(const IbsOp& op) {
  return IsFrom(op, IbsDataSource::kLocalL3) || IsFrom(op, IbsDataSource::kNearCache) ||
         IsFrom(op, IbsDataSource::kFarCache);
}
bool IsRemote(const IbsOp& op) { return op.is_remote || IsFrom(op, IbsDataSource::kFarCache); }

using Fetch = const IbsFetch&;
using Op = const IbsOp&;

constexpr IbsEvent<IbsFetch> kFetchEvents[] = {
    {"fetch-samples", [](Fetch) -> uint64_t { return 1; }},
    {"fetch-killed", [](Fetch f) -> uint64_t { return !f.is_complete && !f.missed_ic; }},
    {"fetch-attempted", [](Fetch f) -> uint64_t { return f.is_complete || f.missed_ic; }},
    {"fetch-completed", [](Fetch f) -> uint64_t { return f.is_complete; }},
    {"fetch-aborted", [](Fetch f) -> uint64_t { return !f.is_complete; }},
    {"fetch-l1-itlb-hits",
     [](Fetch f) -> uint64_t { return f.has_physical_address && !f.missed_l1_itlb; }},
    {"fetch-l2-itlb-hits",
     [](Fetch f) -> uint64_t { return f.missed_l1_itlb && !f.missed_l2_itlb; }},
    {"fetch-itlb-misses", [](Fetch f) -> uint64_t { return f.missed_l1_itlb && f.missed_l2_itlb; }},
    {"fetch-ic-misses", [](Fetch f) -> uint64_t { return f.missed_ic; }},
    {"fetch-ic-hits", [](Fetch f) -> uint64_t { return f.is_complete && !f.missed_ic; }},
    {"fetch-op-cache-misses", [](Fetch f) -> uint64_t { return f.missed_op_cache; }},
    {"fetch-l2-misses", [](Fetch f) -> uint64_t { return f.missed_l2; }},
    {"fetch-l3-misses", [](Fetch f) -> uint64_t { return f.missed_l3; }},
    {"fetch-4k-pages", [](Fetch f) -> uint64_t { return f.page_bytes == k4K; }},
    {"fetch-2m-pages", [](Fetch f) -> uint64_t { return f.page_bytes == k2M; }},
    {"fetch-1g-pages", [](Fetch f) -> uint64_t { return f.page_bytes == k1G; }},
    {"fetch-latency-cycles", [](Fetch f) -> uint64_t { return f.latency_cycles; }},
    {"fetch-itlb-refill-cycles", [](Fetch f) -> uint64_t { return f.itlb_refill_cycles; }},
};

constexpr IbsEvent<IbsOp> kOpEvents[] = {
    {"op-samples", [](Op) -> uint64_t { return 1; }},
    {"op-tag-to-retire-cycles", [](Op op) -> uint64_t { return op.tag_to_retire_cycles; }},
    {"op-completion-to-retire-cycles",
     [](Op op) -> uint64_t { return op.completion_to_retire_cycles; }},
    {"op-microcode", [](Op op) -> uint64_t { return op.is_microcode; }},
    {"op-branches", [](Op op) -> uint64_t { return op.is_branch; }},
    {"op-mispredicted-branches",
     [](Op op) -> uint64_t { return op.is_branch && op.is_mispredicted; }},
    {"op-taken-branches", [](Op op) -> uint64_t { return op.is_branch && op.is_taken; }},
    {"op-mispredicted-taken-branches",
     [](Op op) -> uint64_t { return op.is_branch && op.is_taken && op.is_mispredicted; }},
    {"op-returns", [](Op op) -> uint64_t { return op.is_return; }},
    {"op-mispredicted-returns",
     [](Op op) -> uint64_t { return op.is_return && op.is_mispredicted; }},
    {"op-fused-branches", [](Op op) -> uint64_t { return op.is_branch && op.is_fused_branch; }},
    {"op-resyncs", [](Op op) -> uint64_t { return op.is_resync; }},
    {"op-loads-and-stores", [](Op op) -> uint64_t { return IsMemory(op); }},
    {"op-loads", [](Op op) -> uint64_t { return op.is_load; }},
    {"op-stores", [](Op op) -> uint64_t { return op.is_store; }},
    {"op-l1-dtlb-hits", [](Op op) -> uint64_t { return HitsL1Dtlb(op); }},
    {"op-l2-dtlb-hits", [](Op op) -> uint64_t { return HitsL2Dtlb(op); }},
    {"op-dtlb-misses", [](Op op) -> uint64_t { return MissesBothDtlbs(op); }},
    {"op-dc-misses", [](Op op) -> uint64_t { return op.missed_dc; }},
    {"op-dc-hits", [](Op op) -> uint64_t { return IsMemory(op) && !op.missed_dc; }},
    {"op-l2-misses", [](Op op) -> uint64_t { return op.missed_l2; }},
    {"op-misaligned", [](Op op) -> uint64_t { return op.is_misaligned; }},
    {"op-write-combining", [](Op op) -> uint64_t { return op.is_write_combining; }},
    {"op-uncacheable", [](Op op) -> uint64_t { return op.is_uncacheable; }},
    {"op-locked", [](Op op) -> uint64_t { return op.is_locked; }},
    {"op-mab-hits", [](Op op) -> uint64_t { return op.found_miss_underway; }},
    {"op-software-prefetches", [](Op op) -> uint64_t { return op.is_software_prefetch; }},
    {"op-l1-dtlb-hits-4k",
     [](Op op) -> uint64_t { return HitsL1Dtlb(op) && !op.hit_l1_dtlb_2m && !op.hit_l1_dtlb_1g; }},
    {"op-l1-dtlb-hits-2m", [](Op op) -> uint64_t { return op.hit_l1_dtlb_2m; }},
    {"op-l1-dtlb-hits-1g", [](Op op) -> uint64_t { return op.hit_l1_dtlb_1g; }},
    {"op-l2-dtlb-hits-4k",
     [](Op op) -> uint64_t { return HitsL2Dtlb(op) && !op.hit_l2_dtlb_2m && !op.hit_l2_dtlb_1g; }},
    {"op-l2-dtlb-hits-2m", [](Op op) -> uint64_t { return op.hit_l2_dtlb_2m; }},
    {"op-l2-dtlb-hits-1g", [](Op op) -> uint64_t { return op.hit_l2_dtlb_1g; }},
    {"op-dc-load-miss-cycles",
     [](Op op) -> uint64_t { return MissesDcByLoad(op) ? op.dc_miss_cycles : 0; }},
    {"op-dtlb-refill-cycles", [](Op op) -> uint64_t { return op.dtlb_refill_cycles; }},
    {"op-nb-local", [](Op op) -> uint64_t { return IsNorthBridge(op) && !IsRemote(op); }},
    {"op-nb-remote", [](Op op) -> uint64_t { return IsNorthBridge(op) && IsRemote(op); }},
    {"op-nb-local-l3",
     [](Op op) -> uint64_t { return IsFrom(op, IbsDataSource::kLocalL3) && !op.is_remote; }},
    {"op-nb-local-cache", [](Op op) -> uint64_t { return IsFromCache(op) && !IsRemote(op); }},
    {"op-nb-remote-cache", [](Op op) -> uint64_t { return IsFromCache(op) && IsRemote(op); }},
    {"op-nb-local-dram",
     [](Op op) -> uint64_t { return IsFrom(op, IbsDataSource::kDram) && !op.is_remote; }},
    {"op-nb-remote-dram",
     [](Op op) -> uint64_t { return IsFrom(op, IbsDataSource::kDram) && op.is_remote; }},
    {"op-nb-extension-memory",
     [](Op op) -> uint64_t { return IsFrom(op, IbsDataSource::kExtension); }},
    {"op-nb-input-output",
     [](Op op) -> uint64_t { return IsFrom(op, IbsDataSource::kInputOutput); }},
    {"op-nb-modified-lines",
     [](Op op) -> uint64_t { return IsFromCache(op) && !op.hit_owned_line; }},
    {"op-nb-owned-lines", [](Op op) -> uint64_t { return IsFromCache(op) && op.hit_owned_line; }},
    {"op-nb-local-cycles",
     [](Op op) -> uint64_t {
       return IsNorthBridge(op) && !IsRemote(op) && op.missed_dc ? op.dc_miss_cycles : 0;
     }},
    {"op-nb-remote-cycles",
     [](Op op) -> uint64_t {
       return IsNorthBridge(op) && IsRemote(op) && op.missed_dc ? op.dc_miss_cycles : 0;
     }},
};

}  // namespace

std::span<const IbsEvent<IbsFetch>> IbsFetchEvents() { return kFetchEvents; }
std::span<const IbsEvent<IbsOp>> IbsOpEvents() { return kOpEvents; }

}  // namespace hbbp
