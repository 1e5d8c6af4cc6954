#include "perf/sample_record.h"

#include <algorithm>
#include <bit>

#include "perf/perf_abi.h"
#include "perf/record_cursor.h"

namespace hbbp {
namespace {

// In the live path the order is a constant, which only helps where this is inlined.
[[gnu::always_inline]] inline bool ReadHead(RecordCursor& cursor, uint64_t sample_type,
                                            SampleHead* sample) {
  const auto has = [sample_type](uint64_t field) { return (sample_type & field) != 0; };
  uint32_t reserved;
  return (!has(PERF_SAMPLE_IDENTIFIER) || cursor.Read(&sample->id)) &&
         (!has(PERF_SAMPLE_IP) || cursor.Read(&sample->ip)) &&
         (!has(PERF_SAMPLE_TID) || (cursor.Read(&sample->pid) && cursor.Read(&sample->tid))) &&
         (!has(PERF_SAMPLE_TIME) || cursor.Read(&sample->time)) &&
         (!has(PERF_SAMPLE_ADDR) || cursor.Read(&sample->addr)) &&
         (!has(PERF_SAMPLE_ID) || cursor.Read(&sample->id)) &&
         (!has(PERF_SAMPLE_STREAM_ID) || cursor.Read(&sample->stream_id)) &&
         (!has(PERF_SAMPLE_CPU) || (cursor.Read(&sample->cpu) && cursor.Read(&reserved))) &&
         (!has(PERF_SAMPLE_PERIOD) || cursor.Read(&sample->period));
}

bool ReadCounters(RecordCursor& cursor, uint64_t read_format, CounterValues* counters) {
  const auto has = [read_format](uint64_t field) { return (read_format & field) != 0; };
  const size_t words_per_value = CounterValues::WordsPerValue(read_format);
  uint64_t enabled = 0, running = 0;
  U64View words;
  const auto read_times = [&] {
    return (!has(PERF_FORMAT_TOTAL_TIME_ENABLED) || cursor.Read(&enabled)) &&
           (!has(PERF_FORMAT_TOTAL_TIME_RUNNING) || cursor.Read(&running));
  };
  if (has(PERF_FORMAT_GROUP)) {
    uint64_t count;
    if (!cursor.Read(&count) || !read_times()) return false;
    if (count > cursor.remaining() / 8 || !cursor.ReadWords(count * words_per_value, &words)) {
      return false;
    }
    *counters = CounterValues(words, count, 1, read_format);
  } else {
    // The times stand between the value and what belongs to it.
    const size_t times =
        size_t{has(PERF_FORMAT_TOTAL_TIME_ENABLED)} + size_t{has(PERF_FORMAT_TOTAL_TIME_RUNNING)};
    RecordCursor whole = cursor;
    uint64_t value;
    if (!cursor.Read(&value) || !read_times() || !cursor.Skip(8 * (words_per_value - 1)) ||
        !whole.ReadWords(times + words_per_value, &words)) {
      return false;
    }
    *counters = CounterValues(words, 1, 1 + times, read_format);
  }
  counters->time_enabled = enabled;
  counters->time_running = running;
  return true;
}

bool ReadCallchain(RecordCursor& cursor, U64View* callchain) {
  uint64_t count;
  return cursor.Read(&count) && cursor.ReadWords(count, callchain);
}

bool ReadRaw(RecordCursor& cursor, std::span<const uint8_t>* raw) {
  uint32_t size;
  return cursor.Read(&size) && cursor.ReadBytes(size, raw);
}

bool ReadBranchStack(RecordCursor& cursor, uint64_t branch_sample_type, BranchStack* branches) {
  uint64_t count, index = BranchStack::kNoHardwareIndex;
  if (!cursor.Read(&count)) return false;
  if ((branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) != 0 && !cursor.Read(&index)) return false;
  std::span<const uint8_t> entries;
  if (count > cursor.remaining() / BranchStack::kEntryBytes ||
      !cursor.ReadBytes(count * BranchStack::kEntryBytes, &entries)) {
    return false;
  }
  U64View counters;
  if ((branch_sample_type & kSampleBranchCounters) != 0 && !cursor.ReadWords(count, &counters)) {
    return false;
  }
  *branches = BranchStack(entries, index, counters, cursor.order());
  return true;
}

bool ReadRegisters(RecordCursor& cursor, uint64_t mask, Registers* registers) {
  if (!cursor.Read(&registers->abi)) return false;
  if (registers->abi == PERF_SAMPLE_REGS_ABI_NONE) return true;
  return cursor.ReadWords(static_cast<uint64_t>(std::popcount(mask)), &registers->values);
}

bool ReadStack(RecordCursor& cursor, SampleRecord* sample) {
  uint64_t size;
  if (!cursor.Read(&size) || !cursor.ReadBytes(size, &sample->user_stack)) return false;
  if (size == 0) return true;
  if (!cursor.Read(&sample->user_stack_used)) return false;
  sample->user_stack_used = std::min(sample->user_stack_used, size);
  return true;
}

bool ReadAux(RecordCursor& cursor, std::span<const uint8_t>* aux) {
  uint64_t size;
  return cursor.Read(&size) && cursor.ReadBytes(size, aux);
}

// Reads the fields after PERF_SAMPLE_PERIOD.
bool ReadTail(RecordCursor& cursor, const RecordFormat& format, SampleRecord* sample) {
  const auto has = [&format](uint64_t field) { return (format.sample_type & field) != 0; };
  return (!has(PERF_SAMPLE_READ) || ReadCounters(cursor, format.read_format, &sample->counters)) &&
         (!has(PERF_SAMPLE_CALLCHAIN) || ReadCallchain(cursor, &sample->callchain)) &&
         (!has(PERF_SAMPLE_RAW) || ReadRaw(cursor, &sample->raw)) &&
         (!has(PERF_SAMPLE_BRANCH_STACK) ||
          ReadBranchStack(cursor, format.branch_sample_type, &sample->branches)) &&
         (!has(PERF_SAMPLE_REGS_USER) ||
          ReadRegisters(cursor, format.regs_user_mask, &sample->user_registers)) &&
         (!has(PERF_SAMPLE_STACK_USER) || ReadStack(cursor, sample)) &&
         (!has(PERF_SAMPLE_WEIGHT_TYPE) || cursor.Read(&sample->weight)) &&
         (!has(PERF_SAMPLE_DATA_SRC) || cursor.Read(&sample->data_source)) &&
         (!has(PERF_SAMPLE_TRANSACTION) || cursor.Read(&sample->transaction)) &&
         (!has(PERF_SAMPLE_REGS_INTR) ||
          ReadRegisters(cursor, format.regs_intr_mask, &sample->interrupt_registers)) &&
         (!has(PERF_SAMPLE_PHYS_ADDR) || cursor.Read(&sample->physical_address)) &&
         (!has(PERF_SAMPLE_CGROUP) || cursor.Read(&sample->cgroup)) &&
         (!has(PERF_SAMPLE_DATA_PAGE_SIZE) || cursor.Read(&sample->data_page_size)) &&
         (!has(PERF_SAMPLE_CODE_PAGE_SIZE) || cursor.Read(&sample->code_page_size)) &&
         (!has(PERF_SAMPLE_AUX) || ReadAux(cursor, &sample->aux));
}

constexpr uint64_t kTailFields =
    PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
    PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT_TYPE |
    PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR |
    PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX;

}  // namespace

size_t CounterValues::WordsPerValue(uint64_t read_format) {
  return 1 + static_cast<size_t>(std::popcount(read_format & (PERF_FORMAT_ID | PERF_FORMAT_LOST)));
}

CounterValues::Value CounterValues::operator[](size_t index) const {
  const size_t first = index * WordsPerValue(read_format_);
  size_t extra = first + first_extra_;
  Value value;
  value.value = words_[first];
  if ((read_format_ & PERF_FORMAT_ID) != 0) value.id = words_[extra++];
  if ((read_format_ & PERF_FORMAT_LOST) != 0) value.lost = words_[extra];
  return value;
}

std::optional<SampleHead> ParseSampleHead(std::span<const uint8_t> record, uint64_t sample_type) {
  if (!IsOfType(record, PERF_RECORD_SAMPLE, ByteOrder::kNative)) return std::nullopt;
  RecordCursor cursor(record.subspan(sizeof(perf_event_header)), ByteOrder::kNative);
  SampleHead sample;
  sample.misc = RecordHeader(record).misc;
  if (!ReadHead(cursor, sample_type, &sample)) return std::nullopt;
  return sample;
}

bool ParseSample(std::span<const uint8_t> record, const RecordFormat& format,
                 SampleRecord* sample) {
  if (!IsOfType(record, PERF_RECORD_SAMPLE, format.order)) return false;
  RecordCursor cursor(record.subspan(sizeof(perf_event_header)), format.order);
  static_cast<SampleHead&>(*sample) = SampleHead();
  if (sample->has_tail) static_cast<SampleTail&>(*sample) = SampleTail();
  sample->has_tail = (format.sample_type & kTailFields) != 0;
  sample->misc = RecordHeader(record, format.order).misc;
  if (!ReadHead(cursor, format.sample_type, sample)) return false;
  return !sample->has_tail || ReadTail(cursor, format, sample);
}

}  // namespace hbbp
