#include "estimate/event_choice.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "estimate/family_choice.h"

namespace hbbp {
namespace {

// The parts of "cpu_core/cycles/u" and of "cycles:u".
struct EventNameParts {
  std::string_view pmu;
  std::string_view event;
  std::string_view modifiers;
};

EventNameParts Split(std::string_view name) {
  EventNameParts parts;
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    const size_t colon = std::min(name.rfind(':'), name.size());
    parts.event = name.substr(0, colon);
    parts.modifiers = name.substr(std::min(colon + 1, name.size()));
    return parts;
  }
  const size_t end = std::min(name.find('/', slash + 1), name.size());
  parts.pmu = name.substr(0, slash);
  parts.event = name.substr(slash + 1, end - slash - 1);
  parts.modifiers = name.substr(std::min(end + 1, name.size()));
  return parts;
}

std::string_view NameOf(const SourceRecord& source) {
  if (source.event_name.empty()) return EventName(source.event);
  return source.event_name;
}

bool ObservesUser(std::string_view modifiers) {
  return modifiers.find('u') != std::string_view::npos ||
         modifiers.find('k') == std::string_view::npos;
}

bool ObservesKernel(std::string_view modifiers) {
  return modifiers.find('k') != std::string_view::npos ||
         modifiers.find('u') == std::string_view::npos;
}

bool ObserveDifferentCode(const EventNameParts& a, const EventNameParts& b) {
  return (!ObservesUser(a.modifiers) && !ObservesKernel(b.modifiers)) ||
         (!ObservesKernel(a.modifiers) && !ObservesUser(b.modifiers));
}

// Sources without a name are of different profiles, or of a host that says so by giving them one
// event.
bool AddUp(const SourceRecord& a, const SourceRecord& b) {
  if (a.event != b.event) return false;
  if (a.event_name == b.event_name) return true;
  const EventNameParts name = Split(a.event_name), other = Split(b.event_name);
  if (a.event == EventKind::kOther && name.event != other.event) return false;
  return a.event_name.empty() || b.event_name.empty() ||
         (a.kind == b.kind && name.pmu != other.pmu) || ObserveDifferentCode(name, other);
}

// Lower is better.
int RankOfSamples(const SourceRecord& source) {
  switch (source.event) {
    case EventKind::kInstructions:
      return 0;
    case EventKind::kUops:
      return 1;
    case EventKind::kCycles:
      return 2;
    case EventKind::kTaskClock:
      return 3;
    case EventKind::kCpuClock:
      return 4;
    case EventKind::kTakenBranches:
      return 5;
    case EventKind::kOther:
    case EventKind::kAuto:
      break;
  }
  return 6;
}

int RankOfStreams(const SourceRecord& source) {
  if (source.event == EventKind::kTakenBranches) return 0;
  if (CountsExecutions(SourceFamily::kStreams, source.event, source.burst_extent)) return 1;
  const int is_by_model = source.burst_extent == BurstExtent::kEvents ? 0 : 7;
  return 2 + is_by_model + RankOfSamples(source);
}

// Of sources of one event the more precise is better, and then the one that observed more.
auto FindRank(const SourceRecord& source, uint64_t samples) {
  const int rank = HasStreams(source.kind) ? RankOfStreams(source) : RankOfSamples(source);
  return std::tuple(rank, -int64_t{source.precise_ip}, !source.include_kernel,
                    UINT64_MAX - samples);
}

class Chooser {
 public:
  Chooser(std::span<const SourceRecord> sources, std::span<const uint64_t> samples)
      : sources_(sources), samples_(samples) {}

  // Returns whether a source has samples and one of the three names.
  template <typename Name>
  bool HasEvent(Name&& is_its_name) {
    matches_.assign(sources_.size(), false);
    for (size_t i = 0; i < sources_.size(); ++i) {
      matches_[i] = samples_[i] != 0 && is_its_name(sources_[i]);
    }
    return std::find(matches_.begin(), matches_.end(), true) != matches_.end();
  }

  bool FindEvent(std::string_view event) {
    return HasEvent([&](const SourceRecord& source) { return NameOf(source) == event; }) ||
           HasEvent([&](const SourceRecord& source) {
             const EventNameParts parts = Split(source.event_name);
             return parts.event == event ||
                    (!parts.pmu.empty() && Split(event).pmu == parts.pmu &&
                     Split(event).event == parts.event && Split(event).modifiers.empty());
           }) ||
           HasEvent([&](const SourceRecord& source) { return EventName(source.event) == event; });
  }

  void TakeAll() {
    HasEvent([](const SourceRecord&) { return true; });
  }

  std::vector<bool> ChooseOfMatches() const {
    std::vector<bool> counts(sources_.size());
    for (size_t i = 0; i < sources_.size(); ++i) counts[i] = samples_[i] == 0;
    for (const bool has_streams : {false, true}) {
      const std::optional<size_t> best = FindBest(has_streams);
      if (!best) continue;
      for (size_t i = 0; i < sources_.size(); ++i) {
        const bool is_of_family = HasStreams(sources_[i].kind) == has_streams;
        if (matches_[i] && is_of_family && AddUp(sources_[*best], sources_[i])) counts[i] = true;
      }
    }
    return counts;
  }

  std::string NamesOfSampled() const {
    std::string names;
    for (size_t i = 0; i < sources_.size(); ++i) {
      const std::string name(NameOf(sources_[i]));
      if (samples_[i] == 0 || names.find(name) != std::string::npos) continue;
      names += (names.empty() ? "" : ", ") + name;
    }
    return names.empty() ? "none" : names;
  }

 private:
  std::optional<size_t> FindBest(bool has_streams) const {
    std::optional<size_t> best;
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (!matches_[i] || HasStreams(sources_[i].kind) != has_streams) continue;
      if (!best ||
          FindRank(sources_[i], samples_[i]) < FindRank(sources_[*best], samples_[*best])) {
        best = i;
      }
    }
    return best;
  }

  std::span<const SourceRecord> sources_;
  std::span<const uint64_t> samples_;
  std::vector<bool> matches_;  // by source: it has samples, and may be chosen
};

}  // namespace

StatusOr<std::vector<bool>> ChooseEvents(std::span<const SourceRecord> sources,
                                         std::span<const uint64_t> samples_of_source,
                                         const std::string& event) {
  Chooser chooser(sources, samples_of_source);
  if (event.empty()) {
    chooser.TakeAll();
  } else if (!chooser.FindEvent(event)) {
    return MakeStatus(StatusCode::kNotFound,
                      "no samples of event '%s'; the profile has samples of: %s", event.c_str(),
                      chooser.NamesOfSampled().c_str());
  }
  return chooser.ChooseOfMatches();
}

}  // namespace hbbp
