#include "probes/satisfiable.h"

#include <map>
#include <vector>

#include "probes/production_keys.h"

namespace hbbp {
namespace {

// Trials, times the size of the condition: some ten milliseconds.
constexpr uint64_t kMaxSteps = 2048;

// A combination of values that an execution may have.
struct Trial {
  const std::map<uint32_t, uint64_t>* numbers;  // by id, of keys that are independent
  const EventValues* flags;

  bool Knows(uint32_t id) const { return !IsProbeKeyId(id) || IsKnown(ProbeKeyFromId(id)); }
  static bool IsKnown(ProbeKey key) {
    return !IsText(key) && key != ProbeKey::kEntry && key != ProbeKey::kPathEnd;
  }
  uint64_t NumberOf(uint32_t id) const {
    const auto found = numbers->find(id);
    return found != numbers->end() ? found->second : flags->NumberOf(id);
  }
  template <typename Fits>
  bool AnyText(uint32_t, uint32_t, Fits&&) const {
    return false;
  }
};

// Calls `try_one` with one event for each combination of classes, until it returns true.
template <typename Function>
bool AnyClasses(const Function& try_one) {
  constexpr uint64_t kPc = 1000;
  for (auto kind = BranchKind::kNone; kind <= BranchKind::kTrap;
       kind = static_cast<BranchKind>(static_cast<int>(kind) + 1)) {
    for (const MemoryAccess memory : {MemoryAccess::kNone, MemoryAccess::kRead,
                                      MemoryAccess::kWrite, MemoryAccess::kReadWrite}) {
      for (const uint64_t target : {kPc - 1, kPc + 100}) {
        for (const uint64_t next : {target, kPc + 2}) {
          ProbedInstruction instruction;
          instruction.pc = kPc;
          instruction.flow.kind = kind;
          instruction.flow.length = 2;
          instruction.flow.has_target = kind == BranchKind::kConditional ||
                                        kind == BranchKind::kJump || kind == BranchKind::kCall;
          instruction.flow.target = target;
          instruction.properties.memory = memory;
          InstructionEvent event;
          event.instruction = &instruction;
          event.next = next;
          for (size_t flags = 0; flags < kFlagStates; ++flags) {
            BurstState state;
            state.sample_flag = (flags & 1) != 0;
            state.burst_flag = (flags & 2) != 0;
            if (try_one(EventValues({}, event, state))) return true;
          }
        }
      }
    }
  }
  return false;
}

// `memory` is both a property and what the classes of memory follow from.
constexpr uint32_t kMemoryId = static_cast<uint32_t>(Property::kMemory);

// Numbers are independent of everything, and so are all properties but that one.
bool IsIndependent(uint32_t id) {
  return IsProbeKeyId(id) ? ProbeKeyFromId(id) < ProbeKey::kInsn : id != kMemoryId;
}

}  // namespace

bool IsSatisfiable(const Expression& condition) {
  std::vector<uint32_t> ids;
  std::vector<std::vector<uint64_t>> values;
  uint64_t trials = 1;
  for (const uint32_t id : condition.KeyIds()) {
    if (!IsIndependent(id)) continue;
    ids.push_back(id);
    values.push_back(condition.RepresentativeValues(id));
    trials *= values.back().size();
    if (trials * condition.Size() > kMaxSteps) return true;
  }
  std::map<uint32_t, uint64_t> numbers;
  for (uint64_t trial = 0; trial < trials; ++trial) {
    uint64_t rest = trial;
    for (size_t i = 0; i < ids.size(); ++i) {
      numbers[ids[i]] = values[i][rest % values[i].size()];
      rest /= values[i].size();
    }
    if (AnyClasses([&](const EventValues& flags) {
          return condition.Decide(Trial{&numbers, &flags}) != Expression::Decision::kNo;
        })) {
      return true;
    }
  }
  return false;
}

}  // namespace hbbp
