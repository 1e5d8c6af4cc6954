// Wraps profiles and analyses for the sub-commands: it loads and merges files, lists sources and
// modules with what the analysis found of them, names the values of enumerations, and collects the
// notes (losses, units, missing code) that every listing prints. All sub-commands that read
// profiles call it.
#include "profile_view.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "estimator_option.h"
#include "format.h"
#include "options.h"
#include "record/unfinished_recording.h"

namespace hbbp::tools {
namespace {

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
    const bool has_streams = HasStreams(source.kind);
    (has_streams ? sum.unexplained_streams : sum.unexplained) += source.unexplained;
    sum.disagreements += source.disagreements;
  }
  return sum;
}

// Of what software branch tracing has no bursts.
void AddUnseenCodeNotes(const std::vector<SourceView>& sources, std::vector<std::string>* notes) {
  constexpr uint64_t kFewBursts = 3, kShareOfBursts = 100, kFewMilliseconds = 100;
  uint64_t bursts = 0;
  for (const SourceView& source : sources) bursts += source.bursts;
  const uint64_t without_stream = SumOfCounters(sources, "no-stream");
  const uint64_t blocked_ms = SumOfCounters(sources, "signal-blocked-ms");
  if (without_stream >= std::max(kFewBursts, bursts / kShareOfBursts)) {
    notes->push_back(FormatCount(without_stream) + " bursts next to the " + FormatCount(bursts) +
                     " met no two taken branches: code without branches for so long is counted as "
                     "nothing, and --source ebs samples it");
  }
  if (blocked_ms >= kFewMilliseconds) {
    notes->push_back(
        "threads that block the signal of samples (SIGTRAP) took about " + FormatCount(blocked_ms) +
        " ms of CPU time, of which there are no bursts: unblock it there, or take --source ebs");
  }
}

// Samples stand for less where threads end between two of them, where they were lost and none came
// behind them, and where events took turns. Of an end, up to two periods are missing. Counters
// other than clocks stand still where sampling was held back.
void AddTotalsNote(const std::vector<SourceView>& sources, std::vector<std::string>* notes) {
  constexpr double kMeaningfulShare = 0.05, kPeriodsOfAnEnd = 2;
  for (const SourceView& source : sources) {
    const auto counted = static_cast<double>(SumOfCounters({source}, "counted-events"));
    const auto sampled = static_cast<double>(SumOfCounters({source}, "sampled-events"));
    const double difference = std::abs(counted - sampled);
    const bool is_whole = source.throttled == 0 || source.unit == HBBP_UNIT_NANOSECONDS;
    if (counted == 0 || !is_whole || difference <= kMeaningfulShare * counted ||
        difference <= kPeriodsOfAnEnd * static_cast<double>(source.period)) {
      continue;
    }
    notes->push_back(std::string("samples of ") + EventNameOf(source) + " stand for " +
                     FormatShare(sampled / counted) +
                     " of what the event counted, so that sums are wrong by as much");
  }
}

void AddEstimatorNote(const std::vector<SourceView>& sources, std::vector<std::string>* notes) {
  const auto is_used = [](bool has_streams) {
    return [has_streams](const SourceView& source) {
      return source.samples > 0 && !source.is_other_event && HasStreams(source.kind) == has_streams;
    };
  };
  const auto ebs = std::find_if(sources.begin(), sources.end(), is_used(false));
  const auto streams = std::find_if(sources.begin(), sources.end(), is_used(true));
  if (ebs == sources.end() || streams == sources.end()) return;
  const char* const ebs_name = SourceName(ebs->kind);
  const char* const streams_name = SourceName(streams->kind);
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

// Of clocks, and of what the kernel counts itself, samples are where the event happened. Without a
// name in the spelling of perf, the profile does not say how the event was opened.
bool MayLag(const SourceView& source) {
  const bool is_of_pmu = source.event == HBBP_EVENT_INSTRUCTIONS ||
                         source.event == HBBP_EVENT_CYCLES ||
                         source.event == HBBP_EVENT_TAKEN_BRANCHES;
  const bool is_counted =
      source.samples > 0 && !source.is_other_event && source.estimator != HBBP_ESTIMATOR_STREAMS;
  return source.kind == HBBP_SOURCE_EBS && is_of_pmu && is_counted && source.precise_ip == 0 &&
         *source.event_name != '\0';
}

void AddLagNote(const std::vector<SourceView>& sources, std::vector<std::string>* notes) {
  std::string names;
  for (const SourceView& source : sources) {
    if (!MayLag(source) || names.find(source.event_name) != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + std::string(source.event_name);
  }
  if (names.empty()) return;
  notes->push_back("samples of " + names +
                   " are not precise and may lie behind what they are of, so counts of single "
                   "blocks may be off by more than their errors");
}

void AddOtherEventsNote(const std::vector<SourceView>& sources, std::vector<std::string>* notes) {
  std::string counted, others;
  for (const SourceView& source : sources) {
    if (source.samples == 0) continue;
    std::string* const names = source.is_other_event ? &others : &counted;
    const std::string name = std::string(SourceName(source.kind)) + " of " + EventNameOf(source);
    *names += (names->empty() ? "" : ", ") + name;
  }
  if (others.empty()) return;
  notes->push_back("blocks are counted by " + counted + "; " + others +
                   " would count something else, and is not added (--event NAME chooses)");
}

bool CountsExecutions(const SourceView& source) {
  if (HasStreams(source.kind)) {
    const bool is_clock = source.unit == HBBP_UNIT_NANOSECONDS;
    return source.unit == HBBP_UNIT_TAKEN_BRANCHES || (source.extent_in_events != 0 && !is_clock);
  }
  return source.unit == HBBP_UNIT_INSTRUCTIONS || source.unit == HBBP_UNIT_UOPS;
}

// Returns the units that the samples of a family have.
std::set<std::string> FindUnits(const hbbp::profile& profile, bool has_streams) {
  std::set<std::string> units;
  for (const SourceView& source : SourcesAsRecorded(profile)) {
    const bool is_of_family = HasStreams(source.kind) == has_streams;
    if (is_of_family && source.samples != 0) units.insert(UnitName(source.unit));
  }
  return units;
}

std::string Joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::vector<hbbp::profile> LoadEach(const std::vector<std::string>& paths) {
  std::vector<hbbp::profile> profiles;
  for (const std::string& path : paths) profiles.push_back(LoadProfile(path));
  return profiles;
}

hbbp::profile Merge(std::vector<hbbp::profile> profiles) {
  if (profiles.size() == 1) return std::move(profiles.front());
  std::vector<const hbbp::profile*> parts;
  for (const hbbp::profile& profile : profiles) parts.push_back(&profile);
  return hbbp::profile::merge(parts);
}

bool IsPrime(uint64_t number) {
  for (uint64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return true;
}

bool IsWeighedByTime(const SourceView& source) {
  return source.kind == HBBP_SOURCE_SWBT && source.unit == HBBP_UNIT_NANOSECONDS &&
         source.extent_in_events != 0;
}

}  // namespace

Status ToStatus(const hbbp::error& error) {
  return Status(static_cast<StatusCode>(error.status()), error.what());
}

hbbp::profile LoadProfile(const std::string& path) {
  try {
    return hbbp::profile::load(path);
  } catch (const hbbp::error& error) {
    const std::string message = error.what();
    if (error.status() == HBBP_ERROR_NOT_FOUND) {
      std::string advice = DescribeUnfinishedRecording(path);
      if (advice.empty() && path == kDefaultProfile) {
        advice = "; make it with hbbp record, or name a file";
      }
      throw hbbp::error(error.status(), message + advice);
    }
    if (message.find(path) != std::string::npos) throw;
    throw hbbp::error(error.status(), path + ": " + message);
  }
}

void SaveProfile(const hbbp::profile_view& profile, const std::string& path) {
  if (path != kStandardOutput) return profile.save(path);
  // A file is replaced when it is saved, and what stdout was redirected to must not be.
  const char* const parent = ::getenv("TMPDIR");
  std::string directory = std::string(parent != nullptr ? parent : "/tmp") + "/hbbp-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) {
    throw hbbp::error(HBBP_ERROR_IO, directory + ": " + std::strerror(errno));
  }
  const std::string file = directory + "/profile";
  std::vector<uint8_t> bytes;
  const Status status = CatchError([&] {
    profile.save(file);
    bytes = ReadFile(file).value();
  });
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  if (!status.ok()) throw hbbp::error(HBBP_ERROR_IO, status.message());
  const bool is_written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  if (is_written && std::fflush(stdout) == 0) return;
  throw hbbp::error(HBBP_ERROR_IO, std::string("standard output: ") + std::strerror(errno));
}

Status CommonUnits::Add(const std::string& name, const hbbp::profile& profile) {
  std::array<Family, 2> changed = families_;
  for (const bool has_streams : {false, true}) {
    Family& family = changed[has_streams ? 1 : 0];
    const std::set<std::string> units = FindUnits(profile, has_streams);
    if (units.empty()) continue;
    if (family.units.empty()) {
      family = {name, units};
      continue;
    }
    std::set<std::string> shared;
    std::set_intersection(family.units.begin(), family.units.end(), units.begin(), units.end(),
                          std::inserter(shared, shared.end()));
    if (shared.empty()) {
      return MakeStatus(StatusCode::kMismatch, "%s counts %s and %s %s, which cannot be added",
                        family.first.c_str(), Joined(family.units).c_str(), name.c_str(),
                        Joined(units).c_str());
    }
    family.units = std::move(shared);
  }
  families_ = std::move(changed);
  return OkStatus();
}

hbbp::profile LoadProfiles(const std::vector<std::string>& paths) {
  std::vector<hbbp::profile> profiles = LoadEach(paths);
  CommonUnits units;
  for (size_t i = 0; i < paths.size(); ++i) {
    const Status status = units.Add(paths[i], profiles[i]);
    if (status.ok()) continue;
    throw hbbp::error(HBBP_ERROR_MISMATCH,
                      status.message() + "; give profiles of one event at a time");
  }
  return Merge(std::move(profiles));
}

hbbp::profile LoadParts(const std::vector<std::string>& paths) { return Merge(LoadEach(paths)); }

uint64_t SumOfCounters(const std::vector<SourceView>& sources, std::string_view name) {
  uint64_t sum = 0;
  for (const SourceView& source : sources) {
    for (const hbbp_counter& counter : source.counters) {
      if (counter.name == name) sum += counter.value;
    }
  }
  return sum;
}

std::vector<SourceView> SourcesAsRecorded(const hbbp::profile_view& profile) {
  std::vector<SourceView> sources;
  for (const hbbp_source_info& info : profile.sources()) {
    SourceView& source = sources.emplace_back();
    static_cast<hbbp_source_info&>(source) = info;
    source.counters = profile.counters(sources.size() - 1);
  }
  return sources;
}

std::vector<SourceView> Sources(const hbbp::analysis& analysis) {
  std::vector<SourceView> sources = SourcesAsRecorded(analysis.get_profile());
  const std::vector<hbbp_source_result> results = analysis.sources();
  const hbbp_analysis_info info = analysis.info();
  for (size_t i = 0; i < sources.size(); ++i) {
    SourceView& source = sources[i];
    source.estimator = info.estimator;
    source.scale = HasStreams(source.kind) ? info.streams_scale : info.ebs_scale;
    source.is_one_scale = info.is_one_scale != 0;
    source.unexplained = results[i].unexplained;
    source.superseded = results[i].superseded;
    source.is_other_event = results[i].is_other_event != 0;
    source.unexplained_reasons = analysis.unexplained_reasons(i);
    std::erase_if(source.unexplained_reasons,
                  [](const hbbp_counter& reason) { return reason.value == 0; });
  }
  return sources;
}

std::vector<ModuleView> Modules(const hbbp::analysis& analysis) {
  std::vector<ModuleView> modules;
  const std::vector<hbbp_module_result> results = analysis.modules();
  for (const hbbp_module& recorded : analysis.get_profile().modules()) {
    const hbbp_module_result& result = results[modules.size()];
    modules.push_back({recorded, result.code, result.problem, result.patched_bytes});
  }
  return modules;
}

double TotalInstructions(const std::vector<hbbp_function>& functions) {
  return std::accumulate(
      functions.begin(), functions.end(), 0.0,
      [](double sum, const hbbp_function& function) { return sum + function.instructions; });
}

bool HasStreams(hbbp_source_kind source) {
  return source == HBBP_SOURCE_LBR || source == HBBP_SOURCE_SWBT;
}

std::string DescribeSamples(const hbbp_source_info& source) {
  switch (source.kind) {
    case HBBP_SOURCE_SWBT:
      return Plural(source.samples, "burst", "bursts");
    case HBBP_SOURCE_LBR:
      return Plural(source.samples, "branch stack", "branch stacks");
    default:
      return Plural(source.samples, "sample", "samples");
  }
}

const char* SourceName(hbbp_source_kind source) {
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
  if (source.event == HBBP_EVENT_OTHER && *source.event_name == '\0') return "an unnamed event";
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
    case HBBP_PERIOD_BY_FREQUENCY:
      return "frequency";
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

const char* CodeName(hbbp_code_state code) {
  switch (code) {
    case HBBP_CODE_FILE:
      return "file";
    case HBBP_CODE_PROFILE:
      return "profile";
    case HBBP_CODE_MISSING:
      return "missing";
    case HBBP_CODE_MISMATCH:
      return "mismatch";
    case HBBP_CODE_CORE:
      return "core";
    case HBBP_CODE_NOT_SOUGHT:
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

std::vector<SourceView> CountedSources(const std::vector<SourceView>& sources) {
  std::vector<SourceView> counted = sources;
  std::erase_if(counted, [](const SourceView& source) {
    return source.samples == 0 || source.is_other_event;
  });
  return counted.empty() ? sources : counted;
}

std::string UnitOf(const std::vector<SourceView>& all) {
  const std::vector<SourceView> sources = CountedSources(all);
  if (sources.empty()) return UnitName(HBBP_UNIT_INSTRUCTIONS);
  const hbbp_unit first = sources.front().unit;
  const bool agree = std::all_of(sources.begin(), sources.end(),
                                 [&](const auto& source) { return source.unit == first; });
  return agree ? UnitName(first) : "mixed";
}

bool IsUpToFactor(const std::vector<SourceView>& all) {
  const std::vector<SourceView> sources = CountedSources(all);
  struct Family {
    bool is_there = false;
    bool counts_executions = true;
  } ebs, streams;
  for (const SourceView& source : sources) {
    if (!source.is_one_scale) return true;
    Family& family = HasStreams(source.kind) ? streams : ebs;
    family.is_there = true;
    family.counts_executions &= CountsExecutions(source);
  }
  const bool is_exact =
      (ebs.is_there && ebs.counts_executions) || (streams.is_there && streams.counts_executions);
  return !is_exact && !sources.empty();
}

bool IsByModelOfTime(const std::vector<SourceView>& all) {
  const std::vector<SourceView> sources = CountedSources(all);
  const auto is_right = [](const SourceView& source) {
    return source.is_one_scale &&
           (!HasStreams(source.kind) || CountsExecutions(source) || IsWeighedByTime(source));
  };
  return std::all_of(sources.begin(), sources.end(), is_right) &&
         std::any_of(sources.begin(), sources.end(), IsWeighedByTime);
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
  AddUnseenCodeNotes(sources, &notes);
  AddTotalsNote(sources, &notes);
  AddOtherEventsNote(sources, &notes);
  AddEstimatorNote(sources, &notes);
  AddLagNote(sources, &notes);
  if (IsByModelOfTime(sources)) {
    notes.push_back(
        "counts rest on a model of how long code takes: their sum may be off by a factor of two or "
        "so, which standard errors leave out");
  } else if (IsUpToFactor(sources)) {
    notes.push_back("the source counts " + UnitOf(sources) +
                    ", so counts are proportional to these, and are not numbers of executions");
  }
  return notes;
}

std::vector<std::string> SamplingAdvice(const SourceView& source) {
  std::vector<std::string> advice;
  if (source.samples == 0) return advice;
  if (source.period_mode == HBBP_PERIOD_FIXED && !IsPrime(source.period)) {
    advice.push_back(
        "resonance: a loop whose length divides the fixed period is sampled at the same "
        "instruction each time; take a prime (--period-mode prime, perf record -c) or "
        "--period-mode random");
  }
  if (MayLag(source)) {
    advice.push_back(
        "skid: samples that are not precise lie behind what they are of; take a precise event, "
        "branch records (--source lbr), --source swbt, or sums over functions");
  }
  const bool is_in_shadow = source.kind == HBBP_SOURCE_EBS &&
                            source.event == HBBP_EVENT_INSTRUCTIONS &&
                            (source.precise_ip == 1 || source.precise_ip == 2);
  if (is_in_shadow) {
    advice.push_back(
        "shadow: of instructions that retire together behind a slow one most are never sampled; "
        "take an event that distributes samples (precise_ip 3, INST_RETIRED.PREC_DIST) or branch "
        "records");
  }
  return advice;
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

std::vector<std::string> CodeProblems(const hbbp::analysis& analysis) {
  constexpr size_t kMaxProblems = 3;
  std::vector<ModuleView> modules = Modules(analysis);
  std::erase_if(modules, [](const ModuleView& module) {
    const bool is_unread = module.code == HBBP_CODE_MISSING || module.code == HBBP_CODE_MISMATCH;
    return module.samples == 0 || !is_unread;
  });
  std::stable_sort(modules.begin(), modules.end(),
                   [](const ModuleView& a, const ModuleView& b) { return a.samples > b.samples; });
  std::vector<std::string> problems;
  for (size_t i = 0; i < std::min(modules.size(), kMaxProblems); ++i) {
    problems.push_back("code of " + Printable(BaseName(modules[i].path)) +
                       " could not be read: " + Printable(modules[i].problem));
  }
  if (modules.size() > kMaxProblems) {
    problems.push_back("nor could code of " + FormatCount(uint64_t{modules.size() - kMaxProblems}) +
                       " more modules; hbbp info lists them");
  }
  return problems;
}

std::vector<std::string> CollectNotes(const hbbp::analysis& analysis,
                                      const std::vector<SourceView>& sources) {
  std::vector<std::string> notes = Caveats(sources);
  const std::vector<std::string> of_code = CodeProblems(analysis);
  notes.insert(notes.end(), of_code.begin(), of_code.end());
  return notes;
}

void AddCodeProblems(const hbbp::analysis& analysis, Table* table) {
  for (std::string& problem : CodeProblems(analysis)) table->AddNote(std::move(problem));
}

}  // namespace hbbp::tools
