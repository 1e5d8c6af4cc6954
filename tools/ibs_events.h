// Events of IBS that listings show unless others are asked for, as far as they occurred.
#ifndef HBBP_TOOLS_IBS_EVENTS_H_
#define HBBP_TOOLS_IBS_EVENTS_H_

#include <array>
#include <string>
#include <utility>

namespace hbbp::tools {

inline constexpr std::array kCommonIbsEvents = {
    "op-samples",        "op-tag-to-retire-cycles",  "op-loads",       "op-dc-misses",
    "op-l2-misses",      "op-dc-load-miss-cycles",   "op-dtlb-misses", "op-nb-remote",
    "op-taken-branches", "op-mispredicted-branches", "fetch-samples",  "fetch-ic-misses",
    "fetch-itlb-misses", "fetch-latency-cycles",
};

// AMD's names, by the codes of events: fetches from 0xf000, ops from 0xf100, loads and stores from
// 0xf200, the north bridge from 0xf240; those that AMD reserved are left out.
inline constexpr std::pair<const char*, const char*> kAmdIbsEvents[] = {
    {"ibs_fetch_all", "fetch-samples"},
    {"ibs_fetch_killed", "fetch-killed"},
    {"ibs_fetch_attempted", "fetch-attempted"},
    {"ibs_fetch_completed", "fetch-completed"},
    {"ibs_fetch_aborted", "fetch-aborted"},
    {"ibs_l1_itlb_hit", "fetch-l1-itlb-hits"},
    {"ibs_itlb_l1m_l2h", "fetch-l2-itlb-hits"},
    {"ibs_itlb_l1m_l2m", "fetch-itlb-misses"},
    {"ibs_ic_miss", "fetch-ic-misses"},
    {"ibs_ic_hit", "fetch-ic-hits"},
    {"ibs_fetch_4k_page", "fetch-4k-pages"},
    {"ibs_fetch_2m_page", "fetch-2m-pages"},
    {"ibs_fetch_1g_page", "fetch-1g-pages"},
    {"ibs_fetch_latency", "fetch-latency-cycles"},

    {"ibs_op_all", "op-samples"},
    {"ibs_op_tag_to_retire", "op-tag-to-retire-cycles"},
    {"ibs_op_comp_to_retire", "op-completion-to-retire-cycles"},
    {"ibs_branch_retired", "op-branches"},
    {"ibs_branch_misp", "op-mispredicted-branches"},
    {"ibs_branch_taken", "op-taken-branches"},
    {"ibs_branch_misp_taken", "op-mispredicted-taken-branches"},
    {"ibs_return", "op-returns"},
    {"ibs_return_misp", "op-mispredicted-returns"},
    {"ibs_resync", "op-resyncs"},

    {"ibs_ls_all_op", "op-loads-and-stores"},
    {"ibs_ls_load_op", "op-loads"},
    {"ibs_ls_store_op", "op-stores"},
    {"ibs_ls_dtlb_l1h", "op-l1-dtlb-hits"},
    {"ibs_ls_dtlb_l1m_l2h", "op-l2-dtlb-hits"},
    {"ibs_ls_dtlb_l1m_l2m", "op-dtlb-misses"},
    {"ibs_ls_dc_miss", "op-dc-misses"},
    {"ibs_ls_dc_hit", "op-dc-hits"},
    {"ibs_ls_misaligned", "op-misaligned"},
    {"ibs_ls_bnk_conf_load", "op-load-bank-conflicts"},
    {"ibs_ls_bnk_conf_store", "op-store-bank-conflicts"},
    {"ibs_ls_stl_forwarded", "op-forwarded"},
    {"ibs_ls_stl_cancelled", "op-forwarding-cancelled"},
    {"ibs_ls_uc_mem_access", "op-uncacheable"},
    {"ibs_ls_wc_mem_access", "op-write-combining"},
    {"ibs_ls_locked_op", "op-locked"},
    {"ibs_ls_mab_hit", "op-mab-hits"},
    {"ibs_ls_l1_dtlb_4k", "op-l1-dtlb-hits-4k"},
    {"ibs_ls_l1_dtlb_2m", "op-l1-dtlb-hits-2m"},
    {"ibs_ls_l1_dtlb_1g", "op-l1-dtlb-hits-1g"},
    {"ibs_ls_l2_dtlb_4k", "op-l2-dtlb-hits-4k"},
    {"ibs_ls_l2_dtlb_2m", "op-l2-dtlb-hits-2m"},
    {"ibs_ls_l2_dtlb_1g", "op-l2-dtlb-hits-1g"},
    {"ibs_ls_dc_load_lat", "op-dc-load-miss-cycles"},

    {"ibs_nb_local", "op-nb-local"},
    {"ibs_nb_remote", "op-nb-remote"},
    {"ibs_nb_local_l3", "op-nb-local-l3"},
    {"ibs_nb_local_cache", "op-nb-local-cache"},
    {"ibs_nb_remote_cache", "op-nb-remote-cache"},
    {"ibs_nb_local_dram", "op-nb-local-dram"},
    {"ibs_nb_remote_dram", "op-nb-remote-dram"},
    {"ibs_nb_local_other", "op-nb-local-other"},
    {"ibs_nb_remote_other", "op-nb-remote-other"},
    {"ibs_nb_cache_state_m", "op-nb-modified-lines"},
    {"ibs_nb_cache_state_o", "op-nb-owned-lines"},
    {"ibs_nb_local_latency", "op-nb-local-cycles"},
    {"ibs_nb_remote_latency", "op-nb-remote-cycles"},
};

// Returns the name here of an event that has one of AMD's names, such as ibs_ls_dc_miss; any other
// name as it is.
std::string OwnIbsEventName(const std::string& name);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_IBS_EVENTS_H_
