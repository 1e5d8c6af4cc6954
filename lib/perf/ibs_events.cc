#include "perf/ibs_events.h"

#include "events/ibs_level.h"

namespace hbbp {
namespace {

constexpr uint64_t k4K = 4 << 10, k2M = 2 << 20, k1G = 1 << 30;

// The front end dropped the fetch before anything was known of it.
bool IsKilled(const IbsFetch& f) {
  return !f.is_complete && !f.missed_ic && !f.has_physical_address && !f.missed_l1_itlb &&
         !f.missed_l2_itlb;
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
  const bool is_memory = op.is_load || op.is_store;
  const bool has_translation = is_memory && op.has_linear_address;
  const bool hits_l1_dtlb = has_translation && !op.missed_l1_dtlb;
  const bool misses_l1_dtlb = has_translation && op.missed_l1_dtlb;
  const bool hits_l2_dtlb = misses_l1_dtlb && !op.missed_l2_dtlb;
  const bool is_return = op.is_branch && op.is_return;
  const uint64_t load_miss_cycles = HasLoadLatency(op) && op.missed_dc ? op.dc_miss_cycles : 0;
  const IbsNode node = IbsNodeOf(op);
  const IbsLevel level = IbsLevelOf(op);
  const bool is_from_near_cache =
      node != IbsNode::kNone && op.data_source == IbsDataSource::kNearCache;
  visit("op-samples", 1);
  visit("op-tag-to-retire-cycles", op.tag_to_retire_cycles);
  visit("op-completion-to-retire-cycles", op.completion_to_retire_cycles);
  visit("op-microcode", op.is_microcode);
  visit("op-branches", op.is_branch);
  visit("op-mispredicted-branches", op.is_branch && op.is_mispredicted);
  visit("op-taken-branches", op.is_branch && op.is_taken);
  visit("op-mispredicted-taken-branches", op.is_branch && op.is_taken && op.is_mispredicted);
  visit("op-returns", is_return);
  visit("op-mispredicted-returns", is_return && op.is_mispredicted);
  visit("op-fused-branches", op.is_branch && op.is_fused_branch);
  visit("op-resyncs", op.is_resync);
  visit("op-loads-and-stores", is_memory);
  visit("op-loads", op.is_load);
  visit("op-stores", op.is_store);
  visit("op-l1-dtlb-hits", hits_l1_dtlb);
  visit("op-l2-dtlb-hits", hits_l2_dtlb);
  visit("op-dtlb-misses", misses_l1_dtlb && op.missed_l2_dtlb);
  visit("op-dc-misses", is_memory && op.missed_dc);
  visit("op-dc-hits", is_memory && !op.missed_dc);
  visit("op-l2-misses", op.missed_l2);
  visit("op-misaligned", is_memory && op.is_misaligned);
  visit("op-load-bank-conflicts", is_memory && op.has_load_bank_conflict);
  visit("op-store-bank-conflicts", is_memory && op.has_store_bank_conflict);
  visit("op-forwarded", op.is_load && op.is_forwarded);
  visit("op-forwarding-cancelled", op.is_load && op.is_forwarding_cancelled);
  visit("op-write-combining", is_memory && op.is_write_combining);
  visit("op-uncacheable", is_memory && op.is_uncacheable);
  visit("op-locked", is_memory && op.is_locked);
  visit("op-mab-hits", is_memory && op.found_miss_underway);
  visit("op-software-prefetches", op.is_software_prefetch);
  visit("op-l1-dtlb-hits-4k", hits_l1_dtlb && !op.hit_l1_dtlb_2m && !op.hit_l1_dtlb_1g);
  visit("op-l1-dtlb-hits-2m", hits_l1_dtlb && op.hit_l1_dtlb_2m);
  visit("op-l1-dtlb-hits-1g", hits_l1_dtlb && !op.hit_l1_dtlb_2m && op.hit_l1_dtlb_1g);
  visit("op-l2-dtlb-hits-4k", hits_l2_dtlb && !op.hit_l2_dtlb_2m && !op.hit_l2_dtlb_1g);
  visit("op-l2-dtlb-hits-2m", hits_l2_dtlb && op.hit_l2_dtlb_2m && !op.hit_l2_dtlb_1g);
  visit("op-l2-dtlb-hits-1g", hits_l2_dtlb && !op.hit_l2_dtlb_2m && op.hit_l2_dtlb_1g);
  visit("op-dc-load-miss-cycles", load_miss_cycles);
  visit("op-dtlb-refill-cycles", op.dtlb_refill_cycles);
  visit("op-nb-local", node == IbsNode::kLocal);
  visit("op-nb-remote", node == IbsNode::kRemote);
  visit("op-nb-local-l3", level == IbsLevel::kLocalL3);
  visit("op-nb-local-cache", level == IbsLevel::kLocalCache);
  visit("op-nb-remote-cache", level == IbsLevel::kRemoteCache);
  visit("op-nb-local-dram", level == IbsLevel::kLocalDram);
  visit("op-nb-remote-dram", level == IbsLevel::kRemoteDram);
  visit("op-nb-local-other", level == IbsLevel::kLocalOther);
  visit("op-nb-remote-other", level == IbsLevel::kRemoteOther);
  visit("op-nb-extension-memory", level == IbsLevel::kExtensionMemory);
  visit("op-nb-modified-lines", is_from_near_cache && !op.hit_owned_line);
  visit("op-nb-owned-lines", is_from_near_cache && op.hit_owned_line);
  visit("op-nb-local-cycles", node == IbsNode::kLocal ? load_miss_cycles : 0);
  visit("op-nb-remote-cycles", node == IbsNode::kRemote ? load_miss_cycles : 0);
}

}  // namespace hbbp
