// BurstCode decodes the code of a profile for productions, each instruction once, and lists the
// instructions of streams: the code from the target of a taken branch to the next one.
//
// Productions see addresses of code as one number, but addresses in different modules may be equal.
// So a code number stands for an address in a module:
//
//   (index of the module in the profile + 1) << 48 | the lower 48 bits of the address
//
// Differences in a module are those of addresses. Whether a branch from one module to another goes
// backward is decided by their indices, as a profile does not know where modules were mapped.
#ifndef HBBP_LIB_PROBES_BURST_CODE_H_
#define HBBP_LIB_PROBES_BURST_CODE_H_

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/resolved_modules.h"
#include "base/address.h"
#include "blocks/stream_walk.h"
#include "probes/memory_operand.h"
#include "probes/production_set.h"

namespace hbbp {

// Stands for an unknown address.
inline constexpr uint64_t kNoCodeNumber = 0;

struct BurstInstruction {
  ProbedInstruction instruction;
  MemoryOperand memory;
  bool is_instruction = false;
};

struct BurstStream {
  StreamFault fault = StreamFault::kNone;
  std::vector<const BurstInstruction*> instructions;  // none if there is a fault
};

// What is known of a code number.
struct BurstCodeLocation {
  uint32_t module = kNoModule;  // the other fields are unknown then
  std::string path;             // of the module
  ModuleAddress address;        // the offset in the file if the module has no code
  ModuleAddress function;       // its start; 0: unknown
  std::string function_name;    // as in the symbol table; empty: unknown
};

// It is not thread-safe.
class BurstCode {
 public:
  // Both must outlive this object.
  BurstCode(const ResolvedModules* modules, const ProductionSet* set)
      : modules_(*modules), set_(*set) {}

  // Returns the number of an offset of the profile, or kNoCodeNumber if the module is unknown.
  uint64_t Number(uint32_t module, uint64_t offset) const;
  BurstCodeLocation Locate(uint64_t number) const;

  // Returns the instructions from `start` to the branch at `end`. The pointers live as long as this
  // object.
  BurstStream FindStream(uint64_t start, uint64_t end);

 private:
  const BurstInstruction& Decode(uint32_t module, uint64_t number);

  const ResolvedModules& modules_;
  const ProductionSet& set_;
  std::unordered_map<uint64_t, BurstInstruction> instructions_;
  std::unordered_set<std::string> names_;  // that instructions refer to
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_BURST_CODE_H_
