// XsaveLayout computes how many bytes the xsave instructions write.
//
// Contract: call Find outside signal handlers, because it executes CPUID once, which is slow where
// a hypervisor traps it; the object is constant afterwards.
#ifndef HBBP_LIB_TRACE_INTERPRETER_XSAVE_LAYOUT_H_
#define HBBP_LIB_TRACE_INTERPRETER_XSAVE_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace hbbp::trace {

struct XsaveLayout {
  static constexpr unsigned kComponents = 63;

  uint64_t enabled = 0;  // XCR0, or 0 without xsave
  uint64_t aligned = 0;  // components that begin at a multiple of 64 in the compacted format
  uint32_t offset[kComponents] = {};  // offsets in the standard format
  uint32_t size[kComponents] = {};

  void Find();
  // Returns the bytes from the start of the area to the end of the last of these components.
  size_t AreaBytes(uint64_t components, bool is_compacted) const;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_XSAVE_LAYOUT_H_
