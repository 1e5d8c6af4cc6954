// What both halves of the tracer must agree on: the layout of signal data and of its memory.
//
// Contract: plain functions without state.
#ifndef HBBP_LIB_TRACE_TRACER_LAYOUT_H_
#define HBBP_LIB_TRACE_TRACER_LAYOUT_H_

#include <signal.h>

#include <cstddef>
#include <cstdint>

#include "trace/interpreter/look_ahead.h"

namespace hbbp::trace {

// si_perf_data and si_value: cookie, session, kind of the signal, number of the slot or sampler.
inline constexpr uint64_t kSignalCookie = uint64_t{0x4bb9'71a5} << 32;
inline constexpr uint64_t kCookieMask = uint64_t{0xffff'ffff} << 32;
inline constexpr int kSessionShift = 24;
inline constexpr uint32_t kSessionMask = 0xff;
inline constexpr int kKindShift = 20;
inline constexpr uint32_t kKindMask = 0xf;
inline constexpr uint32_t kNumberMask = (1u << kKindShift) - 1;

inline constexpr size_t kAlternateStackBytes = 32 * 1024;
inline constexpr uint32_t kBuffersPerThread = 2;

// In siginfo_t, si_perf_data and si_value lie at the same place.
inline constexpr size_t kSignalDataOffset = 24;
inline constexpr size_t kPerfFlagsOffset = 36;

inline uint64_t SignalDataOf(const siginfo_t& info) {
  uint64_t data;
  __builtin_memcpy(&data, reinterpret_cast<const char*>(&info) + kSignalDataOffset, sizeof(data));
  return data;
}

inline void SetSignalData(siginfo_t* info, uint64_t data) {
  __builtin_memcpy(reinterpret_cast<char*>(info) + kSignalDataOffset, &data, sizeof(data));
}

inline size_t LookAheadStride() {
  return (LookAhead::Size() + LookAhead::Alignment() - 1) & ~(LookAhead::Alignment() - 1);
}

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_TRACER_LAYOUT_H_
