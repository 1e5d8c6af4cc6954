// Parses the feature BPF_PROG_INFO of a recording: the code of the BPF programs that were loaded
// when perf started, or later, as the JIT of the kernel made it.
#ifndef HBBP_LIB_PERF_DATA_BPF_PROGRAMS_H_
#define HBBP_LIB_PERF_DATA_BPF_PROGRAMS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "perf/byte_order.h"

namespace hbbp {

// This is a function of a BPF program; it has several if it calls its own.
struct BpfFunction {
  uint64_t address = 0;
  std::vector<uint8_t> code;

  bool operator==(const BpfFunction&) const = default;
};

// Returns false if `bytes` is not what it should be; what came before is kept. Programs whose code
// or addresses perf was not allowed to read are left out.
bool ParseBpfPrograms(std::span<const uint8_t> bytes, ByteOrder order,
                      std::vector<BpfFunction>* functions);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_BPF_PROGRAMS_H_
