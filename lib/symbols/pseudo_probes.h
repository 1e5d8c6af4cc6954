// PseudoProbes has the pseudo-probes of a module, by which clang recognizes the blocks and calls of
// a function from one build to the next (-fpseudo-probe-for-profiling).
//
//   for (const PseudoProbe& probe : probes.At(address)) {
//     const ProbedFunction& function = probes.functions()[probe.function];
//     // Probe `probe.index` of function.guid, inlined at function.call_probe of function.caller.
//   }
//
// .pseudo_probe_desc has a record for each function: its GUID (u64), the checksum of its
// control-flow graph (u64), and the size of its name (ULEB128) before the name.
//
// .pseudo_probe has a tree for each piece of code, of this function and of those inlined in it:
// GUID (u64), number of probes and of inlined functions (ULEB128), the probes, and the inlined
// functions. Each of those begins with the index of the probe that stood at the call (ULEB128), and
// then is like its caller. A probe is its index (ULEB128), a byte of flags, its address, and a
// discriminator (ULEB128) if it is flagged. The address is the distance from the probe before
// (SLEB128), or an address (u64). Before the first probe of a tree, the address is that of the
// function whose GUID the tree has. The exception is code that was split off, whose symbol has
// another name: its tree begins with a sentinel, a probe with the GUID of that name for an address.
// Up to LLVM 15, trees had no sentinels, and the first one of an object file an address.
#ifndef HBBP_LIB_SYMBOLS_PSEUDO_PROBES_H_
#define HBBP_LIB_SYMBOLS_PSEUDO_PROBES_H_

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "base/status.h"
#include "image/module_code.h"

namespace hbbp {

struct PseudoProbe {
  ModuleAddress address;
  uint32_t function = 0;  // index in functions()
  uint32_t index = 0;     // 1: the entry of the function
  uint32_t discriminator = 0;
  bool is_call = false;  // it stands at a call or a tail call
};

// A function in the code that has a symbol, or one that was inlined into it. If the compiler merged
// several inlined calls, it is unknown which one this is, and the function is one of its own.
struct ProbedFunction {
  static constexpr uint32_t kNone = UINT32_MAX;

  uint64_t guid = 0;
  uint32_t caller = kNone;  // that it was inlined into, before this one in functions()
  uint32_t call_probe = 0;
};

struct ProbeDescription {
  std::string name;  // for linking
  uint64_t checksum = 0;
};

// A symbol of a function. The range is empty if the size is unknown.
struct FunctionStart {
  uint64_t guid = 0;
  AddressRange range;
};

// Objects do not change, so any thread may call any function.
class PseudoProbes {
 public:
  // Takes the bytes of .pseudo_probe_desc and .pseudo_probe. Returns kBadFormat with the offset of
  // what cannot be read.
  static StatusOr<PseudoProbes> Read(std::span<const uint8_t> descriptions,
                                     std::span<const uint8_t> trees,
                                     std::vector<FunctionStart> starts);

  // Returns all probes by address.
  const std::vector<PseudoProbe>& all() const { return probes_; }
  std::span<const PseudoProbe> At(ModuleAddress address) const;
  const std::vector<ProbedFunction>& functions() const { return functions_; }
  // Returns null if the GUID has no description, or several that differ.
  const ProbeDescription* Describe(uint64_t guid) const;
  // Returns the description of the function that starts there, or null.
  const ProbeDescription* DescribeStart(ModuleAddress address) const;

  // Return how many trees were left out: because no symbol has the address of their code, and
  // because several symbols of the same name do.
  uint32_t trees_without_symbol() const { return trees_without_symbol_; }
  uint32_t trees_of_several_symbols() const { return trees_of_several_symbols_; }

 private:
  struct Described {
    ProbeDescription description;
    bool is_ambiguous = false;
  };
  class TreeReader;

  Status ReadDescriptions(std::span<const uint8_t> bytes);

  std::unordered_map<uint64_t, Described> descriptions_;  // by GUID
  std::vector<FunctionStart> starts_;                     // by GUID and address, each once
  std::vector<FunctionStart> described_starts_;           // by address
  std::vector<ProbedFunction> functions_;
  std::vector<PseudoProbe> probes_;
  uint32_t trees_without_symbol_ = 0;
  uint32_t trees_of_several_symbols_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_SYMBOLS_PSEUDO_PROBES_H_
