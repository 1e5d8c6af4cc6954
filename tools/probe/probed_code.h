// ProbedCode decodes the instructions of a process for productions, each once, and remembers which
// files were mapped where.
#ifndef HBBP_TOOLS_PROBE_PROBED_CODE_H_
#define HBBP_TOOLS_PROBE_PROBED_CODE_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "count/executable_mappings.h"
#include "probes/memory_operand.h"
#include "probes/production_set.h"
#include "truth/instruction_kind.h"

namespace hbbp::tools {

// What is known of a code address after the process has ended.
struct CodeLocation {
  const CountedModule* module = nullptr;  // null: unknown
  uint64_t address = 0;                   // in the module; of the process if that is unknown
  uint64_t function = 0;                  // start of the function, in the same terms; 0: unknown
};

class ProbedCode {
 public:
  struct Entry {
    ProbedInstruction instruction;
    MemoryOperand memory;
    InstructionKind kind = InstructionKind::kOrdinary;
    bool is_instruction = false;
    bool may_change = false;  // no file backs the code
  };

  // The set and the modules must outlive this object. `is_current` is of a stream that is behind
  // the process: it returns whether the process still executes the program of the stream. Then code
  // is that of the files that are mapped, and what is read from the process counts only if it
  // returns true afterwards.
  ProbedCode(pid_t pid, const ProductionSet* set, CountedModules* modules,
             std::function<bool()> is_current = nullptr)
      : pid_(pid), set_(*set), is_current_(std::move(is_current)), mappings_(pid, modules) {}

  // Decodes the instruction if it is not known, or was generated. The entry is valid until Unmap.
  const Entry& Decode(uint64_t address);
  // Returns what Decode returned last for the address.
  const Entry& At(uint64_t address) {
    const auto found = entries_.find(address);
    return found != entries_.end() ? found->second : Decode(address);
  }

  void Unmap(uint64_t start, uint64_t size) {
    if (mappings_.Overlap(start, size)) UnmapAll();
  }
  void UnmapAll() {
    entries_.clear();
    mappings_.Clear();
  }

  // Of any address in a mapping where an instruction was decoded, executed or not.
  CodeLocation LocationOf(uint64_t address) const;

 private:
  // What was mapped from the key of known_ to `end`, also where it is gone.
  struct KnownMapping {
    uint64_t end = 0;
    MappedModule mapped;
  };

  bool IsCurrent() const { return is_current_ == nullptr || is_current_(); }
  void Fill(uint64_t address, std::span<const uint8_t> code, Entry* entry);
  void ReadMappings();
  void Remember(const MappedModule& mapped);
  // Makes `address` a border of known mappings.
  void Split(uint64_t address);

  pid_t pid_;
  const ProductionSet& set_;
  std::function<bool()> is_current_;
  ExecutableMappings mappings_;
  std::unordered_map<uint64_t, Entry> entries_;
  std::map<uint64_t, KnownMapping> known_;  // by start
  std::unordered_set<std::string> names_;   // that instructions refer to
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_PROBED_CODE_H_
