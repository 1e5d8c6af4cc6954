// Native stubs execute instructions for which the interpreter has no handler.
//
// A stub loads the registers that the instruction reads from a MachineState, executes the
// instruction with its memory operand redirected to MachineState::operand, and stores what it
// wrote. So the results are exact, including rounding and denormals by MXCSR, and no model of some
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
// room in `region` (may be nullptr), makes a stub for it or finds the stub of an equal instruction.
// Returns false if not even its effects are known, so that the caller has to stop there: privileged
// and system instructions, far transfers, scatters, xsave and its variants, loads of segment
// registers, stores with an address-size prefix. The interpreter has handlers for branches, push,
// pop, call, ret, leave, enter, string instructions, div and idiv, and never calls it for them.
bool DescribeNative(const uint8_t* code, size_t size, uint64_t address, NativeRegion* region,
                    NativeInstruction* instruction);

// NativeRegion is the memory for stubs: an unnamed file mapped twice, once writable and once
// executable, never both at one address. It has a fixed size, is filled lock-free, and is never
// emptied while in use. A child process shares it with its parent.
class NativeRegion {
 public:
  // Returns nullptr if the system forbids executable mappings (SELinux, vm.memfd_noexec, limits):
  // then results of these instructions are unknown and cost a breakpoint where they decide a
  // branch. Create and Destroy are not async-signal-safe.
  static NativeRegion* Create(size_t bytes);
  static void Destroy(NativeRegion* region);

  size_t used_bytes() const;
  bool Contains(uint64_t address) const;  // whether the address is in the executable mapping

  // DescribeNative calls these.
  using Stub = void (*)(MachineState*);
  const CpuFeatures& features() const { return features_; }
  // Returns nullptr if there is none.
  Stub Find(const RewrittenInstruction& key) const;
  // Returns nullptr if there is no room. If another thread was faster, returns its stub.
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
