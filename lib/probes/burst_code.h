// BurstCode decodes the code of profiles for productions, each instruction once for a profile, and
// lists the instructions of streams: the code from the target of a taken branch to the next one.
//
// Productions see addresses of code as one number, but addresses in different modules may be equal.
// So a code number stands for an address in a module:
//
//   (number of the module in BurstModules + 1) << 48 | the lower 48 bits of the address
//
// Differences in a module are those of addresses. Whether a branch from one module to another goes
// backward is decided by their numbers, as a profile does not know where modules were mapped.
#ifndef HBBP_LIB_PROBES_BURST_CODE_H_
#define HBBP_LIB_PROBES_BURST_CODE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/resolved_modules.h"
#include "base/address.h"
#include "blocks/stream_walk.h"
#include "probes/burst_modules.h"
#include "probes/memory_operand.h"
#include "probes/production_set.h"
#include "probes/written_registers.h"

namespace hbbp {

// Stands for an unknown address.
inline constexpr uint64_t kNoCodeNumber = 0;

struct BurstInstruction {
  ProbedInstruction instruction;
  MemoryOperand memory;
  RegisterSet written_registers = 0;  // if productions use registers
  bool is_instruction = false;
};

struct BurstStream {
  StreamFault fault = StreamFault::kNone;
  std::vector<const BurstInstruction*> instructions;  // none if there is a fault
};

// What is known of a code number.
struct BurstCodeLocation {
  bool is_known = false;        // else the other fields are unknown
  uint32_t module = kNoModule;  // in the current profile, if that has it
  std::string path;             // of the module
  ModuleAddress address;        // the offset in the file if the module has no code
  ModuleAddress function;       // its start; 0: unknown
  std::string function_name;    // as in the symbol table; empty: unknown
};

// Const functions may be called by any thread.
class BurstCode {
 public:
  // The set must outlive this object.
  explicit BurstCode(const ProductionSet* set) : set_(*set) {}

  // Makes a profile the current one. What was decoded before is gone.
  void Use(std::shared_ptr<const ResolvedModules> modules);

  // Returns the number of an offset of the current profile, or kNoCodeNumber if the module is
  // unknown.
  uint64_t Number(uint32_t module, uint64_t offset) const;
  BurstCodeLocation Locate(uint64_t number) const;

  // Returns the instructions from `start` to the branch at `end`. The pointers live until Use.
  BurstStream FindStream(uint64_t start, uint64_t end);

 private:
  const BurstInstruction& Decode(const BurstModules::Location& module, uint64_t number);

  const ProductionSet& set_;
  BurstModules modules_;
  std::shared_ptr<const ResolvedModules> current_;
  std::unordered_map<uint64_t, BurstInstruction> instructions_;
  std::unordered_set<std::string> names_;  // that instructions refer to
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_BURST_CODE_H_
