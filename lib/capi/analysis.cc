// The functions of analysis.h. hbbp_analysis_create reads the options, calls Analyze()
// (analysis/analyze.h) and keeps the result in the handle; all others copy from it, by one function
// for each struct (BlockOf, GetFunction, GetBranch, GetIpSum, GetModule, GetSource), and compute
// nothing.
#include <hbbp/analysis.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "capi/analysis_handle.h"
#include "capi/boundary.h"
#include "capi/host_handle.h"
#include "capi/import_files.h"
#include "collect/recorded_files.h"
#include "estimate/count_interval.h"

using hbbp::Analysis;
using hbbp::BlockRecord;
using hbbp::CodeState;
using hbbp::DecisionTree;
using hbbp::EstimatorKind;
using hbbp::EstimatorOptions;
using hbbp::IpSumRecord;
using hbbp::MakeStatus;
using hbbp::ModuleAddress;
using hbbp::ProfileData;
using hbbp::ResolvedModules;
using hbbp::Status;
using hbbp::StatusCode;
using hbbp::StatusOr;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(static_cast<int>(CodeState::kFile) == HBBP_CODE_FILE);
static_assert(static_cast<int>(CodeState::kProfile) == HBBP_CODE_PROFILE);
static_assert(static_cast<int>(CodeState::kMissing) == HBBP_CODE_MISSING);
static_assert(static_cast<int>(CodeState::kMismatch) == HBBP_CODE_MISMATCH);
static_assert(static_cast<int>(CodeState::kCore) == HBBP_CODE_CORE);
static_assert(static_cast<int>(EstimatorKind::kAuto) == HBBP_ESTIMATOR_AUTO);
static_assert(static_cast<int>(EstimatorKind::kEbs) == HBBP_ESTIMATOR_EBS);
static_assert(static_cast<int>(EstimatorKind::kStreams) == HBBP_ESTIMATOR_STREAMS);
static_assert(static_cast<int>(EstimatorKind::kTree) == HBBP_ESTIMATOR_TREE);
static_assert(static_cast<int>(EstimatorKind::kFlow) == HBBP_ESTIMATOR_FLOW);
static_assert(hbbp::kNoAddress.value == HBBP_NO_ADDRESS);
static_assert(hbbp::BiasRule().ratio == HBBP_BIAS_RATIO);
static_assert(hbbp::BiasRule().chance == HBBP_BIAS_CHANCE);

namespace {

StatusOr<EstimatorOptions> ReadEstimator(const hbbp_analysis_options& given) {
  constexpr char kFunction[] = "hbbp_analysis_create";
  if (given.estimator < HBBP_ESTIMATOR_AUTO || given.estimator > HBBP_ESTIMATOR_FLOW) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s: no estimator %d", kFunction,
                      given.estimator);
  }
  if (given.tree != nullptr && given.estimator != HBBP_ESTIMATOR_TREE) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s: a tree is for HBBP_ESTIMATOR_TREE only",
                      kFunction);
  }
  EstimatorOptions estimator;
  estimator.kind = static_cast<EstimatorKind>(given.estimator);
  if (given.event != nullptr) estimator.event = given.event;
  if (given.tree != nullptr) {
    HBBP_ASSIGN_OR_RETURN(estimator.tree, DecisionTree::FromJson(given.tree));
  }
  return estimator;
}

// Returns the data of the profile, with the files that the options lead to.
StatusOr<std::shared_ptr<const ProfileData>> MovedData(const hbbp_profile& profile,
                                                       const hbbp_analysis_options& given,
                                                       const hbbp::Work& work) {
  const std::shared_ptr<const ProfileData>& data = profile.modules()->shared_data();
  hbbp::ImportOptions files;
  HBBP_RETURN_IF_ERROR(hbbp::capi::ReadFiles("hbbp_analysis_create", given.root, given.moved_files,
                                             given.moved_file_count, &files));
  if (files.root.empty() && files.files.empty()) return data;
  auto moved = std::make_shared<ProfileData>(*data);
  hbbp::CancelCheck check(work.cancel);
  HBBP_RETURN_IF_ERROR(hbbp::MoveFiles(files, moved.get(), &check));
  return std::shared_ptr<const ProfileData>(std::move(moved));
}

// Uses the data of the profile, unless there are other files of it or of its kernel.
StatusOr<std::shared_ptr<const ResolvedModules>> OpenModules(
    const hbbp_profile& profile, std::shared_ptr<const ProfileData> data,
    const hbbp_kernel_files* given) {
  if (given == nullptr) {
    const bool is_moved = data != profile.modules()->shared_data();
    return is_moved ? std::make_shared<const ResolvedModules>(std::move(data)) : profile.modules();
  }
  hbbp_kernel_files full;
  HBBP_RETURN_IF_ERROR(ReadInput(given, "hbbp_kernel_files", &full));
  HBBP_RETURN_IF_ERROR(CheckReserved("hbbp_kernel_files.reserved", full.reserved));
  hbbp::KernelFilePaths paths;
  if (full.vmlinux != nullptr) paths.vmlinux = full.vmlinux;
  if (full.kcore != nullptr) paths.core = full.kcore;
  if (full.kallsyms != nullptr) paths.symbols = full.kallsyms;
  HBBP_ASSIGN_OR_RETURN(hbbp::KernelFiles files, OpenKernelFilesFor(profile.data(), paths));
  return std::make_shared<const ResolvedModules>(std::move(data), std::move(files));
}

hbbp_block BlockOf(const BlockRecord& record) {
  HBBP_INIT(hbbp_block, block);
  block.module = record.module;
  block.start = record.block.start.value;
  block.end = record.block.end.value;
  block.instruction_count = record.block.instruction_count;
  block.function = record.function;
  block.source = static_cast<hbbp_source_kind>(record.source);
  block.count = record.estimate.count;
  block.standard_error = record.estimate.standard_error;
  block.samples = record.samples;
  block.flags = IsSuspect(record.bias) ? HBBP_BLOCK_BIASED : 0;
  if (record.bias.expected > 0) {
    block.bias_ratio = static_cast<double>(record.bias.oldest) / record.bias.expected;
  }
  block.bias_chance = ChanceOf(record.bias);
  return block;
}

hbbp_function GetFunction(const hbbp_analysis& analysis, size_t index) {
  const hbbp::FunctionRecord& record = analysis.analysis().functions()[index];
  HBBP_INIT(hbbp_function, function);
  function.module = record.module;
  function.start = record.range.start.value;
  function.end = record.range.end.value;
  function.name = record.name.c_str();
  function.instructions = record.instructions;
  function.standard_error = record.standard_error;
  function.samples = record.samples;
  function.demangled_name = analysis.DemangledNameOf(index);
  return function;
}

double GetHeat(const BlockRecord& record, hbbp_order order) {
  switch (order) {
    case HBBP_ORDER_EXECUTIONS:
      return record.estimate.count;
    case HBBP_ORDER_SAMPLES:
      return static_cast<double>(record.samples);
    default:
      return record.estimate.count * record.block.instruction_count;
  }
}

double GetHeat(const hbbp::FunctionRecord& record, hbbp_order order) {
  return order == HBBP_ORDER_SAMPLES ? static_cast<double>(record.samples) : record.instructions;
}

// Returns the indices of the hottest `count` records, and of more of them in any order.
template <typename Record>
std::vector<uint32_t> SortByHeat(const std::vector<Record>& records, hbbp_order order,
                                 const ListPart& part) {
  std::vector<double> heat(records.size());
  std::transform(records.begin(), records.end(), heat.begin(),
                 [order](const Record& record) { return GetHeat(record, order); });
  std::vector<uint32_t> indices(records.size());
  std::iota(indices.begin(), indices.end(), 0u);
  const size_t first = std::min(part.first, indices.size());
  const size_t sorted = first + std::min(part.count, indices.size() - first);
  std::partial_sort(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(sorted),
                    indices.end(), [&heat](uint32_t one, uint32_t other) {
                      if (heat[one] != heat[other]) return heat[one] > heat[other];
                      return one < other;
                    });
  return indices;
}

Status CheckOrder(const char* function, hbbp_order order) {
  if (order >= HBBP_ORDER_INSTRUCTIONS && order <= HBBP_ORDER_SAMPLES) return hbbp::OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s: order: must be a HBBP_ORDER_ value",
                    function);
}

hbbp_ip_sum GetIpSum(const IpSumRecord& record) {
  HBBP_INIT(hbbp_ip_sum, sum);
  sum.module = record.module;
  sum.function = record.function;
  sum.source = record.source;
  sum.address = record.address.value;
  sum.samples = record.samples;
  return sum;
}

hbbp_branch GetBranch(const hbbp_analysis& analysis, size_t index) {
  const hbbp::TakenBranchRecord& record = analysis.analysis().branches()[index];
  HBBP_INIT(hbbp_branch, branch);
  branch.from_module = record.from_module;
  branch.from = record.from.value;
  branch.to = record.to.value;
  branch.to_module = record.to_module;
  branch.samples = record.observed;
  branch.count = record.count;
  branch.oldest = record.bias.oldest;
  branch.oldest_expected = record.bias.expected;
  return branch;
}

hbbp_module_result GetModule(const hbbp_analysis& analysis, size_t index) {
  const auto module = static_cast<uint32_t>(index);
  HBBP_INIT(hbbp_module_result, result);
  result.code = HBBP_CODE_NOT_SOUGHT;
  result.problem = "";
  if (analysis.profile().totals().of_module[index] == 0) return result;
  result.code = static_cast<hbbp_code_state>(analysis.modules().CodeStateOf(module));
  result.problem = analysis.modules().ProblemOf(module).c_str();
  const bool is_kernel = analysis.data().modules[index].kind == hbbp::ModuleKind::kKernel;
  if (is_kernel) result.patched_bytes = analysis.analysis().PatchedBytesOf(module);
  return result;
}

hbbp_source_result GetSource(const hbbp_analysis& analysis, size_t index) {
  const auto source = static_cast<uint32_t>(index);
  HBBP_INIT(hbbp_source_result, result);
  result.unexplained = analysis.analysis().UnexplainedOfSource(source);
  result.superseded = analysis.analysis().SupersededOfSource(source);
  result.is_other_event = analysis.analysis().IsCounted(source) ? 0 : 1;
  return result;
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_analysis_create(const hbbp_profile* profile,
                                          const hbbp_analysis_options* options,
                                          const hbbp_work_options* work, hbbp_analysis** analysis,
                                          hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument("hbbp_analysis_create", "profile");
    if (analysis == nullptr) return NullArgument("hbbp_analysis_create", "analysis");
    HBBP_INIT(hbbp_analysis_options, full);
    if (options != nullptr) {
      HBBP_RETURN_IF_ERROR(ReadInput(options, "hbbp_analysis_options", &full));
    }
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    HBBP_ASSIGN_OR_RETURN(const EstimatorOptions estimator, ReadEstimator(full));
    HBBP_ASSIGN_OR_RETURN(hbbp::DebugInfoOptions debug, ReadDebugOptions(full.debug));
    HBBP_RETURN_IF_ERROR(CheckReserved("hbbp_analysis_options.reserved", full.reserved));
    HBBP_ASSIGN_OR_RETURN(std::shared_ptr<const ProfileData> data,
                          MovedData(*profile, full, chosen));
    HBBP_ASSIGN_OR_RETURN(std::shared_ptr<const ResolvedModules> modules,
                          OpenModules(*profile, std::move(data), full.kernel));
    HBBP_ASSIGN_OR_RETURN(Analysis made, hbbp::Analyze(modules, estimator, chosen));
    *analysis = new hbbp_analysis(hbbp_profile(*profile, std::move(modules)), std::move(made),
                                  std::move(debug));
    return hbbp::OkStatus();
  });
}

HBBP_API void hbbp_analysis_destroy(hbbp_analysis* analysis) { delete analysis; }

HBBP_API const hbbp_profile* hbbp_analysis_profile(const hbbp_analysis* analysis) {
  return analysis == nullptr ? nullptr : &analysis->profile();
}

HBBP_API hbbp_status hbbp_analysis_get_info(const hbbp_analysis* analysis, hbbp_analysis_info* info,
                                            hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (analysis == nullptr) return NullArgument("hbbp_analysis_get_info", "analysis");
    if (info == nullptr) return NullArgument("hbbp_analysis_get_info", "info");
    const Analysis& made = analysis->analysis();
    HBBP_INIT(hbbp_analysis_info, full);
    full.estimator = static_cast<hbbp_estimator>(made.estimator());
    full.ebs_scale = made.family_scales().ebs;
    full.streams_scale = made.family_scales().streams;
    full.is_one_scale = made.family_scales().are_common ? 1 : 0;
    return WriteOutput(full, "hbbp_analysis_info", info);
  });
}

HBBP_API size_t hbbp_analysis_block_count(const hbbp_analysis* analysis) {
  return analysis == nullptr ? 0 : analysis->analysis().blocks().size();
}

HBBP_API hbbp_status hbbp_analysis_copy_blocks(const hbbp_analysis* analysis, size_t first,
                                               size_t count, size_t size, hbbp_block* blocks,
                                               size_t* copied, hbbp_error* error) {
  return CopyHandleList({"hbbp_analysis_copy_blocks", "hbbp_block", "blocks"}, "analysis", analysis,
                        hbbp_analysis_block_count(analysis), {first, count, size}, blocks, copied,
                        error, [](const hbbp_analysis& given, size_t index) {
                          return BlockOf(given.analysis().blocks()[index]);
                        });
}

HBBP_API size_t hbbp_analysis_function_count(const hbbp_analysis* analysis) {
  return analysis == nullptr ? 0 : analysis->analysis().functions().size();
}

HBBP_API hbbp_status hbbp_analysis_copy_functions(const hbbp_analysis* analysis, size_t first,
                                                  size_t count, size_t size,
                                                  hbbp_function* functions, size_t* copied,
                                                  hbbp_error* error) {
  return CopyHandleList({"hbbp_analysis_copy_functions", "hbbp_function", "functions"}, "analysis",
                        analysis, hbbp_analysis_function_count(analysis), {first, count, size},
                        functions, copied, error, &GetFunction);
}

HBBP_API hbbp_status hbbp_analysis_copy_hottest_blocks(const hbbp_analysis* analysis,
                                                       hbbp_order order, size_t first, size_t count,
                                                       size_t size, hbbp_block* blocks,
                                                       size_t* copied, hbbp_error* error) {
  constexpr ListNames kNames = {"hbbp_analysis_copy_hottest_blocks", "hbbp_block", "blocks"};
  return Guard(error, [&]() -> Status {
    if (analysis == nullptr) return NullArgument(kNames.function, "analysis");
    HBBP_RETURN_IF_ERROR(CheckOrder(kNames.function, order));
    const std::vector<BlockRecord>& records = analysis->analysis().blocks();
    const ListPart part = {first, count, size};
    const std::vector<uint32_t> hottest = SortByHeat(records, order, part);
    return CopyList(kNames, records.size(), part, blocks, copied,
                    [&](size_t index) { return BlockOf(records[hottest[index]]); });
  });
}

HBBP_API hbbp_status hbbp_analysis_copy_hottest_functions(const hbbp_analysis* analysis,
                                                          hbbp_order order, size_t first,
                                                          size_t count, size_t size,
                                                          hbbp_function* functions, size_t* copied,
                                                          hbbp_error* error) {
  constexpr ListNames kNames = {"hbbp_analysis_copy_hottest_functions", "hbbp_function",
                                "functions"};
  return Guard(error, [&]() -> Status {
    if (analysis == nullptr) return NullArgument(kNames.function, "analysis");
    HBBP_RETURN_IF_ERROR(CheckOrder(kNames.function, order));
    if (order == HBBP_ORDER_EXECUTIONS) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "%s: order: HBBP_ORDER_EXECUTIONS is of blocks; of a function take "
                        "HBBP_ORDER_INSTRUCTIONS",
                        kNames.function);
    }
    const ListPart part = {first, count, size};
    const std::vector<uint32_t> hottest = SortByHeat(analysis->analysis().functions(), order, part);
    return CopyList(kNames, hottest.size(), part, functions, copied,
                    [&](size_t index) { return GetFunction(*analysis, hottest[index]); });
  });
}

HBBP_API size_t hbbp_analysis_branch_count(const hbbp_analysis* analysis) {
  return analysis == nullptr ? 0 : analysis->analysis().branches().size();
}

HBBP_API hbbp_status hbbp_analysis_copy_branches(const hbbp_analysis* analysis, size_t first,
                                                 size_t count, size_t size, hbbp_branch* branches,
                                                 size_t* copied, hbbp_error* error) {
  return CopyHandleList({"hbbp_analysis_copy_branches", "hbbp_branch", "branches"}, "analysis",
                        analysis, hbbp_analysis_branch_count(analysis), {first, count, size},
                        branches, copied, error, &GetBranch);
}

HBBP_API size_t hbbp_analysis_ip_sum_count(const hbbp_analysis* analysis) {
  if (analysis == nullptr) return 0;
  return GuardCount([&] {
    const auto sums = analysis->IpSums();
    return sums.ok() ? (*sums)->size() : 0;
  });
}

HBBP_API hbbp_status hbbp_analysis_copy_ip_sums(const hbbp_analysis* analysis, size_t first,
                                                size_t count, size_t size, hbbp_ip_sum* sums,
                                                size_t* copied, hbbp_error* error) {
  constexpr ListNames kNames = {"hbbp_analysis_copy_ip_sums", "hbbp_ip_sum", "sums"};
  return Guard(error, [&]() -> Status {
    if (analysis == nullptr) return NullArgument(kNames.function, "analysis");
    HBBP_ASSIGN_OR_RETURN(const auto all, analysis->IpSums());
    return CopyList(kNames, all->size(), {first, count, size}, sums, copied,
                    [&](size_t index) { return GetIpSum((*all)[index]); });
  });
}

HBBP_API size_t hbbp_analysis_module_count(const hbbp_analysis* analysis) {
  return analysis == nullptr ? 0 : analysis->data().modules.size();
}

HBBP_API hbbp_status hbbp_analysis_copy_modules(const hbbp_analysis* analysis, size_t first,
                                                size_t count, size_t size,
                                                hbbp_module_result* modules, size_t* copied,
                                                hbbp_error* error) {
  return CopyHandleList({"hbbp_analysis_copy_modules", "hbbp_module_result", "modules"}, "analysis",
                        analysis, hbbp_analysis_module_count(analysis), {first, count, size},
                        modules, copied, error, &GetModule);
}

HBBP_API size_t hbbp_analysis_source_count(const hbbp_analysis* analysis) {
  return analysis == nullptr ? 0 : analysis->data().sources.size();
}

HBBP_API hbbp_status hbbp_analysis_copy_sources(const hbbp_analysis* analysis, size_t first,
                                                size_t count, size_t size,
                                                hbbp_source_result* sources, size_t* copied,
                                                hbbp_error* error) {
  return CopyHandleList({"hbbp_analysis_copy_sources", "hbbp_source_result", "sources"}, "analysis",
                        analysis, hbbp_analysis_source_count(analysis), {first, count, size},
                        sources, copied, error, &GetSource);
}

HBBP_API size_t hbbp_analysis_unexplained_reason_count(const hbbp_analysis* analysis,
                                                       size_t source) {
  const bool has_source = source < hbbp_analysis_source_count(analysis);
  return has_source ? static_cast<size_t>(hbbp::UnexplainedReason::kCount) : 0;
}

HBBP_API hbbp_status hbbp_analysis_copy_unexplained_reasons(const hbbp_analysis* analysis,
                                                            size_t source, size_t first,
                                                            size_t count, size_t size,
                                                            hbbp_counter* reasons, size_t* copied,
                                                            hbbp_error* error) {
  constexpr ListNames kNames = {"hbbp_analysis_copy_unexplained_reasons", "hbbp_counter",
                                "reasons"};
  return Guard(error, [&]() -> Status {
    if (analysis == nullptr) return NullArgument(kNames.function, "analysis");
    HBBP_RETURN_IF_ERROR(
        CheckSource(kNames.function, source, hbbp_analysis_source_count(analysis)));
    const hbbp::UnexplainedCounts& counts =
        analysis->analysis().UnexplainedByReason(static_cast<uint32_t>(source));
    return CopyList(
        kNames, counts.size(), {first, count, size}, reasons, copied, [&](size_t index) {
          return MakeCounter(NameOf(static_cast<hbbp::UnexplainedReason>(index)), counts[index]);
        });
  });
}

HBBP_API hbbp_status hbbp_analysis_find_block(const hbbp_analysis* analysis, uint32_t module,
                                              uint64_t address, hbbp_block* block,
                                              hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (analysis == nullptr) return NullArgument("hbbp_analysis_find_block", "analysis");
    if (block == nullptr) return NullArgument("hbbp_analysis_find_block", "block");
    HBBP_ASSIGN_OR_RETURN(const BlockRecord record,
                          analysis->analysis().FindBlock(module, ModuleAddress{address}));
    return WriteOutput(BlockOf(record), "hbbp_block", block);
  });
}

HBBP_API void hbbp_count_interval(double count, double standard_error, double* low, double* high) {
  const hbbp::CountInterval interval = hbbp::IntervalOf({count, standard_error});
  if (low != nullptr) *low = interval.low;
  if (high != nullptr) *high = interval.high;
}

HBBP_API size_t hbbp_block_feature_count(void) { return hbbp::kFeatureCount; }

HBBP_API const char* hbbp_block_feature_name(size_t index) {
  return index < hbbp::kFeatureCount ? hbbp::kFeatureNames[index].data() : nullptr;
}

HBBP_API hbbp_status hbbp_analysis_copy_block_features(const hbbp_analysis* analysis, size_t first,
                                                       size_t count, double* values, size_t* copied,
                                                       hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_analysis_copy_block_features";
    if (analysis == nullptr) return NullArgument(kFunction, "analysis");
    if (values == nullptr && count > 0) return NullArgument(kFunction, "values");
    if (copied == nullptr) return NullArgument(kFunction, "copied");
    const std::vector<BlockRecord>& blocks = analysis->analysis().blocks();
    first = std::min(first, blocks.size());
    *copied = std::min(count, blocks.size() - first);
    for (size_t i = 0; i < *copied; ++i) {
      const hbbp::BlockFeatures features = analysis->analysis().FeaturesOf(blocks[first + i]);
      values = std::copy(features.values.begin(), features.values.end(), values);
    }
    return hbbp::OkStatus();
  });
}

}  // extern "C"
