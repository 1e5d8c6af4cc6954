// Tests which sources count when a recording samples several events.
#include "estimate/event_choice.h"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

struct NamedEvent {
  EventKind event;
  std::string name = {};
  SourceKind kind = SourceKind::kEbs;
  uint64_t samples = 100;
  uint32_t precise_ip = 0;
};

std::vector<bool> Choose(const std::vector<NamedEvent>& events, const std::string& asked = "") {
  std::vector<SourceRecord> sources;
  std::vector<uint64_t> samples;
  for (const NamedEvent& event : events) {
    SourceRecord& source = sources.emplace_back();
    source.kind = event.kind;
    source.event = event.event;
    source.event_name = event.name;
    source.precise_ip = event.precise_ip;
    samples.push_back(event.samples);
  }
  StatusOr<std::vector<bool>> chosen = ChooseEvents(sources, samples, asked);
  return chosen.ok() ? *std::move(chosen) : std::vector<bool>();
}

using Chosen = std::vector<bool>;

TEST_CASE("instructions count before cycles, and these before clocks") {
  constexpr EventKind kInstructions = EventKind::kInstructions, kCycles = EventKind::kCycles,
                      kClock = EventKind::kTaskClock;
  CHECK(Choose({{kClock}, {kCycles}, {kInstructions}}) == Chosen{false, false, true});
  CHECK(Choose({{kCycles}, {kClock}}) == Chosen{true, false});
  CHECK(Choose({{EventKind::kCpuClock}, {kClock}}) == Chosen{false, true});
  CHECK(Choose({{EventKind::kOther, "cache-misses"}, {kClock}}) == Chosen{false, true});
  CHECK(Choose({{EventKind::kOther, "cache-misses"}, {EventKind::kOther, "page-faults"}}) ==
        Chosen{true, false});
}

TEST_CASE("each family of sources has an event of its own") {
  constexpr SourceKind kLbr = SourceKind::kLbr;
  CHECK(Choose({{EventKind::kCycles, "cycles"},
                {EventKind::kCycles, "cycles", kLbr},
                {EventKind::kTakenBranches, "branches:taken", kLbr},
                {EventKind::kInstructions, "instructions"}}) == Chosen{false, false, true, true});
}

TEST_CASE("an event without samples is not chosen") {
  CHECK(Choose({{EventKind::kInstructions, "instructions", SourceKind::kEbs, 0},
                {EventKind::kCycles, "cycles"}}) == Chosen{true, true});
  CHECK(Choose({{EventKind::kInstructions, "instructions", SourceKind::kEbs, 0},
                {EventKind::kCycles, "cycles"}},
               "instructions") == Chosen());
}

TEST_CASE("sources of one event add up if they observed different code") {
  constexpr EventKind kCycles = EventKind::kCycles;
  CHECK(Choose({{kCycles, "cycles:u"}, {kCycles, "cycles:k"}}) == Chosen{true, true});
  CHECK(Choose({{kCycles, "cycles:u"}, {kCycles, "cycles:uk"}}) == Chosen{true, false});
  CHECK(Choose({{kCycles, "cpu_core/cycles/u"}, {kCycles, "cpu_atom/cycles/u"}}) ==
        Chosen{true, true});
  CHECK(Choose({{kCycles, "cycles"}, {kCycles, ""}}) == Chosen{true, true});
  CHECK(Choose({{kCycles, "cycles"}, {kCycles, "ibs_op//", SourceKind::kIbs}}) ==
        Chosen{true, false});
  CHECK(Choose({{kCycles, "cycles:u"}, {kCycles, "cycles:ppu", SourceKind::kEbs, 9, 2}}) ==
        Chosen{false, true});
}

TEST_CASE("an event is asked for by its name with or without modifiers") {
  const std::vector<NamedEvent> events = {{EventKind::kInstructions, "instructions:u"},
                                          {EventKind::kCycles, "cpu_core/cycles/u"},
                                          {EventKind::kOther, "cache-misses:u"}};
  CHECK(Choose(events, "instructions:u") == Chosen{true, false, false});
  CHECK(Choose(events, "instructions") == Chosen{true, false, false});
  CHECK(Choose(events, "cycles") == Chosen{false, true, false});
  CHECK(Choose(events, "cpu_core/cycles/") == Chosen{false, true, false});
  CHECK(Choose(events, "cache-misses") == Chosen{false, false, true});
  CHECK(Choose(events, "cache") == Chosen());
  CHECK(Choose({{EventKind::kInstructions}, {EventKind::kTaskClock}}, "task-clock") ==
        Chosen{false, true});
}

}  // namespace
}  // namespace hbbp
