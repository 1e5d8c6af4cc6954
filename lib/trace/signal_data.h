// Signal data is what the library's signals carry in si_perf_data and si_value: a cookie, the
// session, the kind of the signal and the number of the slot or sampler.
//
// Contract: plain functions without state.
#ifndef HBBP_LIB_TRACE_SIGNAL_DATA_H_
#define HBBP_LIB_TRACE_SIGNAL_DATA_H_

#include <signal.h>

#include <cstddef>
#include <cstdint>

namespace hbbp::trace {

inline constexpr uint64_t kSignalCookie = uint64_t{0x4bb9'71a5} << 32;
inline constexpr uint64_t kCookieMask = uint64_t{0xffff'ffff} << 32;
inline constexpr int kSessionShift = 24;
inline constexpr uint32_t kSessionMask = 0xff;
inline constexpr int kKindShift = 20;
inline constexpr uint32_t kKindMask = 0xf;
inline constexpr uint32_t kNumberMask = (1u << kKindShift) - 1;

enum class SignalKind : uint32_t {
  kSample = 1,
  kBreakpointHit = 2,
  kCleanUp = 3,
  kInterrupt = 4,
  kFirstSample = 5
};

constexpr uint64_t MakeSignalData(uint32_t session, SignalKind kind, uint32_t number) {
  return kSignalCookie | uint64_t{session & kSessionMask} << kSessionShift |
         uint64_t{static_cast<uint32_t>(kind)} << kKindShift | number;
}

constexpr SignalKind KindOf(uint64_t signal_data) {
  return static_cast<SignalKind>(static_cast<uint32_t>(signal_data >> kKindShift) & kKindMask);
}

// Returns, for the data of a sampler, that of an event whose first sample in a thread, if it comes
// before one of the sampler, stands for the first period of that.
constexpr uint64_t AsFirstSample(uint64_t sample_data) {
  constexpr uint64_t kKind = uint64_t{kKindMask} << kKindShift;
  return (sample_data & ~kKind) | uint64_t{static_cast<uint32_t>(SignalKind::kFirstSample)}
                                      << kKindShift;
}

// si_perf_data and si_value have the same offset in siginfo_t.
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

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_SIGNAL_DATA_H_
