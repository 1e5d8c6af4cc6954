// Parses PERF_RECORD_SAMPLE, from bytes that need not be trusted.
//
// Fields with a length of their own are not copied: the views point into the record.
#ifndef HBBP_LIB_PERF_SAMPLE_RECORD_H_
#define HBBP_LIB_PERF_SAMPLE_RECORD_H_

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "perf/branch_stack.h"
#include "perf/record_format.h"
#include "perf/u64_view.h"

namespace hbbp {

// SampleHead has the fields up to PERF_SAMPLE_PERIOD; absent ones are 0.
struct SampleHead {
  uint16_t misc = 0;
  uint64_t ip = 0;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t time = 0;
  uint64_t addr = 0;
  uint64_t id = 0;
  uint64_t stream_id = 0;
  uint32_t cpu = 0;
  uint64_t period = 0;
};

// Returns whether a sample is of a guest or of the hypervisor, whose code is not known here.
inline bool IsOfGuest(uint16_t misc) {
  const uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
  return mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER ||
         mode == PERF_RECORD_MISC_HYPERVISOR;
}

// CounterValues is PERF_SAMPLE_READ: the counter of the event, or those of its group.
class CounterValues {
 public:
  struct Value {
    uint64_t value = 0;
    uint64_t id = 0;
    uint64_t lost = 0;
  };

  CounterValues() = default;
  // Each of the `count` values starts at a multiple of WordsPerValue and has what `read_format`
  // adds to it `first_extra` words further on.
  CounterValues(U64View words, size_t count, size_t first_extra, uint64_t read_format)
      : words_(words), count_(count), first_extra_(first_extra), read_format_(read_format) {}

  static size_t WordsPerValue(uint64_t read_format);

  size_t size() const { return count_; }
  // Precondition: index < size().
  Value operator[](size_t index) const;

  uint64_t time_enabled = 0;
  uint64_t time_running = 0;

 private:
  U64View words_;
  size_t count_ = 0;
  size_t first_extra_ = 1;
  uint64_t read_format_ = 0;
};

struct Registers {
  uint64_t abi = 0;  // PERF_SAMPLE_REGS_ABI_*
  U64View values;    // one for each bit of the event's mask, none if the ABI is NONE
};

// SampleTail has the fields after PERF_SAMPLE_PERIOD; absent ones are empty or 0.
struct SampleTail {
  CounterValues counters;
  U64View callchain;  // with the marks PERF_CONTEXT_*
  std::span<const uint8_t> raw;
  BranchStack branches;
  Registers user_registers;
  std::span<const uint8_t> user_stack;
  uint64_t user_stack_used = 0;  // bytes of user_stack that were read
  uint64_t weight = 0;           // PERF_SAMPLE_WEIGHT, or the three parts of WEIGHT_STRUCT
  uint64_t data_source = 0;
  uint64_t transaction = 0;
  Registers interrupt_registers;
  uint64_t physical_address = 0;
  uint64_t cgroup = 0;
  uint64_t data_page_size = 0;
  uint64_t code_page_size = 0;
  std::span<const uint8_t> aux;
};

struct SampleRecord : SampleHead, SampleTail {
  // This says whether anything in SampleTail is set. It is large, and most samples do without.
  bool has_tail = false;
};

// `record` is a whole record with its header. Returns nothing for a record of another type or one
// too short for its fields.
std::optional<SampleHead> ParseSampleHead(std::span<const uint8_t> record, uint64_t sample_type);

// Parses all fields. Returns false where ParseSampleHead would return nothing, or if a later field
// is cut off; `sample` then has any content.
bool ParseSample(std::span<const uint8_t> record, const RecordFormat& format, SampleRecord* sample);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_SAMPLE_RECORD_H_
