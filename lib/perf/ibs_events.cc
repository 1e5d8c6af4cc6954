#include "perf/ibs_events.h"

namespace hbbp {
namespace {

constexpr uint64_t k4K = 4 << 10, k2M = 2 << 20, k1G = 1 << 30;

// The front end dropped the fetch before anything was known of it.
bool IsKilled(const IbsFetch& f) {
  return !f.is_complete && !f.missed_ic && !f.has_physical_address && !f.missed_l1_itlb &&
         !f.missed_l2_itlb;
}

bool IsMemory(const IbsOp& op) { return op.is_load || op.is_store; }
bool HasTranslation(const IbsOp& op) { return IsMemory(op) && op.has_linear_address; }
bool MissesBothDtlbs(const IbsOp& op) {
  return HasTranslation(op) && op.missed_l1_dtlb && op.missed_l2_dtlb;
}
bool HitsL2Dtlb(const IbsOp& op) {
  return HasTranslation(op) && op.missed_l1_dtlb && !op.missed_l2_dtlb;
}
bool HitsL1Dtlb(const IbsOp& op) { return HasTranslation(op) && !op.missed_l1_dtlb; }
bool MissesDcByLoad(const IbsOp& op) { return op.is_load && op.missed_dc; }
bool IsReturn(const IbsOp& op) { return op.is_branch && op.is_return; }
// Data came from beyond the caches of the core. The register is valid only for loads that missed.
bool IsNorthBridge(const IbsOp& op) {
  return MissesDcByLoad(op) && op.data_source != IbsDataSource::kNone;
}
bool IsFrom(const IbsOp& op, IbsDataSource source) {
  return MissesDcByLoad(op) && op.data_source == source;
}
// Family 10h has one source for caches of other cores, and the bit of the node; Zen 4 has a source
// for those of other nodes.
bool IsRemote(const IbsOp& op) { return op.is_remote || IsFrom(op, IbsDataSource::kFarCache); }
bool IsFromOtherCache(const IbsOp& op) {
  return IsFrom(op, IbsDataSource::kNearCache) || IsFrom(op, IbsDataSource::kFarCache);
}

}  // namespace

void VisitIbsEvents(const IbsFetch& f, const IbsEventVisitor& visit) {
  visit("fetch-samples", 1);
  visit("fetch-killed", IsKilled(f));
  visit("fetch-attempted", !IsKilled(f));
  visit("fetch-completed", f.is_complete);
  visit("fetch-aborted", !IsKilled(f) && !f.is_complete);
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
  visit("op-returns", IsReturn(op));
  visit("op-mispredicted-returns", IsReturn(op) && op.is_mispredicted);
  visit("op-fused-branches", op.is_branch && op.is_fused_branch);
  visit("op-resyncs", op.is_resync);
  visit("op-loads-and-stores", IsMemory(op));
  visit("op-loads", op.is_load);
  visit("op-stores", op.is_store);
  visit("op-l1-dtlb-hits", HitsL1Dtlb(op));
  visit("op-l2-dtlb-hits", HitsL2Dtlb(op));
  visit("op-dtlb-misses", MissesBothDtlbs(op));
  visit("op-dc-misses", IsMemory(op) && op.missed_dc);
  visit("op-dc-hits", IsMemory(op) && !op.missed_dc);
  visit("op-l2-misses", op.missed_l2);
  visit("op-misaligned", IsMemory(op) && op.is_misaligned);
  visit("op-load-bank-conflicts", IsMemory(op) && op.has_load_bank_conflict);
  visit("op-store-bank-conflicts", IsMemory(op) && op.has_store_bank_conflict);
  visit("op-forwarded", op.is_load && op.is_forwarded);
  visit("op-forwarding-cancelled", op.is_load && op.is_forwarding_cancelled);
  visit("op-write-combining", IsMemory(op) && op.is_write_combining);
  visit("op-uncacheable", IsMemory(op) && op.is_uncacheable);
  visit("op-locked", IsMemory(op) && op.is_locked);
  visit("op-mab-hits", IsMemory(op) && op.found_miss_underway);
  visit("op-software-prefetches", op.is_software_prefetch);
  visit("op-l1-dtlb-hits-4k", HitsL1Dtlb(op) && !op.hit_l1_dtlb_2m && !op.hit_l1_dtlb_1g);
  visit("op-l1-dtlb-hits-2m", HitsL1Dtlb(op) && op.hit_l1_dtlb_2m);
  visit("op-l1-dtlb-hits-1g", HitsL1Dtlb(op) && !op.hit_l1_dtlb_2m && op.hit_l1_dtlb_1g);
  visit("op-l2-dtlb-hits-4k", HitsL2Dtlb(op) && !op.hit_l2_dtlb_2m && !op.hit_l2_dtlb_1g);
  visit("op-l2-dtlb-hits-2m", HitsL2Dtlb(op) && op.hit_l2_dtlb_2m && !op.hit_l2_dtlb_1g);
  visit("op-l2-dtlb-hits-1g", HitsL2Dtlb(op) && !op.hit_l2_dtlb_2m && op.hit_l2_dtlb_1g);
  visit("op-dc-load-miss-cycles", MissesDcByLoad(op) ? op.dc_miss_cycles : 0);
  visit("op-dtlb-refill-cycles", op.dtlb_refill_cycles);
  visit("op-nb-local", IsNorthBridge(op) && !IsRemote(op));
  visit("op-nb-remote", IsNorthBridge(op) && IsRemote(op));
  visit("op-nb-local-l3", IsFrom(op, IbsDataSource::kLocalL3) && !op.is_remote);
  visit("op-nb-local-cache", IsFromOtherCache(op) && !IsRemote(op));
  visit("op-nb-remote-cache", IsFromOtherCache(op) && IsRemote(op));
  visit("op-nb-local-dram", IsFrom(op, IbsDataSource::kDram) && !op.is_remote);
  visit("op-nb-remote-dram", IsFrom(op, IbsDataSource::kDram) && op.is_remote);
  visit("op-nb-local-other", IsFrom(op, IbsDataSource::kOther) && !op.is_remote);
  visit("op-nb-remote-other", IsFrom(op, IbsDataSource::kOther) && op.is_remote);
  visit("op-nb-extension-memory", IsFrom(op, IbsDataSource::kExtension));
  visit("op-nb-modified-lines", IsFrom(op, IbsDataSource::kNearCache) && !op.hit_owned_line);
  visit("op-nb-owned-lines", IsFrom(op, IbsDataSource::kNearCache) && op.hit_owned_line);
  visit("op-nb-local-cycles", IsNorthBridge(op) && !IsRemote(op) ? op.dc_miss_cycles : 0);
  visit("op-nb-remote-cycles", IsNorthBridge(op) && IsRemote(op) ? op.dc_miss_cycles : 0);
}

}  // namespace hbbp
