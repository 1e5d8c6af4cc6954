// PerfDataFile is an open recording of perf, with what is known of it so far.
#ifndef HBBP_LIB_PERF_DATA_PERF_DATA_FILE_H_
#define HBBP_LIB_PERF_DATA_PERF_DATA_FILE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "base/work.h"
#include "perf/byte_order.h"
#include "perf_data/byte_source.h"
#include "perf_data/perf_data_event.h"
#include "perf_data/perf_data_header.h"
#include "perf_data/perf_data_summary.h"
#include "perf_data/record_delivery.h"

namespace hbbp {

struct PerfDataOptions : DeliveryOptions {
  Work work;  // in bytes of the recording
};

struct PerfDataFile {
  struct Section {
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  PerfDataFile(std::unique_ptr<ByteSource> bytes, ByteOrder byte_order)
      : source(std::move(bytes)), order(byte_order), events(byte_order) {}

  std::unique_ptr<ByteSource> source;  // stands where the records are
  ByteOrder order;
  EventTable events;
  PerfDataHeader header;
  PerfDataSummary summary;
  Section data;  // the records
  bool is_pipe = false;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_PERF_DATA_FILE_H_
