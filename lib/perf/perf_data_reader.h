// PerfDataReader: reads what perf record has written: files and pipes, of any version of perf, of
// machines of either byte order.
//
//   HBBP_ASSIGN_OR_RETURN(std::unique_ptr<PerfDataReader> reader, PerfDataReader::Open(path));
//   HBBP_ASSIGN_OR_RETURN(PerfDataSummary summary, reader->Read(&visitor));
//
// A recording that is cut off or damaged, or that the system refuses to read on, is read as far as
// its records can be told apart; the summary says what was dropped. An error means that nothing
// could be read.
#ifndef HBBP_LIB_PERF_PERF_DATA_READER_H_
#define HBBP_LIB_PERF_PERF_DATA_READER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/work.h"
#include "perf/byte_order.h"
#include "perf/byte_source.h"
#include "perf/perf_data_event.h"
#include "perf/perf_data_header.h"
#include "perf/perf_data_summary.h"
#include "perf/perf_data_visitor.h"
#include "perf/record_delivery.h"

namespace hbbp {

struct PerfDataOptions : DeliveryOptions {
  Work work;  // in bytes of the recording
};

class PerfDataReader {
 public:
  // Reads the header, and of a file also what perf writes at its end. kBadFormat says what is
  // wrong and where.
  static StatusOr<std::unique_ptr<PerfDataReader>> Open(const std::string& path);
  // `name` is for messages.
  static StatusOr<std::unique_ptr<PerfDataReader>> FromSource(std::unique_ptr<ByteSource> source,
                                                              std::string name);

  // What is known so far: all of it after Read; before, of a recording that came by a pipe,
  // nothing.
  const std::deque<PerfEvent>& events() const { return events_.events(); }
  // The same, by what the kernel calls them.
  const EventTable& event_table() const { return events_; }
  const PerfDataHeader& header() const { return header_; }
  ByteOrder byte_order() const { return order_; }

  // Delivers all records. May be called once.
  StatusOr<PerfDataSummary> Read(PerfDataVisitor* visitor, const PerfDataOptions& options = {});

 private:
  friend class PerfDataRun;

  struct Section {
    uint64_t offset = 0;
    uint64_t size = 0;
  };

  PerfDataReader(std::unique_ptr<ByteSource> source, std::string name, ByteOrder order)
      : source_(std::move(source)), name_(std::move(name)), order_(order), events_(order) {}

  Status BadFormat(uint64_t offset, const std::string& what) const;
  StatusOr<std::vector<uint8_t>> ReadSection(Section section);
  Section SectionAt(const uint8_t* bytes) const;

  Status ReadFileHeader(uint64_t header_size);
  Status ReadAttrs(Section attrs, uint64_t entry_size);
  void ReadEventTypes(Section types);
  void ReadFeatures(std::vector<uint32_t> features);

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  ByteOrder order_;
  EventTable events_;
  PerfDataHeader header_;
  PerfDataSummary summary_;
  // Where the records are, and where the source stands.
  Section data_;
  bool is_pipe_ = false;
  bool is_read_ = false;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_PERF_DATA_READER_H_
