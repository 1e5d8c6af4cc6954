// CallGraph sorts what control did into jumps inside of a function and calls from one function to
// another, as callgrind does, and estimates what each call cost (call_costs.h).
//
// A call is a branch to the start of another function, whether it is a call instruction or a jump
// (a tail call); a call instruction may call its own function, too. A jump from one function into
// the middle of another one, which is how parts of functions are entered, is a call, unless it goes
// back from a part (f.cold) to its function.
//
// Direct calls and jumps are as many as their block was executed; conditional and indirect ones are
// as many as taken branches of the profile. So a profile of samples alone has direct calls only,
// and those of stubs of the linker, f@plt, which jump to the function of that name.
//
// What runs for long is often called once, by code that no sample and no burst has seen. Therefore
// a function (or cycle) without callers gets the only one that calls it directly in the code of the
// program. Where there are several, and where a function was entered significantly more often than
// it was called, callers remain unknown. (To take the only one of several that was seen to run is
// wrong more often than right where few bursts see much code, as in a compiler.) All that a program
// does is done by its function main, so that main calls them, by a function "<spontaneous>", as
// gprof names such callers. Without one main function, they are left out.
#ifndef HBBP_LIB_EXPORT_CALL_GRAPH_H_
#define HBBP_LIB_EXPORT_CALL_GRAPH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/function_records.h"
#include "base/address.h"
#include "export/export_subject.h"

namespace hbbp {

enum class TransferKind : uint8_t { kJump, kConditionalJump, kCall };

struct ControlTransfer {
  TransferKind kind = TransferKind::kJump;
  uint32_t from_module = kNoIndex;
  uint32_t to_module = kNoIndex;
  ModuleAddress from;
  ModuleAddress to;
  uint32_t caller = kNoIndex;  // the functions, by their indices in the graph
  uint32_t callee = kNoIndex;  // that of the jump, if it is one
  double count = 0;
  double instructions = 0;  // of a call: with all that it called
};

inline constexpr char kSpontaneous[] = "<spontaneous>";

struct CallGraph {
  // Those of the analysis, with the same indices, then those that no sample and no burst has seen.
  std::vector<FunctionRecord> functions;
  std::vector<ControlTransfer> transfers;  // by origin and target

  // Returns those of an instruction.
  std::span<const ControlTransfer> From(uint32_t module, ModuleAddress address) const;
};

// Makes the graph of the modules of the subject. Throws WorkCancelled.
CallGraph MakeCallGraph(const ExportSubject& subject);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_CALL_GRAPH_H_
