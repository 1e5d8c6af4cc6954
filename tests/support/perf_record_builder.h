// PerfRecordBuilder: records of the perf ABI, written byte by byte.
//
//   const uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
//   std::vector<uint8_t> record =
//       PerfRecordBuilder(type).Pid(1).Tid(2).Time(3).Comm("name");
//
// The fields of a sample and those of the trailer that sample_id_all adds to any other record have
// the same setters. Which of them are written is up to the sample type.
#ifndef HBBP_TESTS_SUPPORT_PERF_RECORD_BUILDER_H_
#define HBBP_TESTS_SUPPORT_PERF_RECORD_BUILDER_H_

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hbbp {

class PerfRecordBuilder {
 public:
  explicit PerfRecordBuilder(uint64_t sample_type) : sample_type_(sample_type) {}

  PerfRecordBuilder& Misc(uint16_t misc) { return Set(&misc_, misc); }
  PerfRecordBuilder& Ip(uint64_t ip) { return Set(&ip_, ip); }
  PerfRecordBuilder& Pid(uint32_t pid) { return Set(&pid_, pid); }
  PerfRecordBuilder& Tid(uint32_t tid) { return Set(&tid_, tid); }
  PerfRecordBuilder& Time(uint64_t time) { return Set(&time_, time); }
  PerfRecordBuilder& Addr(uint64_t addr) { return Set(&addr_, addr); }
  PerfRecordBuilder& Id(uint64_t id) { return Set(&id_, id); }
  PerfRecordBuilder& StreamId(uint64_t stream_id) { return Set(&stream_id_, stream_id); }
  PerfRecordBuilder& Cpu(uint32_t cpu) { return Set(&cpu_, cpu); }
  PerfRecordBuilder& Period(uint64_t period) { return Set(&period_, period); }

  std::vector<uint8_t> Sample() {
    if (Has(PERF_SAMPLE_IDENTIFIER)) Put64(id_);
    if (Has(PERF_SAMPLE_IP)) Put64(ip_);
    if (Has(PERF_SAMPLE_TID)) Put32(pid_), Put32(tid_);
    if (Has(PERF_SAMPLE_TIME)) Put64(time_);
    if (Has(PERF_SAMPLE_ADDR)) Put64(addr_);
    if (Has(PERF_SAMPLE_ID)) Put64(id_);
    if (Has(PERF_SAMPLE_STREAM_ID)) Put64(stream_id_);
    if (Has(PERF_SAMPLE_CPU)) Put32(cpu_), Put32(0xeeeeeeee);
    if (Has(PERF_SAMPLE_PERIOD)) Put64(period_);
    return Finish(PERF_RECORD_SAMPLE);
  }

  std::vector<uint8_t> Mmap2(uint64_t address, uint64_t size, uint64_t offset, uint32_t major,
                             uint32_t minor, uint64_t inode, const std::string& path) {
    PutMapping(address, size, offset);
    Put32(major);
    Put32(minor);
    Put64(inode);
    Put64(7);  // generation of the inode
    return FinishMapping(path);
  }

  std::vector<uint8_t> Mmap2(uint64_t address, uint64_t size, uint64_t offset,
                             std::span<const uint8_t> build_id, const std::string& path) {
    misc_ |= PERF_RECORD_MISC_MMAP_BUILD_ID;
    PutMapping(address, size, offset);
    Put8(static_cast<uint8_t>(build_id.size()));
    Put8(0), Put8(0), Put8(0);
    for (size_t i = 0; i < 20; ++i) Put8(i < build_id.size() ? build_id[i] : 0);
    return FinishMapping(path);
  }

  std::vector<uint8_t> Comm(const std::string& name) {
    Put32(pid_), Put32(tid_);
    PutString(name);
    return FinishWithTrailer(PERF_RECORD_COMM);
  }

  std::vector<uint8_t> Fork(uint32_t parent_pid, uint32_t parent_tid) {
    return Task(PERF_RECORD_FORK, parent_pid, parent_tid);
  }

  std::vector<uint8_t> Exit(uint32_t parent_pid, uint32_t parent_tid) {
    return Task(PERF_RECORD_EXIT, parent_pid, parent_tid);
  }

  std::vector<uint8_t> Lost(uint64_t lost) {
    Put64(id_);
    Put64(lost);
    return FinishWithTrailer(PERF_RECORD_LOST);
  }

  std::vector<uint8_t> LostSamples(uint64_t lost) {
    Put64(lost);
    return FinishWithTrailer(PERF_RECORD_LOST_SAMPLES);
  }

  std::vector<uint8_t> Throttle() {
    Put64(time_);
    Put64(id_);
    Put64(stream_id_);
    return FinishWithTrailer(PERF_RECORD_THROTTLE);
  }

 private:
  template <typename T>
  PerfRecordBuilder& Set(T* field, T value) {
    *field = value;
    return *this;
  }

  bool Has(uint64_t field) const { return (sample_type_ & field) != 0; }

  void Put8(uint8_t value) { body_.push_back(value); }
  void Put32(uint32_t value) { PutLittleEndian(value, 4); }
  void Put64(uint64_t value) { PutLittleEndian(value, 8); }
  void PutLittleEndian(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) Put8(static_cast<uint8_t>(value >> (8 * i)));
  }
  // As the kernel does: with a NUL, and NULs up to the next multiple of 8.
  void PutString(const std::string& text) {
    body_.insert(body_.end(), text.begin(), text.end());
    do Put8(0);
    while (body_.size() % 8 != 0);
  }

  void PutMapping(uint64_t address, uint64_t size, uint64_t offset) {
    Put32(pid_), Put32(tid_);
    Put64(address);
    Put64(size);
    Put64(offset);
  }

  std::vector<uint8_t> FinishMapping(const std::string& path) {
    Put32(5);  // PROT_READ | PROT_EXEC
    Put32(2);  // MAP_PRIVATE
    PutString(path);
    return FinishWithTrailer(PERF_RECORD_MMAP2);
  }

  std::vector<uint8_t> Task(uint32_t type, uint32_t parent_pid, uint32_t parent_tid) {
    Put32(pid_), Put32(parent_pid);
    Put32(tid_), Put32(parent_tid);
    Put64(time_);
    return FinishWithTrailer(type);
  }

  std::vector<uint8_t> FinishWithTrailer(uint32_t type) {
    if (Has(PERF_SAMPLE_TID)) Put32(pid_), Put32(tid_);
    if (Has(PERF_SAMPLE_TIME)) Put64(time_);
    if (Has(PERF_SAMPLE_ID)) Put64(id_);
    if (Has(PERF_SAMPLE_STREAM_ID)) Put64(stream_id_);
    if (Has(PERF_SAMPLE_CPU)) Put32(cpu_), Put32(0xeeeeeeee);
    if (Has(PERF_SAMPLE_IDENTIFIER)) Put64(id_);
    return Finish(type);
  }

  std::vector<uint8_t> Finish(uint32_t type) {
    std::vector<uint8_t> body;
    body.swap(body_);
    Put32(type);
    PutLittleEndian(misc_, 2);
    PutLittleEndian(body.size() + sizeof(perf_event_header), 2);
    body_.insert(body_.end(), body.begin(), body.end());
    body.clear();
    body.swap(body_);
    return body;
  }

  const uint64_t sample_type_;
  uint16_t misc_ = PERF_RECORD_MISC_USER;
  uint64_t ip_ = 0;
  uint32_t pid_ = 0;
  uint32_t tid_ = 0;
  uint64_t time_ = 0;
  uint64_t addr_ = 0;
  uint64_t id_ = 0;
  uint64_t stream_id_ = 0;
  uint32_t cpu_ = 0;
  uint64_t period_ = 0;
  std::vector<uint8_t> body_;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_PERF_RECORD_BUILDER_H_
