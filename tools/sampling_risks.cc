#include "sampling_risks.h"

#include <string>
#include <string_view>

namespace hbbp::tools {
namespace {

// What `hbbp record` takes if no source and no event are asked for, and what was found out of it.
struct DefaultSampling {
  enum Source { kNone, kBranchRecords, kBursts, kSamples };
  Source source = kNone;
  bool has_timers = false;     // of bursts: nothing but timers begins them
  bool is_by_counter = false;  // a counter of the PMU takes the samples of instructions
  int precise_ip = 0;          // of these
};

class Machine {
 public:
  explicit Machine(const std::vector<hbbp_capability>& capabilities)
      : capabilities_(capabilities) {}

  bool Has(std::string_view name) const {
    const hbbp_capability* const found = Find(name);
    return found != nullptr && found->state == HBBP_CAPABILITY_SUPPORTED;
  }
  // Returns whether the capability is there and its detail begins so, or contains it.
  bool DetailBegins(std::string_view name, std::string_view text) const {
    return Has(name) && std::string_view(Find(name)->detail).starts_with(text);
  }
  bool DetailHas(std::string_view name, std::string_view text) const {
    return Has(name) && std::string_view(Find(name)->detail).find(text) != std::string_view::npos;
  }

 private:
  const hbbp_capability* Find(std::string_view name) const {
    for (const hbbp_capability& capability : capabilities_) {
      if (capability.name == name) return &capability;
    }
    return nullptr;
  }

  const std::vector<hbbp_capability>& capabilities_;
};

DefaultSampling FindDefault(const Machine& machine) {
  DefaultSampling found;
  // Where switches are expensive, the detail says that the default is a clock.
  found.is_by_counter = machine.Has("hardware_instructions") &&
                        !machine.DetailHas("hardware_instructions", "the default is task-clock");
  for (int precise_ip = 1; precise_ip <= 3 && found.is_by_counter; ++precise_ip) {
    const std::string detail = "precise_ip " + std::to_string(precise_ip);
    if (machine.DetailBegins("precise_instructions", detail)) found.precise_ip = precise_ip;
  }
  if (machine.Has("branch_stack")) {
    found.source = DefaultSampling::kBranchRecords;
  } else if (machine.Has("branch_tracing")) {
    found.source = DefaultSampling::kBursts;
    found.has_timers = machine.DetailBegins("branch_tracing", "timers");
  } else if (found.is_by_counter || machine.Has("task_clock")) {
    found.source = DefaultSampling::kSamples;
  }
  return found;
}

MachineLimit Resonance(const DefaultSampling& sampling) {
  MachineLimit row{"against_resonance", "supported", "", ""};
  if (sampling.has_timers) {
    row.state = "missing";
    row.detail =
        "bursts begin at ticks of the kernel: code that runs in step with them, as what a coarse "
        "sleep wakes, is found too often or too rarely";
    row.advice = "perf events, as said of branch_tracing";
    return row;
  }
  const bool is_drawn = sampling.source == DefaultSampling::kBursts;
  row.detail = is_drawn ? "periods are drawn at random, so that no loop keeps step with them"
                        : "periods are primes, so that few loops keep step with them";
  row.advice = is_drawn ? "leave --period-mode alone; -e task-clock keeps it so in a program of "
                          "many context switches, which gets timers"
                        : "for a program that repeats itself exactly, --period-mode random";
  return row;
}

MachineLimit Skid(const DefaultSampling& sampling) {
  const bool is_precise = sampling.precise_ip != 0;
  const std::string precise = "precise (precise_ip " + std::to_string(sampling.precise_ip) + ")";
  MachineLimit row{"against_skid", "supported", "", ""};
  switch (sampling.source) {
    case DefaultSampling::kBursts:
      row.detail = "bursts are of taken branches, which do not skid; only where they begin does";
      if (sampling.is_by_counter && !is_precise) {
        row.advice = "samples of --source ebs lie behind what they are of: sums over functions";
      }
      return row;
    case DefaultSampling::kBranchRecords:
      row.detail = is_precise ? "branch records do not skid, and samples are " + precise
                              : "branch records do not skid; the samples next to them do";
      return row;
    default:
      break;
  }
  if (is_precise) {
    row.detail = "samples are " + precise;
  } else if (!sampling.is_by_counter) {
    row.detail = "samples of a clock are where it found the program";
  } else {
    row.state = "missing";
    row.detail = "samples of instructions are not precise: they lie behind what they are of";
    row.advice = "what branch_stack or branch_tracing need, or sums over functions";
  }
  return row;
}

MachineLimit Shadow(const DefaultSampling& sampling) {
  constexpr int kDistributed = 3;
  MachineLimit row{"against_shadow", "supported", "", ""};
  switch (sampling.source) {
    case DefaultSampling::kBursts:
      row.detail = "bursts have each branch, also behind slow instructions";
      return row;
    case DefaultSampling::kBranchRecords:
      row.detail = "branch records have each branch, also behind slow instructions";
      return row;
    default:
      break;
  }
  if (sampling.precise_ip == kDistributed) {
    row.detail = "samples are distributed among instructions that retire together";
    return row;
  }
  row.state = "missing";
  row.detail = sampling.is_by_counter
                   ? "of instructions that retire together behind a slow one most are never sampled"
                   : "a clock samples what waits: slow instructions have more samples than they "
                     "run, and those behind them fewer";
  row.advice = "what branch_stack or branch_tracing need, or sums over functions";
  return row;
}

}  // namespace

std::vector<MachineLimit> FindSamplingRisks(const std::vector<hbbp_capability>& capabilities) {
  const DefaultSampling sampling = FindDefault(Machine(capabilities));
  if (sampling.source != DefaultSampling::kNone) {
    return {Resonance(sampling), Skid(sampling), Shadow(sampling)};
  }
  std::vector<MachineLimit> unknown;
  for (const char* name : {"against_resonance", "against_skid", "against_shadow"}) {
    unknown.push_back({name, "unknown", "there is nothing to sample by", ""});
  }
  return unknown;
}

}  // namespace hbbp::tools
