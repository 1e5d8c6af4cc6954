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

}  // namespace

void VisitIbsEvents(const IbsFetch& f, const IbsEventVisitor& visit) {
  visit("fetch-samples", 1);
  visit("fetch-killed", !f.is_complete && !f.missed_ic);
  visit("fetch-attempted", f.is_complete || f.missed_ic);
  visit("fetch-completed", f.is_complete);
  visit("fetch-aborted", !f.is_complete);
  visit("fetch-l1-itlb-hits", f.has_physical_address && !f.missed_l1_itlb);
  visit("fetch-l2-itlb-hits", f.missed_l1_itlb && !f.missed_l2_itlb);
  visit("fetch-itlb-misses", f.missed_l1_itlb && f.missed_l2_itlb);
  visit("fetch-ic-misses", f.missed_ic);
  visit("fetch-ic-hits", f.is_complete && !f.missed_ic);
  visit("fetch-op-cache-misses", f.missed_op_cache);
  visit("fetch-l2-misses", f.missed_l2);
  visit("fetch-l3-misses", f.missed_l3);
  visit("fetch-4k-pages", f.page_bytes == k4K);
  visit("fetch-2m-pages", f.page_bytes == k2M);
  visit("fetch-1g-pages", f.page_bytes == k1G);
  visit("fetch-latency-cycles", f.latency_cycles);
  visit("fetch-itlb-refill-cycles", f.itlb_refill_cycles);
}

void VisitIbsEvents(const IbsOp& op, const IbsEventVisitor& visit) {
  visit("op-samples", 1);
  visit("op-tag-to-retire-cycles", op.tag_to_retire_cycles);
  visit("op-completion-to-retire-cycles", op.completion_to_retire_cycles);
  visit("op-microcode", op.is_microcode);
  visit("op-branches", op.is_branch);
  visit("op-mispredicted-branches", op.is_branch && op.is_mispredicted);
  visit("op-taken-branches", op.is_branch && op.is_taken);
  visit("op-mispredicted-taken-branches", op.is_branch && op.is_taken && op.is_mispredicted);
  visit("op-returns", op.is_return);
  visit("op-mispredicted-returns", op.is_return && op.is_mispredicted);
  visit("op-fused-branches", op.is_branch && op.is_fused_branch);
  visit("op-resyncs", op.is_resync);
  visit("op-loads-and-stores", IsMemory(op));
  visit("op-loads", op.is_load);
  visit("op-stores", op.is_store);
  visit("op-l1-dtlb-hits", HitsL1Dtlb(op));
  visit("op-l2-dtlb-hits", HitsL2Dtlb(op));
  visit("op-dtlb-misses", MissesBothDtlbs(op));
  visit("op-dc-misses", op.missed_dc);
  visit("op-dc-hits", IsMemory(op) && !op.missed_dc);
  visit("op-l2-misses", op.missed_l2);
  visit("op-misaligned", op.is_misaligned);
  visit("op-write-combining", op.is_write_combining);
  visit("op-uncacheable", op.is_uncacheable);
  visit("op-locked", op.is_locked);
  visit("op-mab-hits", op.found_miss_underway);
  visit("op-software-prefetches", op.is_software_prefetch);
  visit("op-l1-dtlb-hits-4k", HitsL1Dtlb(op) && !op.hit_l1_dtlb_2m && !op.hit_l1_dtlb_1g);
  visit("op-l1-dtlb-hits-2m", op.hit_l1_dtlb_2m);
  visit("op-l1-dtlb-hits-1g", op.hit_l1_dtlb_1g);
  visit("op-l2-dtlb-hits-4k", HitsL2Dtlb(op) && !op.hit_l2_dtlb_2m && !op.hit_l2_dtlb_1g);
  visit("op-l2-dtlb-hits-2m", op.hit_l2_dtlb_2m);
  visit("op-l2-dtlb-hits-1g", op.hit_l2_dtlb_1g);
  visit("op-dc-load-miss-cycles", MissesDcByLoad(op) ? op.dc_miss_cycles : 0);
  visit("op-dtlb-refill-cycles", op.dtlb_refill_cycles);
  visit("op-nb-local", IsNorthBridge(op) && !IsRemote(op));
  visit("op-nb-remote", IsNorthBridge(op) && IsRemote(op));
  visit("op-nb-local-l3", IsFrom(op, IbsDataSource::kLocalL3) && !op.is_remote);
  visit("op-nb-local-cache", IsFromCache(op) && !IsRemote(op));
  visit("op-nb-remote-cache", IsFromCache(op) && IsRemote(op));
  visit("op-nb-local-dram", IsFrom(op, IbsDataSource::kDram) && !op.is_remote);
  visit("op-nb-remote-dram", IsFrom(op, IbsDataSource::kDram) && op.is_remote);
  visit("op-nb-extension-memory", IsFrom(op, IbsDataSource::kExtension));
  visit("op-nb-input-output", IsFrom(op, IbsDataSource::kInputOutput));
  visit("op-nb-modified-lines", IsFromCache(op) && !op.hit_owned_line);
  visit("op-nb-owned-lines", IsFromCache(op) && op.hit_owned_line);
  visit("op-nb-local-cycles",
        IsNorthBridge(op) && !IsRemote(op) && op.missed_dc ? op.dc_miss_cycles : 0);
  visit("op-nb-remote-cycles",
        IsNorthBridge(op) && IsRemote(op) && op.missed_dc ? op.dc_miss_cycles : 0);
}

}  // namespace hbbp
