// RecordFormat has those fields of an event's attr that decide how its records are laid out.
#ifndef HBBP_LIB_PERF_RECORD_FORMAT_H_
#define HBBP_LIB_PERF_RECORD_FORMAT_H_

#include <linux/perf_event.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "perf/byte_order.h"

namespace hbbp {

struct RecordFormat {
  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  uint64_t branch_sample_type = 0;
  uint64_t regs_user_mask = 0;
  uint64_t regs_intr_mask = 0;
  // Records other than samples end in a sample_id.
  bool sample_id_all = true;
  ByteOrder order = ByteOrder::kNative;

  bool operator==(const RecordFormat&) const = default;
};

inline RecordFormat MakeRecordFormat(const perf_event_attr& attr,
                                     ByteOrder order = ByteOrder::kNative) {
  return {.sample_type = attr.sample_type,
          .read_format = attr.read_format,
          .branch_sample_type = attr.branch_sample_type,
          .regs_user_mask = attr.sample_regs_user,
          .regs_intr_mask = attr.sample_regs_intr,
          .sample_id_all = attr.sample_id_all != 0,
          .order = order};
}

// Precondition: `record` has a whole header.
inline perf_event_header RecordHeader(std::span<const uint8_t> record,
                                      ByteOrder order = ByteOrder::kNative) {
  perf_event_header header;
  std::memcpy(&header, record.data(), sizeof(header));
  header.type = ToNative(header.type, order);
  header.misc = ToNative(header.misc, order);
  header.size = ToNative(header.size, order);
  return header;
}

inline bool IsOfType(std::span<const uint8_t> record, uint32_t type, ByteOrder order) {
  return record.size() >= sizeof(perf_event_header) && RecordHeader(record, order).type == type;
}

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_RECORD_FORMAT_H_
