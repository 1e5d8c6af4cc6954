// PerfDataBuilder makes recordings like perf record, of records from PerfRecordBuilder.
//
//   PerfDataBuilder data;
//   data.AddEvent(attr, {1, 2}).Add(record).AddFeature(PerfFeature::kHostname, text);
//   std::vector<uint8_t> file = data.File();
#ifndef HBBP_TESTS_SUPPORT_PERF_DATA_BUILDER_H_
#define HBBP_TESTS_SUPPORT_PERF_DATA_BUILDER_H_

#include <linux/perf_event.h>
#include <zstd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "perf/byte_order.h"
#include "perf/perf_abi.h"
#include "perf_data/perf_data_header.h"
#include "support/perf_record_builder.h"

namespace hbbp {

// Writes integers in the byte order of a recording.
class PerfBytes {
 public:
  explicit PerfBytes(ByteOrder order = ByteOrder::kNative) : order_(order) {}

  PerfBytes& U8(uint8_t value) { return Put(value, 1); }
  PerfBytes& U16(uint16_t value) { return Put(value, 2); }
  PerfBytes& U32(uint32_t value) { return Put(value, 4); }
  PerfBytes& U64(uint64_t value) { return Put(value, 8); }
  PerfBytes& Bytes(std::span<const uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  PerfBytes& Zeros(size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  // Writes a string like a feature: with its size, which is rounded up.
  PerfBytes& String(const std::string& text) {
    const size_t size = (text.size() / 64 + 1) * 64;
    U32(static_cast<uint32_t>(size));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return Zeros(size - text.size());
  }

  size_t size() const { return bytes_.size(); }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  PerfBytes& Put(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) {
      const int byte = order_ == ByteOrder::kNative ? i : size - 1 - i;
      bytes_.push_back(static_cast<uint8_t>(value >> (8 * byte)));
    }
    return *this;
  }

  ByteOrder order_;
  std::vector<uint8_t> bytes_;
};

class PerfDataBuilder {
 public:
  explicit PerfDataBuilder(ByteOrder order = ByteOrder::kNative) : order_(order) {}

  PerfBytes Bytes() const { return PerfBytes(order_); }
  RecordFormat MakeRecordFormat(const perf_event_attr& attr) const {
    RecordFormat format = {.sample_type = attr.sample_type};
    format.read_format = attr.read_format;
    format.branch_sample_type = attr.branch_sample_type;
    format.sample_id_all = attr.sample_id_all != 0;
    format.order = order_;
    return format;
  }

  PerfDataBuilder& AddEvent(const perf_event_attr& attr, std::vector<uint64_t> ids) {
    events_.push_back({attr, std::move(ids)});
    return *this;
  }
  // Sets the size of attrs, at least 64.
  PerfDataBuilder& AttrSize(size_t size) {
    attr_size_ = size;
    return *this;
  }
  PerfDataBuilder& Add(const std::vector<uint8_t>& record) {
    data_.insert(data_.end(), record.begin(), record.end());
    return *this;
  }
  PerfDataBuilder& AddOther(uint32_t type, const std::vector<uint8_t>& body) {
    return Add(PerfRecordBuilder(RecordFormat{.order = order_}).Misc(0).Other(type, body));
  }
  PerfDataBuilder& FinishRound() { return AddOther(kPerfFinishedRound, {}); }
  PerfDataBuilder& AddFeature(PerfFeature feature, const PerfBytes& bytes) {
    features_[static_cast<uint32_t>(feature)] = bytes.bytes();
    return *this;
  }
  // Makes the file of a perf that was killed.
  PerfDataBuilder& Unfinished() {
    is_finished_ = false;
    return *this;
  }

  size_t DataBytes() const { return data_.size(); }

  std::vector<uint8_t> File() const {
    constexpr size_t kHeaderBytes = 104;
    const size_t entry_size = attr_size_ + 16;
    size_t ids_offset = kHeaderBytes;
    PerfBytes ids = Bytes(), attrs = Bytes();
    for (const Event& event : events_) {
      attrs.Bytes(Attr(event.attr)).U64(ids_offset + ids.size()).U64(8 * event.ids.size());
      for (uint64_t id : event.ids) ids.U64(id);
    }
    const size_t attrs_offset = ids_offset + ids.size();
    const size_t data_offset = attrs_offset + attrs.size();
    PerfBytes file = Bytes();
    file.U64(kMagic).U64(kHeaderBytes).U64(entry_size);
    file.U64(attrs_offset).U64(attrs.size());
    file.U64(data_offset).U64(is_finished_ ? data_.size() : 0);
    file.U64(0).U64(0);
    uint64_t bits = 0;
    for (const auto& [feature, bytes] : features_) bits |= uint64_t{1} << feature;
    file.U64(is_finished_ ? bits : 0).Zeros(24);
    file.Bytes(ids.bytes()).Bytes(attrs.bytes()).Bytes(data_);
    if (!is_finished_) return file.bytes();
    size_t offset = file.size() + 16 * features_.size();
    for (const auto& [feature, bytes] : features_) {
      file.U64(offset).U64(bytes.size());
      offset += bytes.size();
    }
    for (const auto& [feature, bytes] : features_) file.Bytes(bytes);
    return file.bytes();
  }

  std::vector<uint8_t> Pipe() const {
    PerfDataBuilder head(order_);
    for (const Event& event : events_) {
      PerfBytes body = Bytes();
      body.Bytes(Attr(event.attr));
      for (uint64_t id : event.ids) body.U64(id);
      head.AddOther(kPerfHeaderAttr, body.bytes());
    }
    for (const auto& [feature, bytes] : features_) {
      head.AddOther(kPerfHeaderFeature, Bytes().U64(feature).Bytes(bytes).bytes());
    }
    return Bytes().U64(kMagic).U64(16).Bytes(head.data_).Bytes(data_).bytes();
  }

 private:
  static constexpr uint64_t kMagic = 0x32454c4946524550;  // "PERFILE2"

  struct Event {
    perf_event_attr attr;
    std::vector<uint64_t> ids;
  };

  std::vector<uint8_t> Attr(const perf_event_attr& attr) const {
    PerfBytes bytes = Bytes();
    bytes.U32(attr.type).U32(static_cast<uint32_t>(attr_size_)).U64(attr.config);
    bytes.U64(attr.sample_period).U64(attr.sample_type).U64(attr.read_format);
    // These are the bit-fields that tests use, each at its position from the end that is the first.
    const auto bit = [this](uint64_t value, unsigned first, unsigned width) {
      return value << (order_ == ByteOrder::kNative ? first : 64 - first - width);
    };
    bytes.U64(bit(attr.disabled, 0, 1) | bit(attr.exclude_kernel, 5, 1) | bit(attr.freq, 10, 1) |
              bit(attr.precise_ip, 15, 2) | bit(attr.sample_id_all, 18, 1));
    bytes.U32(attr.wakeup_events).U32(attr.bp_type).U64(attr.config1);
    if (attr_size_ > PERF_ATTR_SIZE_VER0) bytes.U64(attr.config2);
    if (attr_size_ > PERF_ATTR_SIZE_VER1) bytes.U64(attr.branch_sample_type);
    if (attr_size_ > PERF_ATTR_SIZE_VER2) {
      bytes.U64(attr.sample_regs_user).U32(attr.sample_stack_user).U32(0);
    }
    if (attr_size_ > PERF_ATTR_SIZE_VER3) bytes.U64(attr.sample_regs_intr);
    while (bytes.size() < attr_size_) bytes.U8(0);
    return bytes.bytes();
  }

  ByteOrder order_;
  size_t attr_size_ = PERF_ATTR_SIZE_VER7;
  std::vector<Event> events_;
  std::map<uint32_t, std::vector<uint8_t>> features_;
  std::vector<uint8_t> data_;
  bool is_finished_ = true;
};

// Makes parts of one zstd stream, each flushed, as perf record -z writes them.
class ZstdParts {
 public:
  ZstdParts() : context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {}

  std::vector<uint8_t> Compress(std::span<const uint8_t> bytes) {
    std::vector<uint8_t> part(ZSTD_compressBound(bytes.size()) + 64);
    ZSTD_inBuffer input = {bytes.data(), bytes.size(), 0};
    ZSTD_outBuffer output = {part.data(), part.size(), 0};
    while (ZSTD_compressStream2(context_.get(), &output, &input, ZSTD_e_flush) != 0) {
    }
    part.resize(output.pos);
    return part;
  }

 private:
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_PERF_DATA_BUILDER_H_
