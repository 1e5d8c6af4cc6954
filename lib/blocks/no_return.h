// NoReturn recognizes calls that never return, behind which control does not continue.
//
// A function never returns if it has the name of one that C, C++ or a common runtime declares so,
// or if its code has no way out: every path ends in a trap, in a loop, in a jump to such a function
// or in a call at the very end, behind which compilers put code unless the callee never returns.
#ifndef HBBP_LIB_BLOCKS_NO_RETURN_H_
#define HBBP_LIB_BLOCKS_NO_RETURN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "image/module_code.h"
#include "isa/branch_kind.h"

namespace hbbp {

// Answers depend on the code alone, and not on earlier questions. Not thread-safe. `code` must
// outlive the object.
class NoReturn {
 public:
  explicit NoReturn(const ModuleCode* code) : code_(code) {}

  // Returns whether the call `bytes` at `address`, which was decoded as `flow`, never returns.
  bool IsCall(std::span<const uint8_t> bytes, ModuleAddress address, const ControlFlow& flow);

 private:
  bool IsFunction(ModuleAddress start);
  bool HasNoWayOut(ModuleAddress start) const;
  // Returns where the code in `range` leads, or nothing if it may return.
  std::optional<std::vector<ModuleAddress>> FindExits(const AddressRange& range) const;
  bool EndsBeforePadding(ModuleAddress end) const;
  // Returns whether the instruction goes through a pointer to an imported function that never
  // returns.
  bool IsThroughImport(std::span<const uint8_t> bytes, ModuleAddress end) const;

  const ModuleCode* code_;
  std::map<ModuleAddress, bool> functions_;  // those that were asked for
};

// Returns whether a function of that (mangled) name is declared never to return. `is_import` says
// that it comes from another module: local functions may have any name that is not reserved.
bool IsNoReturnName(std::string_view name, bool is_import);

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_NO_RETURN_H_
