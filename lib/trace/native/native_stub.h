// Native stubs: instructions for which the interpreter has no handler run as themselves.
//
// A stub loads the registers that the instruction reads from a MachineState, executes the
// instruction with its memory operand re-pointed at MachineState::operand, and stores what it
// wrote. So the results are exact, MXCSR's rounding and denormals included, and no model of some
// thousand vector instructions is needed.
//
// Contract: async-signal-safe; any number of threads at once.
#ifndef HBBP_LIB_TRACE_NATIVE_NATIVE_STUB_H_
#define HBBP_LIB_TRACE_NATIVE_NATIVE_STUB_H_

#include <cstddef>
#include <cstdint>

#include "trace/native/cpu_features.h"
#include "trace/native/machine_state.h"
#include "trace/native/native_instruction.h"

namespace hbbp::trace {

class NativeRegion;
struct RewrittenInstruction;

// Describes the instruction at `code` (which lies at `address` in the program) and, if there is
// room in `region` (may be nullptr), makes a stub for it or finds the one that an equal
// instruction has. False: not even its effects are known (privileged and system instructions,
// far transfers, scatters, xsave and its kin, loads of segment registers, stores with an
// address-size prefix): the caller stops there. Branches are not its business.
// Never asked for: branches, push, pop, call, ret, leave, enter, string instructions, div, idiv.
bool DescribeNative(const uint8_t* code, size_t size, uint64_t address, NativeRegion* region,
                    NativeInstruction* instruction);

// Memory for stubs: a file without a name mapped twice, once writable and once executable, never
// both at one address. Fixed size, filled lock-free, never emptied while in use. A child process
// shares it with its parent.
class NativeRegion {
 public:
  // nullptr if the host forbids executable mappings of its own (SELinux, vm.memfd_noexec, limits):
  // then results of these instructions are unknown and cost a breakpoint where they decide a
  // branch. Not async-signal-safe, as Destroy.
  static NativeRegion* Create(size_t bytes);
  static void Destroy(NativeRegion* region);

  size_t used_bytes() const;
  bool Contains(uint64_t address) const;  // is it in the executable mapping?

  // For DescribeNative.
  using Stub = void (*)(MachineState*);
  const CpuFeatures& features() const { return features_; }
  // nullptr if there is none.
  Stub Find(const RewrittenInstruction& key) const;
  // nullptr if there is no room. If another thread was faster, its stub.
  Stub Add(const RewrittenInstruction& key, const uint8_t* code, size_t size);

 private:
  struct Shared;
  struct Entry;

  NativeRegion() = default;
  ~NativeRegion() = default;
  Stub StubOf(uint32_t unit) const;
  const Entry& EntryOf(uint32_t unit) const;

  uint8_t* writable_ = nullptr;  // begins with Shared
  uint8_t* executable_ = nullptr;
  size_t bytes_ = 0;
  CpuFeatures features_ = {};
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_NATIVE_STUB_H_
