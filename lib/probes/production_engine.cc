#include "probes/production_engine.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace hbbp {

ProductionEngine::ProductionEngine(const ProductionSet* set, const ProductionEngineOptions& options)
    : set_(*set),
      options_(options),
      sample_freq_(options.sample_freq != 0 ? options.sample_freq : set->settings().sample_freq),
      burst_length_(options.burst_length != 0 ? options.burst_length
                                              : set->settings().burst_length),
      firings_(set->productions().size()),
      calls_(set->tables().size()),
      unknown_(set->tables().size()) {
  for (const ProbeTable& table : set->tables()) {
    counts_.emplace_back(table.kind == TableKind::kCount ? options.max_rows : 0);
    traces_.emplace_back(table.kind == TableKind::kTrace ? options.max_symbols : 0);
  }
  if (options.is_exhaustive) return;
  for (size_t i = 0; i < set->productions().size(); ++i) {
    const Production& production = set->productions()[i];
    if (production.counts_sample || production.counts_burst || production.resets ||
        production.stops_burst || production.burst_extension != 0) {
      control_ |= uint64_t{1} << i;
    }
  }
}

void ProductionEngine::Match(const InstructionEvent& event, uint64_t fires, uint64_t may_fire,
                             uint32_t thread, BurstState* state) {
  const KnownValues values(set_.taxonomies(), event, *state);
  uint64_t fired = fires;
  for (uint64_t rest = may_fire; rest != 0; rest &= rest - 1) {
    const int production = std::countr_zero(rest);
    const Expression& condition = set_.productions()[production].condition;
    const bool holds = event.unknown == 0 ? condition.Matches(values)
                                          : condition.Decide(values) == Expression::Decision::kYes;
    if (holds) fired |= uint64_t{1} << production;
  }
  const ProbedInstruction& instruction = *event.instruction;
  const size_t without_flag = BurstState::FlagsFrom(false, state->burst_flag);
  const uint64_t fires_without_flag =
      instruction.fires[without_flag] | instruction.may_fire[without_flag];
  bool stops = false;
  for (uint64_t rest = fired; rest != 0; rest &= rest - 1) {
    const int production = std::countr_zero(rest);
    ++firings_[production];
    const Firing firing = {event, *state, thread, static_cast<uint32_t>(production),
                           (fires_without_flag >> production & 1) == 0};
    for (const ProbeAction& action : set_.productions()[production].actions) {
      stops |= Record(action, firing);
    }
  }
  stops &= !options_.is_exhaustive;
  if ((fired & control_) != 0 || stops) Advance(fired & control_, stops, state);
}

bool ProductionEngine::Record(const ProbeAction& action, const Firing& firing) {
  const InstructionEvent& event = firing.event;
  const EventValues values(set_.taxonomies(), event, firing.state);
  const TableKind kind = set_.tables()[action.table].kind;
  ProbeRow row{};
  ProbeKeySet unknown = 0;
  for (size_t i = 0; i < action.fields.size(); ++i) {
    unknown |= event.unknown & SetOf(action.fields[i]);
    row[i] = values.NumberOf(action.fields[i]);
  }
  if (unknown != 0) {
    ++unknown_[action.table].records;
    unknown_[action.table].fields |= unknown;
  }
  if (kind == TableKind::kCall) return Call(action, firing, row);
  if (unknown != 0) {
    // What comes next did not follow what came before.
    if (kind == TableKind::kTrace) traces_[action.table].EndThread(firing.thread);
    return false;
  }
  if (kind == TableKind::kTrace) {
    traces_[action.table].Append(row, firing.thread, firing.state.bursts);
  } else if (is_in_sampled_burst_) {
    of_burst_.push_back({row, action.table, firing.needs_flag});
  } else {
    counts_[action.table].Add(row);
  }
  return false;
}

bool ProductionEngine::Call(const ProbeAction& action, const Firing& firing, const ProbeRow& row) {
  if (!options_.handler) return false;
  ++calls_[action.table];
  ProbeCall call = {firing.event, firing.production, action.table, row};
  for (size_t i = 0; i < action.fields.size(); ++i) {
    if ((firing.event.unknown & SetOf(action.fields[i])) == 0) continue;
    call.unknown |= 1u << i;
    call.values[i] = 0;
  }
  return options_.handler(call);
}

BurstState ProductionEngine::BeginBurst() {
  is_in_sampled_burst_ = true;
  of_burst_.clear();
  BurstState state;
  state.sample_flag = true;
  state.bursts = ++bursts_;
  return state;
}

void ProductionEngine::EndBurst(const RecordWeights& weights) {
  for (const WeightlessRecord& record : of_burst_) {
    counts_[record.table].Add(record.row, record.needs_flag ? weights.in_burst : weights.always);
  }
  of_burst_.clear();
  is_in_sampled_burst_ = false;
}

void ProductionEngine::Advance(uint64_t fired, bool stops, BurstState* state) {
  bool resets = false;
  for (uint64_t rest = fired; rest != 0; rest &= rest - 1) {
    const Production& production = set_.productions()[std::countr_zero(rest)];
    if (production.counts_sample && !state->sample_flag) {
      if (++state->sample_counter >= sample_freq_) {
        state->sample_flag = true;
        ++state->bursts;
        ++bursts_;
      }
    }
    if (production.counts_burst) ++state->burst_counter;
    state->burst_extension += std::min(
        production.burst_extension, std::numeric_limits<uint64_t>::max() - state->burst_extension);
    stops |= production.stops_burst;
    resets |= production.resets;
  }
  if (stops || (state->burst_counter >= burst_length_ &&
                state->burst_counter - burst_length_ >= state->burst_extension)) {
    state->burst_flag = true;
  }
  if (resets) {
    const uint64_t bursts = state->bursts;
    *state = {};
    state->bursts = bursts;
  }
}

}  // namespace hbbp
