// PerfDataReader reads what perf record has written: files and pipes, of any version of perf, of
// machines of either byte order.
//
//   HBBP_ASSIGN_OR_RETURN(std::unique_ptr<PerfDataReader> reader, PerfDataReader::Open(path));
//   HBBP_ASSIGN_OR_RETURN(PerfDataSummary summary, reader->Read(&visitor));
//
// A recording that is cut off or damaged, or that the system refuses to read on, is read as far as
// its records can be distinguished; the summary says what was dropped. An error means that nothing
// could be read.
#ifndef HBBP_LIB_PERF_DATA_PERF_DATA_READER_H_
#define HBBP_LIB_PERF_DATA_PERF_DATA_READER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "perf/byte_order.h"
#include "perf_data/byte_source.h"
#include "perf_data/perf_data_event.h"
#include "perf_data/perf_data_file.h"
#include "perf_data/perf_data_header.h"
#include "perf_data/perf_data_summary.h"
#include "perf_data/perf_data_visitor.h"

namespace hbbp {

class PerfDataReader {
 public:
  // Reads the header, and of a file also what perf writes at its end. kBadFormat says what is
  // wrong and where.
  static StatusOr<std::unique_ptr<PerfDataReader>> Open(const std::string& path);
  // `name` is for messages.
  static StatusOr<std::unique_ptr<PerfDataReader>> FromSource(std::unique_ptr<ByteSource> source,
                                                              std::string name);

  // These return what is known so far: everything after Read, but nothing before Read if the
  // recording comes by a pipe.
  const std::deque<PerfEvent>& events() const { return file_.events.events(); }
  // Returns the same events, which it finds by what the kernel calls them.
  const EventTable& event_table() const { return file_.events; }
  const PerfDataHeader& header() const { return file_.header; }
  ByteOrder byte_order() const { return file_.order; }

  // Delivers all records. May be called once.
  StatusOr<PerfDataSummary> Read(PerfDataVisitor* visitor, const PerfDataOptions& options = {});

 private:
  using Section = PerfDataFile::Section;

  PerfDataReader(std::unique_ptr<ByteSource> source, std::string name, ByteOrder order)
      : name_(std::move(name)), file_(std::move(source), order) {}

  Status BadFormat(uint64_t offset, const std::string& what) const;
  StatusOr<std::vector<uint8_t>> ReadSection(Section section);
  Section SectionAt(const uint8_t* bytes) const;

  Status ReadFileHeader(uint64_t header_size);
  Status ReadAttrs(Section attrs, uint64_t entry_size);
  void ReadEventTypes(Section types);
  void ReadFeatures(std::vector<uint32_t> features);

  std::string name_;
  PerfDataFile file_;
  bool is_read_ = false;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_PERF_DATA_READER_H_
