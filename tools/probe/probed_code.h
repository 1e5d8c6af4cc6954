// ProbedCode decodes the instructions of a process for productions, each once, and remembers where
// they were.
#ifndef HBBP_TOOLS_PROBE_PROBED_CODE_H_
#define HBBP_TOOLS_PROBE_PROBED_CODE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "count/executable_mappings.h"
#include "probes/memory_operand.h"
#include "probes/production_set.h"
#include "truth/instruction_kind.h"

namespace hbbp::tools {

// What is known of a code address after the process has ended.
struct CodeLocation {
  const CountedModule* module = nullptr;  // null: unknown
  uint64_t address = 0;                   // in the module, or else of the process
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

  // The set and the modules must outlive this object.
  ProbedCode(pid_t pid, const ProductionSet* set, CountedModules* modules)
      : pid_(pid), set_(*set), mappings_(pid, modules) {}

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

  CodeLocation LocationOf(uint64_t address) const;

 private:
  void Fill(uint64_t address, Entry* entry);

  pid_t pid_;
  const ProductionSet& set_;
  ExecutableMappings mappings_;
  std::unordered_map<uint64_t, Entry> entries_;
  // Of every instruction that was decoded, also where the code is gone.
  std::unordered_map<uint64_t, CodeLocation> locations_;
  std::unordered_set<std::string> names_;  // that instructions refer to
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_PROBED_CODE_H_
