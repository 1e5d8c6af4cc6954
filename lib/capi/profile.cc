#include <hbbp/profile.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "capi/boundary.h"
#include "capi/host_handle.h"
#include "capi/profile_handle.h"
#include "profile/profile_merge.h"

using hbbp::Analysis;
using hbbp::BlockRecord;
using hbbp::CodeState;
using hbbp::MakeStatus;
using hbbp::ModuleAddress;
using hbbp::ModuleKind;
using hbbp::OkStatus;
using hbbp::ProfileData;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(static_cast<int>(ModuleKind::kFile) == HBBP_MODULE_FILE);
static_assert(static_cast<int>(ModuleKind::kVdso) == HBBP_MODULE_VDSO);
static_assert(static_cast<int>(ModuleKind::kAnonymous) == HBBP_MODULE_ANONYMOUS);
static_assert(static_cast<int>(ModuleKind::kKernel) == HBBP_MODULE_KERNEL);
static_assert(static_cast<int>(CodeState::kFile) == HBBP_MODULE_CODE_FILE);
static_assert(static_cast<int>(CodeState::kProfile) == HBBP_MODULE_CODE_PROFILE);
static_assert(static_cast<int>(CodeState::kMissing) == HBBP_MODULE_CODE_MISSING);
static_assert(static_cast<int>(CodeState::kMismatch) == HBBP_MODULE_CODE_MISMATCH);
static_assert(static_cast<int>(CodeState::kCore) == HBBP_MODULE_CODE_CORE);
static_assert(static_cast<int>(hbbp::Unit::kUops) == HBBP_UNIT_UOPS);
static_assert(hbbp::BiasRule().ratio == HBBP_BIAS_RATIO);
static_assert(hbbp::BiasRule().chance == HBBP_BIAS_CHANCE);
static_assert(hbbp::kNoAddress.value == HBBP_NO_ADDRESS);
static_assert(static_cast<int>(hbbp::Unit::kInstructions) == HBBP_UNIT_INSTRUCTIONS);
static_assert(static_cast<int>(hbbp::Unit::kNanoseconds) == HBBP_UNIT_NANOSECONDS);
static_assert(static_cast<int>(hbbp::Unit::kCycles) == HBBP_UNIT_CYCLES);
static_assert(static_cast<int>(hbbp::Unit::kTakenBranches) == HBBP_UNIT_TAKEN_BRANCHES);
static_assert(static_cast<int>(hbbp::Unit::kEvents) == HBBP_UNIT_EVENTS);

namespace {

// Where software branch tracing did not weigh bursts by their instructions, counts are up to a
// factor.
hbbp::Unit UnitOf(const hbbp::SourceRecord& source) {
  const bool is_up_to_factor = source.kind == hbbp::SourceKind::kSwbt &&
                               source.event == hbbp::EventKind::kInstructions &&
                               source.burst_extent == hbbp::BurstExtent::kStreams;
  return is_up_to_factor ? hbbp::Unit::kEvents : hbbp::UnitOf(source.event);
}

hbbp_block BlockOf(const BlockRecord& record) {
  HBBP_INIT(hbbp_block, block);
  block.module = record.module;
  block.start = record.block.start.value;
  block.end = record.block.end.value;
  block.instruction_count = record.block.instruction_count;
  block.function = record.function;
  block.source = static_cast<hbbp_source>(record.source);
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

// The frame of every _at function: checks arguments, lets `fill` write the struct.
template <typename Struct, typename Count, typename Fill>
hbbp_status At(const char* function, const char* struct_name, const hbbp_profile* profile,
               size_t index, Struct* output, hbbp_error* error, Count&& count, Fill&& fill) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(function, "profile");
    if (output == nullptr) return NullArgument(function, struct_name);
    const size_t size = count(*profile);
    if (index >= size) return BadIndex(function, index, size);
    HBBP_INIT(Struct, full);
    HBBP_RETURN_IF_ERROR(fill(*profile, &full));
    return WriteOutput(full, struct_name, output);
  });
}

// The same for a list of the analysis.
template <typename Struct, typename List, typename Fill>
hbbp_status AtOfAnalysis(const char* function, const char* struct_name, const hbbp_profile* profile,
                         size_t index, Struct* output, hbbp_error* error, List&& list,
                         Fill&& fill) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(function, "profile");
    if (output == nullptr) return NullArgument(function, struct_name);
    HBBP_ASSIGN_OR_RETURN(const auto analysis, profile->Analyze());
    const auto& records = list(*analysis);
    if (index >= records.size()) return BadIndex(function, index, records.size());
    HBBP_INIT(Struct, full);
    fill(records[index], &full);
    return WriteOutput(full, struct_name, output);
  });
}

// The same for a list that belongs to a source.
template <typename Struct, typename Count, typename Fill>
hbbp_status AtOfSource(const char* function, const hbbp_profile* profile, size_t source,
                       size_t index, Struct* output, hbbp_error* error, Count&& count,
                       Fill&& fill) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(function, "profile");
    if (output == nullptr) return NullArgument(function, "counter");
    const size_t sources = profile->data().sources.size();
    if (source >= sources) return BadIndex(function, source, sources);
    const size_t size = count();
    if (index >= size) return BadIndex(function, index, size);
    HBBP_INIT(Struct, full);
    HBBP_RETURN_IF_ERROR(fill(*profile, &full));
    return WriteOutput(full, "hbbp_counter", output);
  });
}

hbbp_status SamplesOfSource(const char* function, const hbbp_profile* profile, size_t index,
                            uint64_t (Analysis::*samples_of)(uint32_t) const, uint64_t* samples,
                            hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument(function, "profile");
    if (samples == nullptr) return NullArgument(function, "samples");
    const size_t count = profile->data().sources.size();
    if (index >= count) return BadIndex(function, index, count);
    HBBP_ASSIGN_OR_RETURN(const auto analysis, profile->Analyze());
    *samples = ((*analysis).*samples_of)(static_cast<uint32_t>(index));
    return OkStatus();
  });
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_profile_set_kernel(hbbp_profile* profile, const hbbp_kernel_files* files,
                                             hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument("hbbp_profile_set_kernel", "profile");
    if (files == nullptr) return NullArgument("hbbp_profile_set_kernel", "files");
    hbbp_kernel_files full;
    HBBP_RETURN_IF_ERROR(ReadInput(files, "hbbp_kernel_files", &full));
    hbbp::KernelFilePaths paths;
    if (full.vmlinux != nullptr) paths.vmlinux = full.vmlinux;
    if (full.kcore != nullptr) paths.core = full.kcore;
    if (full.kallsyms != nullptr) paths.symbols = full.kallsyms;
    return profile->SetKernelFiles(paths);
  });
}

HBBP_API hbbp_status hbbp_profile_resolve(const hbbp_profile* profile,
                                          const hbbp_work_options* work, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument("hbbp_profile_resolve", "profile");
    hbbp::Work chosen;
    HBBP_RETURN_IF_ERROR(ReadWork(work, &chosen));
    return profile->Analyze(chosen).status();
  });
}

HBBP_API hbbp_status hbbp_profile_select_thread(const hbbp_profile* profile, uint32_t tid,
                                                hbbp_profile** selected, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument("hbbp_profile_select_thread", "profile");
    if (selected == nullptr) return NullArgument("hbbp_profile_select_thread", "selected");
    std::optional<ProfileData> data = hbbp::SelectThread(profile->data(), tid);
    if (!data) {
      return MakeStatus(StatusCode::kNotFound,
                        "hbbp_profile_select_thread: no sample of a thread %u", tid);
    }
    *selected = new hbbp_profile(*std::move(data), *profile);
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_profile_get_info(const hbbp_profile* profile, hbbp_profile_info* info,
                                           hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument("hbbp_profile_get_info", "profile");
    if (info == nullptr) return NullArgument("hbbp_profile_get_info", "info");
    const ProfileData& data = profile->data();
    HBBP_INIT(hbbp_profile_info, full);
    full.pid = data.pid;
    full.start_time_ns = data.start_time_ns;
    full.duration_ns = data.duration_ns;
    full.command = data.command.c_str();
    full.host = data.host.c_str();
    for (size_t i = 0; i < data.sources.size(); ++i) {
      full.samples += profile->totals().of_source[i];
      full.lost += data.sources[i].lost;
      full.throttled += data.sources[i].throttled;
      full.unmapped += profile->totals().unmapped_of_source[i];
    }
    return WriteOutput(full, "hbbp_profile_info", info);
  });
}

HBBP_API size_t hbbp_profile_source_count(const hbbp_profile* profile) {
  return profile == nullptr ? 0 : profile->data().sources.size();
}

HBBP_API hbbp_status hbbp_profile_source_at(const hbbp_profile* profile, size_t index,
                                            hbbp_source_info* source, hbbp_error* error) {
  return At(
      "hbbp_profile_source_at", "hbbp_source_info", profile, index, source, error,
      [](const hbbp_profile& given) { return given.data().sources.size(); },
      [index](const hbbp_profile& given, hbbp_source_info* full) -> Status {
        const hbbp::SourceRecord& record = given.data().sources[index];
        full->source = static_cast<hbbp_source>(record.kind);
        full->event = static_cast<hbbp_event>(record.event);
        full->period_mode = static_cast<hbbp_period_mode>(record.period_mode);
        full->unit = static_cast<hbbp_unit>(UnitOf(record));
        full->include_kernel = record.include_kernel ? 1 : 0;
        full->period = record.period;
        full->frequency_hz = record.frequency_hz;
        full->samples = given.totals().of_source[index];
        full->lost = record.lost;
        full->throttled = record.throttled;
        full->unmapped = given.totals().unmapped_of_source[index];
        full->note = record.note.c_str();
        full->bursts = record.trace.bursts;
        full->taken_branches = record.trace.taken_branches;
        full->breakpoints = record.trace.breakpoints;
        full->lookahead_instructions = record.trace.lookahead_instructions;
        full->decoded_instructions = record.trace.decoded_instructions;
        full->handler_ns = record.trace.handler_ns;
        full->verified_branches = record.trace.verified_branches;
        full->disagreements = record.trace.disagreements;
        full->mode = record.trace.mode.c_str();
        full->rung = record.trace.method.c_str();
        full->event_name = record.event_name.c_str();
        full->precise_ip = record.precise_ip;
        full->ebs_method = static_cast<hbbp_ebs_method>(record.ebs_method);
        full->smallest_period = record.smallest_period;
        full->largest_period = record.largest_period;
        return OkStatus();
      });
}

HBBP_API hbbp_status hbbp_profile_unexplained_at(const hbbp_profile* profile, size_t index,
                                                 uint64_t* samples, hbbp_error* error) {
  return SamplesOfSource("hbbp_profile_unexplained_at", profile, index,
                         &Analysis::UnexplainedOfSource, samples, error);
}

HBBP_API hbbp_status hbbp_profile_superseded_at(const hbbp_profile* profile, size_t index,
                                                uint64_t* samples, hbbp_error* error) {
  return SamplesOfSource("hbbp_profile_superseded_at", profile, index,
                         &Analysis::SupersededOfSource, samples, error);
}

HBBP_API size_t hbbp_profile_unexplained_reason_count(const hbbp_profile* profile, size_t source) {
  const bool has_source = profile != nullptr && source < profile->data().sources.size();
  return has_source ? static_cast<size_t>(hbbp::UnexplainedReason::kCount) : 0;
}

HBBP_API hbbp_status hbbp_profile_unexplained_reason_at(const hbbp_profile* profile, size_t source,
                                                        size_t index, hbbp_counter* counter,
                                                        hbbp_error* error) {
  return AtOfSource(
      "hbbp_profile_unexplained_reason_at", profile, source, index, counter, error,
      [&] { return hbbp_profile_unexplained_reason_count(profile, source); },
      [source, index](const hbbp_profile& given, hbbp_counter* full) -> Status {
        full->name = NameOf(static_cast<hbbp::UnexplainedReason>(index));
        HBBP_ASSIGN_OR_RETURN(const auto analysis, given.Analyze());
        full->value = analysis->UnexplainedByReason(static_cast<uint32_t>(source))[index];
        return OkStatus();
      });
}

HBBP_API size_t hbbp_profile_counter_count(const hbbp_profile* profile, size_t source) {
  const bool has_source = profile != nullptr && source < profile->data().sources.size();
  return has_source ? profile->data().sources[source].trace.counters.size() : 0;
}

HBBP_API hbbp_status hbbp_profile_counter_at(const hbbp_profile* profile, size_t source,
                                             size_t index, hbbp_counter* counter,
                                             hbbp_error* error) {
  return AtOfSource(
      "hbbp_profile_counter_at", profile, source, index, counter, error,
      [&] { return hbbp_profile_counter_count(profile, source); },
      [source, index](const hbbp_profile& given, hbbp_counter* full) -> Status {
        const auto& [name, value] = given.data().sources[source].trace.counters[index];
        full->name = name.c_str();
        full->value = value;
        return OkStatus();
      });
}

HBBP_API size_t hbbp_profile_thread_count(const hbbp_profile* profile) {
  return profile == nullptr ? 0 : profile->data().threads.size();
}

HBBP_API hbbp_status hbbp_profile_thread_at(const hbbp_profile* profile, size_t index,
                                            hbbp_thread* thread, hbbp_error* error) {
  return At(
      "hbbp_profile_thread_at", "hbbp_thread", profile, index, thread, error,
      [](const hbbp_profile& given) { return given.data().threads.size(); },
      [index](const hbbp_profile& given, hbbp_thread* full) -> Status {
        const hbbp::ThreadRecord& record = given.data().threads[index];
        full->pid = record.pid;
        full->tid = record.tid;
        full->name = record.name.c_str();
        full->samples = given.totals().of_thread[index];
        return OkStatus();
      });
}

HBBP_API size_t hbbp_profile_module_count(const hbbp_profile* profile) {
  return profile == nullptr ? 0 : profile->data().modules.size();
}

HBBP_API hbbp_status hbbp_profile_module_at(const hbbp_profile* profile, size_t index,
                                            hbbp_module* module, hbbp_error* error) {
  return At(
      "hbbp_profile_module_at", "hbbp_module", profile, index, module, error,
      [](const hbbp_profile& given) { return given.data().modules.size(); },
      [index](const hbbp_profile& given, hbbp_module* full) -> Status {
        const auto number = static_cast<uint32_t>(index);
        const hbbp::ModuleRecord& record = given.data().modules[index];
        full->kind = static_cast<hbbp_module_kind>(record.kind);
        full->samples = given.totals().of_module[index];
        full->code = HBBP_MODULE_CODE_NOT_SOUGHT;
        full->problem = "";
        if (full->samples > 0 && record.kind == ModuleKind::kKernel) {
          HBBP_ASSIGN_OR_RETURN(const auto analysis, given.Analyze());
          full->patched_bytes = analysis->PatchedBytesOf(number);
        }
        if (full->samples > 0) {
          full->code = static_cast<hbbp_module_code>(given.modules().CodeStateOf(number));
          full->problem = given.modules().ProblemOf(number).c_str();
        }
        full->build_id_size = static_cast<uint32_t>(record.build_id.size());
        full->build_id = record.build_id.data();
        full->path = record.path.c_str();
        return OkStatus();
      });
}

HBBP_API size_t hbbp_profile_block_count(const hbbp_profile* profile) {
  return CountInAnalysis(profile,
                         [](const Analysis& analysis) { return analysis.blocks().size(); });
}

HBBP_API hbbp_status hbbp_profile_block_at(const hbbp_profile* profile, size_t index,
                                           hbbp_block* block, hbbp_error* error) {
  return AtOfAnalysis(
      "hbbp_profile_block_at", "hbbp_block", profile, index, block, error,
      [](const Analysis& analysis) -> const auto& { return analysis.blocks(); },
      [](const hbbp::BlockRecord& record, hbbp_block* full) { *full = BlockOf(record); });
}

HBBP_API size_t hbbp_profile_function_count(const hbbp_profile* profile) {
  return CountInAnalysis(profile,
                         [](const Analysis& analysis) { return analysis.functions().size(); });
}

HBBP_API hbbp_status hbbp_profile_function_at(const hbbp_profile* profile, size_t index,
                                              hbbp_function* function, hbbp_error* error) {
  return AtOfAnalysis(
      "hbbp_profile_function_at", "hbbp_function", profile, index, function, error,
      [](const Analysis& analysis) -> const auto& { return analysis.functions(); },
      [](const hbbp::FunctionRecord& record, hbbp_function* full) {
        full->module = record.module;
        full->start = record.range.start.value;
        full->end = record.range.end.value;
        full->name = record.name.c_str();
        full->instructions = record.instructions;
        full->standard_error = record.standard_error;
        full->samples = record.samples;
      });
}

HBBP_API size_t hbbp_profile_branch_count(const hbbp_profile* profile) {
  return CountInAnalysis(profile,
                         [](const Analysis& analysis) { return analysis.branches().size(); });
}

HBBP_API hbbp_status hbbp_profile_branch_at(const hbbp_profile* profile, size_t index,
                                            hbbp_branch* branch, hbbp_error* error) {
  return AtOfAnalysis(
      "hbbp_profile_branch_at", "hbbp_branch", profile, index, branch, error,
      [](const Analysis& analysis) -> const auto& { return analysis.branches(); },
      [](const hbbp::TakenBranchRecord& record, hbbp_branch* full) {
        full->from_module = record.from_module;
        full->from = record.from.value;
        full->to = record.to.value;
        full->to_module = record.to_module;
        full->samples = record.observed;
        full->count = record.count;
        full->oldest = record.bias.oldest;
        full->oldest_expected = record.bias.expected;
      });
}

HBBP_API hbbp_status hbbp_profile_copy_blocks(const hbbp_profile* profile, size_t first,
                                              size_t count, size_t block_size, hbbp_block* blocks,
                                              size_t* copied, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument("hbbp_profile_copy_blocks", "profile");
    HBBP_ASSIGN_OR_RETURN(const auto analysis, profile->Analyze());
    const std::vector<BlockRecord>& all = analysis->blocks();
    return CopyList({"hbbp_profile_copy_blocks", "hbbp_block", "blocks", "block_size"}, all.size(),
                    first, count, block_size, blocks, copied,
                    [&](size_t index) { return BlockOf(all[index]); });
  });
}

HBBP_API hbbp_status hbbp_profile_find_block(const hbbp_profile* profile, uint32_t module,
                                             uint64_t address, hbbp_block* block,
                                             hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument("hbbp_profile_find_block", "profile");
    if (block == nullptr) return NullArgument("hbbp_profile_find_block", "block");
    HBBP_ASSIGN_OR_RETURN(const auto analysis, profile->Analyze());
    HBBP_ASSIGN_OR_RETURN(BlockRecord record, analysis->FindBlock(module, ModuleAddress{address}));
    return WriteOutput(BlockOf(record), "hbbp_block", block);
  });
}

HBBP_API hbbp_status hbbp_profile_decode(const hbbp_profile* profile, uint32_t module,
                                         uint64_t address, hbbp_instruction* instruction,
                                         hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (profile == nullptr) return NullArgument("hbbp_profile_decode", "profile");
    if (instruction == nullptr) return NullArgument("hbbp_profile_decode", "instruction");
    HBBP_ASSIGN_OR_RETURN(hbbp::Instruction decoded,
                          profile->modules().Decode(module, ModuleAddress{address}));
    HBBP_INIT(hbbp_instruction, full);
    full.length = decoded.length;
    full.address = decoded.address;
    full.mnemonic = MnemonicName(decoded.mnemonic).data();
    return WriteOutput(full, "hbbp_instruction", instruction);
  });
}

}  // extern "C"
