// CpuFeatures says which instruction sets the processor and the kernel let a stub use.
//
// Contract: DetectCpuFeatures executes CPUID once, which is slow in a virtual machine: call it
// outside signal handlers. The other functions are async-signal-safe.
#ifndef HBBP_LIB_TRACE_NATIVE_CPU_FEATURES_H_
#define HBBP_LIB_TRACE_NATIVE_CPU_FEATURES_H_

#include <cstdint>

namespace hbbp::trace {

struct CpuFeatures {
  uint64_t runnable_sets[4];  // one bit for each ZydisISASet
  bool avx512vl;
  bool avx512bw;
  bool lahf;

  bool CanRun(unsigned isa_set) const {
    return isa_set < 256 && (runnable_sets[isa_set / 64] >> (isa_set % 64) & 1) != 0;
  }
};

CpuFeatures DetectCpuFeatures();

// Returns whether a set has ordinary instructions, which compute with registers and at most one
// memory operand. Stubs are made only for such sets, if the processor has them.
bool IsOrdinarySet(unsigned isa_set);

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_NATIVE_CPU_FEATURES_H_
