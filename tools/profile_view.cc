#include "profile_view.h"

#include <algorithm>
#include <numeric>

#include "estimator_option.h"
#include "format.h"

namespace hbbp::tools {
namespace {

template <typename Item>
StatusOr<std::vector<Item>> ReadList(const hbbp_profile* profile,
                                     size_t (*count)(const hbbp_profile*),
                                     hbbp_status (*at)(const hbbp_profile*, size_t, Item*,
                                                       hbbp_error*)) {
  std::vector<Item> items(count(profile));
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].struct_size = sizeof(Item);
    HBBP_INIT(hbbp_error, error);
    if (at(profile, i, &items[i], &error) != HBBP_OK) return ToStatus(error);
  }
  return items;
}

template <typename Item>
StatusOr<std::vector<Item>> ReadListOf(const hbbp_profile* profile, size_t source,
                                       size_t (*count)(const hbbp_profile*, size_t),
                                       hbbp_status (*at)(const hbbp_profile*, size_t, size_t, Item*,
                                                         hbbp_error*)) {
  std::vector<Item> items(count(profile, source));
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].struct_size = sizeof(Item);
    HBBP_INIT(hbbp_error, error);
    if (at(profile, source, i, &items[i], &error) != HBBP_OK) return ToStatus(error);
  }
  return items;
}

struct Losses {
  uint64_t lost = 0;
  uint64_t throttled = 0;
  uint64_t unmapped = 0;
  uint64_t unexplained = 0;
  uint64_t unexplained_streams = 0;
  uint64_t disagreements = 0;
};

Losses SumLosses(const std::vector<SourceView>& sources) {
  Losses sum;
  for (const SourceView& source : sources) {
    sum.lost += source.lost;
    sum.throttled += source.throttled;
    sum.unmapped += source.unmapped;
    const bool has_streams = HasStreams(source.source);
    (has_streams ? sum.unexplained_streams : sum.unexplained) += source.unexplained;
    sum.disagreements += source.disagreements;
  }
  return sum;
}

void AddEstimatorNote(const std::vector<SourceView>& sources, std::vector<std::string>* notes) {
  const auto is_used = [](bool has_streams) {
    return [has_streams](const SourceView& source) {
      return source.samples > 0 && HasStreams(source.source) == has_streams;
    };
  };
  const auto ebs = std::find_if(sources.begin(), sources.end(), is_used(false));
  const auto streams = std::find_if(sources.begin(), sources.end(), is_used(true));
  if (ebs == sources.end() || streams == sources.end()) return;
  const char* const ebs_name = SourceName(ebs->source);
  const char* const streams_name = SourceName(streams->source);
  if (!ebs->is_one_scale) {
    notes->push_back(std::string("no module was observed by both ") + ebs_name + " and " +
                     streams_name + ", so their counts are not on one scale: do not add them");
    return;
  }
  std::string note =
      std::string("code that both ") + ebs_name + " and " + streams_name + " saw is counted by ";
  switch (ebs->estimator) {
    case HBBP_ESTIMATOR_EBS:
      note += ebs_name;
      break;
    case HBBP_ESTIMATOR_STREAMS:
      note += streams_name;
      break;
    case HBBP_ESTIMATOR_TREE:
      note += "either, as a decision tree says block by block";
      break;
    case HBBP_ESTIMATOR_FLOW:
      note += "both, so that what flows into a block flows out of it";
      break;
    default:
      return;
  }
  for (const auto& [source, name] :
       {std::pair(*ebs, ebs_name), std::pair(*streams, streams_name)}) {
    if (source.scale == 1) continue;
    note += std::string("; counts by ") + name + " were multiplied by " +
            FormatFactor(source.scale) + " to be on one scale";
  }
  notes->push_back(std::move(note));
}

}  // namespace

Status ToStatus(const hbbp_error& error) {
  return Status(static_cast<StatusCode>(error.status), error.message);
}

StatusOr<ProfileHandle> LoadProfile(const std::string& path) {
  HBBP_INIT(hbbp_error, error);
  hbbp_profile* profile = nullptr;
  if (hbbp_profile_load(path.c_str(), &profile, &error) != HBBP_OK) {
    Status status = ToStatus(error);
    if (status.message().find(path) != std::string::npos) return status;
    return status.Annotate(path);
  }
  return ProfileHandle(profile);
}

StatusOr<ProfileHandle> LoadProfiles(const std::vector<std::string>& paths) {
  std::vector<ProfileHandle> profiles;
  std::vector<const hbbp_profile*> borrowed;
  for (const std::string& path : paths) {
    HBBP_ASSIGN_OR_RETURN(ProfileHandle profile, LoadProfile(path));
    borrowed.push_back(profile.get());
    profiles.push_back(std::move(profile));
  }
  if (profiles.size() == 1) return std::move(profiles.front());
  HBBP_INIT(hbbp_error, error);
  hbbp_profile* merged = nullptr;
  if (hbbp_profile_merge(borrowed.data(), borrowed.size(), &merged, &error) != HBBP_OK) {
    return ToStatus(error);
  }
  return ProfileHandle(merged);
}

StatusOr<std::vector<SourceView>> SourcesAsRecorded(const hbbp_profile* profile) {
  HBBP_ASSIGN_OR_RETURN(
      auto recorded,
      ReadList<hbbp_source_info>(profile, hbbp_profile_source_count, hbbp_profile_source_at));
  std::vector<SourceView> sources;
  for (size_t i = 0; i < recorded.size(); ++i) {
    SourceView& source = sources.emplace_back();
    static_cast<hbbp_source_info&>(source) = recorded[i];
    HBBP_ASSIGN_OR_RETURN(
        source.counters,
        ReadListOf<hbbp_counter>(profile, i, hbbp_profile_counter_count, hbbp_profile_counter_at));
  }
  return sources;
}

StatusOr<std::vector<SourceView>> Sources(const hbbp_profile* profile) {
  HBBP_ASSIGN_OR_RETURN(std::vector<SourceView> sources, SourcesAsRecorded(profile));
  HBBP_INIT(hbbp_error, error);
  HBBP_INIT(hbbp_estimator_info, estimator);
  if (hbbp_profile_get_estimator(profile, &estimator, &error) != HBBP_OK) return ToStatus(error);
  for (size_t i = 0; i < sources.size(); ++i) {
    sources[i].estimator = estimator.estimator;
    sources[i].scale =
        HasStreams(sources[i].source) ? estimator.streams_scale : estimator.ebs_scale;
    sources[i].is_one_scale = estimator.is_one_scale != 0;
    if (hbbp_profile_unexplained_at(profile, i, &sources[i].unexplained, &error) != HBBP_OK ||
        hbbp_profile_superseded_at(profile, i, &sources[i].superseded, &error) != HBBP_OK) {
      return ToStatus(error);
    }
    HBBP_ASSIGN_OR_RETURN(
        sources[i].unexplained_reasons,
        ReadListOf<hbbp_counter>(profile, i, hbbp_profile_unexplained_reason_count,
                                 hbbp_profile_unexplained_reason_at));
    std::erase_if(sources[i].unexplained_reasons,
                  [](const hbbp_counter& reason) { return reason.value == 0; });
  }
  return sources;
}

StatusOr<std::vector<hbbp_thread>> Threads(const hbbp_profile* profile) {
  return ReadList<hbbp_thread>(profile, hbbp_profile_thread_count, hbbp_profile_thread_at);
}

StatusOr<std::vector<hbbp_module>> Modules(const hbbp_profile* profile) {
  return ReadList<hbbp_module>(profile, hbbp_profile_module_count, hbbp_profile_module_at);
}

StatusOr<std::vector<hbbp_function>> Functions(const hbbp_profile* profile) {
  return ReadList<hbbp_function>(profile, hbbp_profile_function_count, hbbp_profile_function_at);
}

double TotalInstructions(const std::vector<hbbp_function>& functions) {
  return std::accumulate(
      functions.begin(), functions.end(), 0.0,
      [](double sum, const hbbp_function& function) { return sum + function.instructions; });
}

StatusOr<std::vector<hbbp_slice>> Slices(const hbbp_profile* profile) {
  return ReadList<hbbp_slice>(profile, hbbp_profile_slice_count, hbbp_profile_slice_at);
}

StatusOr<std::vector<hbbp_mix_row>> MixRows(const hbbp_profile* profile, hbbp_mix_keys keys) {
  HBBP_INIT(hbbp_error, error);
  hbbp_mix* created = nullptr;
  if (hbbp_mix_create(profile, keys, &created, &error) != HBBP_OK) return ToStatus(error);
  const MixHandle mix(created);
  std::vector<hbbp_mix_row> rows(hbbp_mix_row_count(created));
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].struct_size = sizeof(hbbp_mix_row);
    if (hbbp_mix_row_at(created, i, &rows[i], &error) != HBBP_OK) return ToStatus(error);
  }
  return rows;
}

StatusOr<std::vector<hbbp_block>> Blocks(const hbbp_profile* profile) {
  std::vector<hbbp_block> blocks(hbbp_profile_block_count(profile));
  if (blocks.empty()) return blocks;
  for (hbbp_block& block : blocks) block.struct_size = sizeof(hbbp_block);
  HBBP_INIT(hbbp_error, error);
  size_t copied = 0;
  if (hbbp_profile_copy_blocks(profile, 0, blocks.size(), sizeof(hbbp_block), blocks.data(),
                               &copied, &error) != HBBP_OK) {
    return ToStatus(error);
  }
  blocks.resize(copied);
  return blocks;
}

bool HasStreams(hbbp_source source) {
  return source == HBBP_SOURCE_LBR || source == HBBP_SOURCE_SWBT;
}

const char* SourceName(hbbp_source source) {
  switch (source) {
    case HBBP_SOURCE_NONE:
      return "none";
    case HBBP_SOURCE_EBS:
      return "ebs";
    case HBBP_SOURCE_LBR:
      return "lbr";
    case HBBP_SOURCE_IBS:
      return "ibs";
    case HBBP_SOURCE_SWBT:
      return "swbt";
    case HBBP_SOURCE_COMBINED:
      return "combined";
    case HBBP_SOURCE_TRUTH:
      return "truth";
    default:
      return "unknown";
  }
}

const char* EventName(hbbp_event event) {
  switch (event) {
    case HBBP_EVENT_AUTO:
      return "auto";
    case HBBP_EVENT_TASK_CLOCK:
      return "task-clock";
    case HBBP_EVENT_CPU_CLOCK:
      return "cpu-clock";
    case HBBP_EVENT_INSTRUCTIONS:
      return "instructions";
    case HBBP_EVENT_CYCLES:
      return "cycles";
    case HBBP_EVENT_TAKEN_BRANCHES:
      return "taken-branches";
    case HBBP_EVENT_OTHER:
      return "other";
    case HBBP_EVENT_UOPS:
      return "uops";
    default:
      return "unknown";
  }
}

const char* EventNameOf(const SourceView& source) {
  return *source.event_name != '\0' ? source.event_name : EventName(source.event);
}

const char* UnitName(hbbp_unit unit) {
  switch (unit) {
    case HBBP_UNIT_INSTRUCTIONS:
      return "instructions";
    case HBBP_UNIT_NANOSECONDS:
      return "nanoseconds";
    case HBBP_UNIT_CYCLES:
      return "cycles";
    case HBBP_UNIT_TAKEN_BRANCHES:
      return "taken-branches";
    case HBBP_UNIT_EVENTS:
      return "events";
    case HBBP_UNIT_UOPS:
      return "uops";
    default:
      return "unknown";
  }
}

const char* PeriodModeName(hbbp_period_mode mode) {
  switch (mode) {
    case HBBP_PERIOD_PRIME:
      return "prime";
    case HBBP_PERIOD_FIXED:
      return "fixed";
    case HBBP_PERIOD_RANDOM:
      return "random";
    default:
      return "unknown";
  }
}

const char* EbsMethodName(hbbp_ebs_method method) {
  switch (method) {
    case HBBP_EBS_PLAIN:
      return "plain";
    case HBBP_EBS_IP_PLUS_ONE:
      return "ip+1";
    default:
      return "unknown";
  }
}

const char* CodeName(hbbp_module_code code) {
  switch (code) {
    case HBBP_MODULE_CODE_FILE:
      return "file";
    case HBBP_MODULE_CODE_PROFILE:
      return "profile";
    case HBBP_MODULE_CODE_MISSING:
      return "missing";
    case HBBP_MODULE_CODE_MISMATCH:
      return "mismatch";
    case HBBP_MODULE_CODE_CORE:
      return "core";
    case HBBP_MODULE_CODE_NOT_SOUGHT:
      return "not sought";
    default:
      return "unknown";
  }
}

const char* ModuleKindName(hbbp_module_kind kind) {
  switch (kind) {
    case HBBP_MODULE_FILE:
      return "file";
    case HBBP_MODULE_VDSO:
      return "vdso";
    case HBBP_MODULE_ANONYMOUS:
      return "anonymous";
    case HBBP_MODULE_KERNEL:
      return "kernel";
    default:
      return "unknown";
  }
}

std::string UnitOf(const std::vector<SourceView>& sources) {
  if (sources.empty()) return UnitName(HBBP_UNIT_INSTRUCTIONS);
  const hbbp_unit first = sources.front().unit;
  const bool agree = std::all_of(sources.begin(), sources.end(),
                                 [&](const auto& source) { return source.unit == first; });
  return agree ? UnitName(first) : "mixed";
}

bool IsUpToFactor(const std::vector<SourceView>& sources) {
  struct Family {
    bool is_there = false;
    bool counts_executions = true;
  } ebs, streams;
  for (const SourceView& source : sources) {
    if (!source.is_one_scale) return true;
    const bool has_streams = HasStreams(source.source);
    Family& family = has_streams ? streams : ebs;
    family.is_there = true;
    const bool is_by_instructions = source.unit == HBBP_UNIT_INSTRUCTIONS;
    family.counts_executions &=
        has_streams ? source.unit == HBBP_UNIT_TAKEN_BRANCHES ||
                          (source.source == HBBP_SOURCE_SWBT && is_by_instructions)
                    : is_by_instructions || source.unit == HBBP_UNIT_UOPS;
  }
  const bool is_exact =
      (ebs.is_there && ebs.counts_executions) || (streams.is_there && streams.counts_executions);
  return !is_exact && !sources.empty();
}

std::vector<std::string> Caveats(const std::vector<SourceView>& sources) {
  std::vector<std::string> notes;
  const Losses losses = SumLosses(sources);
  if (losses.lost != 0) {
    notes.push_back(FormatCount(losses.lost) + " samples were lost: the kernel had no room");
  }
  if (losses.throttled != 0) {
    notes.push_back("the kernel held sampling back " + FormatCount(losses.throttled) + " times");
  }
  if (losses.unmapped != 0) {
    notes.push_back(FormatCount(losses.unmapped) + " samples or branches were in no known mapping");
  }
  if (losses.unexplained != 0) {
    notes.push_back(FormatCount(losses.unexplained) +
                    " samples are in code that could not be read or decoded; hbbp info says why");
  }
  if (losses.unexplained_streams != 0) {
    notes.push_back(FormatCount(losses.unexplained_streams) +
                    " streams fit no path through the code; hbbp info says why");
  }
  if (losses.disagreements != 0) {
    notes.push_back(FormatCount(losses.disagreements) +
                    " branches were predicted wrongly: tracing is not to be trusted here");
  }
  AddEstimatorNote(sources, &notes);
  if (IsUpToFactor(sources)) {
    notes.push_back("the source counts " + UnitOf(sources) +
                    ", so counts are proportional to these and no numbers of executions");
  }
  return notes;
}

void AddCaveats(const std::vector<SourceView>& sources, Table* table) {
  const Losses losses = SumLosses(sources);
  table->AddField("unit", UnitOf(sources));
  if (!sources.empty()) table->AddField("estimator", EstimatorName(sources.front().estimator));
  table->AddField("lost", losses.lost);
  table->AddField("throttled", losses.throttled);
  table->AddField("unmapped", losses.unmapped);
  table->AddField("unexplained", losses.unexplained + losses.unexplained_streams);
  for (std::string& note : Caveats(sources)) table->AddNote(std::move(note));
}

StatusOr<std::vector<std::string>> CodeProblems(const hbbp_profile* profile) {
  constexpr size_t kMostTold = 3;
  HBBP_ASSIGN_OR_RETURN(std::vector<hbbp_module> modules, Modules(profile));
  std::erase_if(modules, [](const hbbp_module& module) {
    const bool is_unread =
        module.code == HBBP_MODULE_CODE_MISSING || module.code == HBBP_MODULE_CODE_MISMATCH;
    return module.samples == 0 || !is_unread;
  });
  std::stable_sort(modules.begin(), modules.end(), [](const hbbp_module& a, const hbbp_module& b) {
    return a.samples > b.samples;
  });
  std::vector<std::string> problems;
  for (size_t i = 0; i < std::min(modules.size(), kMostTold); ++i) {
    problems.push_back("code of " + Printable(BaseName(modules[i].path)) +
                       " could not be read: " + Printable(modules[i].problem));
  }
  if (modules.size() > kMostTold) {
    problems.push_back("nor could code of " + FormatCount(uint64_t{modules.size() - kMostTold}) +
                       " more modules; hbbp info lists them");
  }
  return problems;
}

StatusOr<std::vector<std::string>> NotesOf(const hbbp_profile* profile,
                                           const std::vector<SourceView>& sources) {
  std::vector<std::string> notes = Caveats(sources);
  HBBP_ASSIGN_OR_RETURN(const std::vector<std::string> of_code, CodeProblems(profile));
  notes.insert(notes.end(), of_code.begin(), of_code.end());
  return notes;
}

Status AddCodeProblems(const hbbp_profile* profile, Table* table) {
  HBBP_ASSIGN_OR_RETURN(std::vector<std::string> problems, CodeProblems(profile));
  for (std::string& problem : problems) table->AddNote(std::move(problem));
  return OkStatus();
}

}  // namespace hbbp::tools
