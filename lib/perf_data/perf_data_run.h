// PerfDataRun is one pass over the records of a recording, which PerfDataReader::Read makes.
#ifndef HBBP_LIB_PERF_DATA_PERF_DATA_RUN_H_
#define HBBP_LIB_PERF_DATA_PERF_DATA_RUN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/zstd_stream.h"
#include "perf_data/perf_data_file.h"
#include "perf_data/perf_data_visitor.h"
#include "perf_data/record_delivery.h"
#include "perf_data/source_window.h"

namespace hbbp {

class PerfDataRun {
 public:
  PerfDataRun(PerfDataFile* file, PerfDataVisitor* visitor, const PerfDataOptions& options);

  // Fails if it is cancelled, and at compressed records if there is no libzstd.
  Status ReadAll();

 private:
  // Types below this are counted in an array. Larger ones than kMaxType are not records.
  static constexpr uint32_t kCountedTypes = 128;
  static constexpr uint32_t kMaxType = 0xffff;

  // Returns false if the rest of the recording cannot be divided into records.
  bool ReadRecord();
  bool ReadOversizedBlock();
  void DropRest(uint64_t offset, std::string what);
  Status ReportProgress();

  // Is given a whole record, which is at `offset` of the recording.
  void OnRecord(std::span<const uint8_t> record, uint64_t offset);
  void OnUserRecord(std::span<const uint8_t> record, uint32_t type, uint64_t offset);
  void OnHeaderAttr(std::span<const uint8_t> record, uint64_t offset);
  void OnEventUpdate(std::span<const uint8_t> record, uint64_t offset);
  void OnHeaderFeature(std::span<const uint8_t> record, uint64_t offset);
  void OnCompressed2(std::span<const uint8_t> record, uint64_t offset);
  void OnCompressed(std::span<const uint8_t> block, uint64_t offset);
  void OnDecompressed(std::span<const uint8_t> bytes, uint64_t offset);
  void Skip(uint32_t type);
  void DropRecord(std::span<const uint8_t> record, uint64_t offset, const char* why);

  // Returns how many bytes follow a record of this type, beyond the size in its header.
  uint64_t TrailingBytes(std::span<const uint8_t> record, uint32_t type) const;

  PerfDataFile& file_;
  const PerfDataOptions& options_;
  const ByteOrder order_;
  RecordDelivery delivery_;
  SourceWindow window_;
  uint64_t all_bytes_ = 0;
  uint64_t next_report_ = 0;

  std::array<uint64_t, kCountedTypes> counts_ = {};

  std::optional<ZstdStream> zstd_;
  Status zstd_status_;
  std::vector<uint8_t> decompressed_;  // whose last record is not complete
  uint64_t oversized_end_ = 0;         // in the recording; see oversized_block.h
  uint64_t oversized_searched_ = 0;    // up to here, in vain
  bool is_decompressing_ = false;
  bool is_stream_broken_ = false;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_PERF_DATA_RUN_H_
