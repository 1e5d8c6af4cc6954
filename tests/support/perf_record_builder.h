// PerfRecordBuilder makes records of the perf ABI, byte by byte.
//
//   const uint64_t type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
//   std::vector<uint8_t> record =
//       PerfRecordBuilder(type).Pid(1).Tid(2).Time(3).Comm("name");
//
// The fields of a sample and those of the trailer that sample_id_all adds to any other record have
// the same setters. The format decides which of them are written, and in which byte order.
#ifndef HBBP_TESTS_SUPPORT_PERF_RECORD_BUILDER_H_
#define HBBP_TESTS_SUPPORT_PERF_RECORD_BUILDER_H_

#include <linux/perf_event.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "perf/branch_stack.h"
#include "perf/perf_abi.h"
#include "perf/record_format.h"

namespace hbbp {

class PerfRecordBuilder {
 public:
  struct Counter {
    uint64_t value, id, lost;
  };

  explicit PerfRecordBuilder(uint64_t sample_type)
      : PerfRecordBuilder(RecordFormat{.sample_type = sample_type}) {}
  explicit PerfRecordBuilder(const RecordFormat& format) : format_(format) {}

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

  // Without PERF_FORMAT_GROUP, one counter is written.
  PerfRecordBuilder& Counters(uint64_t enabled, uint64_t running, std::vector<Counter> counters) {
    enabled_ = enabled, running_ = running;
    return Set(&counters_, std::move(counters));
  }
  PerfRecordBuilder& Callchain(std::vector<uint64_t> ips) { return Set(&callchain_, ips); }
  PerfRecordBuilder& Raw(std::vector<uint8_t> bytes) { return Set(&raw_, bytes); }
  PerfRecordBuilder& Branches(std::vector<BranchEntry> branches, uint64_t hardware_index,
                              std::vector<uint64_t> counters) {
    hardware_index_ = hardware_index;
    branch_counters_ = std::move(counters);
    return Set(&branches_, std::move(branches));
  }
  PerfRecordBuilder& UserRegisters(uint64_t abi, std::vector<uint64_t> values) {
    user_abi_ = abi;
    return Set(&user_registers_, values);
  }
  PerfRecordBuilder& InterruptRegisters(uint64_t abi, std::vector<uint64_t> values) {
    interrupt_abi_ = abi;
    return Set(&interrupt_registers_, values);
  }
  PerfRecordBuilder& UserStack(std::vector<uint8_t> bytes, uint64_t used) {
    stack_used_ = used;
    return Set(&stack_, bytes);
  }
  PerfRecordBuilder& Weight(uint64_t weight) { return Set(&weight_, weight); }
  PerfRecordBuilder& DataSource(uint64_t source) { return Set(&data_source_, source); }
  PerfRecordBuilder& Transaction(uint64_t transaction) { return Set(&transaction_, transaction); }
  PerfRecordBuilder& PhysicalAddress(uint64_t address) { return Set(&physical_, address); }
  PerfRecordBuilder& Cgroup(uint64_t cgroup) { return Set(&cgroup_, cgroup); }
  PerfRecordBuilder& DataPageSize(uint64_t size) { return Set(&data_page_, size); }
  PerfRecordBuilder& CodePageSize(uint64_t size) { return Set(&code_page_, size); }
  PerfRecordBuilder& Aux(std::vector<uint8_t> bytes) { return Set(&aux_, bytes); }

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
    if (Has(PERF_SAMPLE_READ)) PutCounters();
    if (Has(PERF_SAMPLE_CALLCHAIN)) Put64(callchain_.size()), PutWords(callchain_);
    if (Has(PERF_SAMPLE_RAW)) Put32(static_cast<uint32_t>(raw_.size())), PutBytes(raw_);
    if (Has(PERF_SAMPLE_BRANCH_STACK)) PutBranches();
    if (Has(PERF_SAMPLE_REGS_USER)) PutRegisters(user_abi_, user_registers_);
    if (Has(PERF_SAMPLE_STACK_USER)) {
      Put64(stack_.size());
      PutBytes(stack_);
      if (!stack_.empty()) Put64(stack_used_);
    }
    if (Has(PERF_SAMPLE_WEIGHT_TYPE)) Put64(weight_);
    if (Has(PERF_SAMPLE_DATA_SRC)) Put64(data_source_);
    if (Has(PERF_SAMPLE_TRANSACTION)) Put64(transaction_);
    if (Has(PERF_SAMPLE_REGS_INTR)) PutRegisters(interrupt_abi_, interrupt_registers_);
    if (Has(PERF_SAMPLE_PHYS_ADDR)) Put64(physical_);
    if (Has(PERF_SAMPLE_CGROUP)) Put64(cgroup_);
    if (Has(PERF_SAMPLE_DATA_PAGE_SIZE)) Put64(data_page_);
    if (Has(PERF_SAMPLE_CODE_PAGE_SIZE)) Put64(code_page_);
    if (Has(PERF_SAMPLE_AUX)) Put64(aux_.size()), PutBytes(aux_);
    return Finish(PERF_RECORD_SAMPLE);
  }

  std::vector<uint8_t> Mmap(uint64_t address, uint64_t size, uint64_t offset,
                            const std::string& path) {
    PutMapping(address, size, offset);
    PutString(path);
    return FinishWithTrailer(PERF_RECORD_MMAP);
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

  std::vector<uint8_t> Throttle(uint32_t type = PERF_RECORD_THROTTLE) {
    Put64(time_);
    Put64(id_);
    Put64(stream_id_);
    return FinishWithTrailer(type);
  }

  std::vector<uint8_t> Switch() { return FinishWithTrailer(PERF_RECORD_SWITCH); }

  std::vector<uint8_t> SwitchCpuWide(uint32_t other_pid, uint32_t other_tid) {
    Put32(other_pid), Put32(other_tid);
    return FinishWithTrailer(PERF_RECORD_SWITCH_CPU_WIDE);
  }

  // `words` alternates device and inode.
  std::vector<uint8_t> Namespaces(const std::vector<uint64_t>& words) {
    Put32(pid_), Put32(tid_);
    Put64(words.size() / 2);
    PutWords(words);
    return FinishWithTrailer(PERF_RECORD_NAMESPACES);
  }

  std::vector<uint8_t> Ksymbol(uint64_t address, uint32_t size, uint16_t type, uint16_t flags,
                               const std::string& name) {
    Put64(address);
    Put32(size);
    Put16(type), Put16(flags);
    PutString(name);
    return FinishWithTrailer(PERF_RECORD_KSYMBOL);
  }

  std::vector<uint8_t> BpfEvent(uint16_t type, uint16_t flags, uint32_t id, uint64_t tag) {
    Put16(type), Put16(flags);
    Put32(id);
    Put64(tag);
    return FinishWithTrailer(PERF_RECORD_BPF_EVENT);
  }

  std::vector<uint8_t> CgroupRecord(uint64_t id, const std::string& path) {
    Put64(id);
    PutString(path);
    return FinishWithTrailer(PERF_RECORD_CGROUP);
  }

  std::vector<uint8_t> TextPoke(uint64_t address, const std::vector<uint8_t>& old_bytes,
                                const std::vector<uint8_t>& new_bytes) {
    Put64(address);
    Put16(static_cast<uint16_t>(old_bytes.size()));
    Put16(static_cast<uint16_t>(new_bytes.size()));
    PutBytes(old_bytes);
    PutBytes(new_bytes);
    while (body_.size() % 8 != 0) Put8(0);
    return FinishWithTrailer(PERF_RECORD_TEXT_POKE);
  }

  // Makes any other record, without a trailer.
  std::vector<uint8_t> Other(uint32_t type, const std::vector<uint8_t>& body) {
    PutBytes(body);
    return Finish(type);
  }

 private:
  template <typename T>
  PerfRecordBuilder& Set(T* field, T value) {
    *field = value;
    return *this;
  }

  bool Has(uint64_t field) const { return (format_.sample_type & field) != 0; }

  void Put8(uint8_t value) { body_.push_back(value); }
  void Put16(uint16_t value) { PutInteger(value, 2); }
  void Put32(uint32_t value) { PutInteger(value, 4); }
  void Put64(uint64_t value) { PutInteger(value, 8); }
  void PutInteger(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const int byte = format_.order == ByteOrder::kNative ? i : bytes - 1 - i;
      Put8(static_cast<uint8_t>(value >> (8 * byte)));
    }
  }
  void PutBytes(const std::vector<uint8_t>& bytes) {
    body_.insert(body_.end(), bytes.begin(), bytes.end());
  }
  void PutWords(const std::vector<uint64_t>& words) {
    for (uint64_t word : words) Put64(word);
  }

  void PutCounters() {
    const auto has = [this](uint64_t field) { return (format_.read_format & field) != 0; };
    const auto put_times = [&] {
      if (has(PERF_FORMAT_TOTAL_TIME_ENABLED)) Put64(enabled_);
      if (has(PERF_FORMAT_TOTAL_TIME_RUNNING)) Put64(running_);
    };
    const auto put_rest = [&](const Counter& counter) {
      if (has(PERF_FORMAT_ID)) Put64(counter.id);
      if (has(PERF_FORMAT_LOST)) Put64(counter.lost);
    };
    if (!has(PERF_FORMAT_GROUP)) {
      Put64(counters_.front().value);
      put_times();
      put_rest(counters_.front());
      return;
    }
    Put64(counters_.size());
    put_times();
    for (const Counter& counter : counters_) {
      Put64(counter.value);
      put_rest(counter);
    }
  }

  void PutBranches() {
    Put64(branches_.size());
    if ((format_.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) != 0) Put64(hardware_index_);
    for (const BranchEntry& branch : branches_) {
      Put64(branch.from);
      Put64(branch.to);
      Put64(Flags(branch));
    }
    if ((format_.branch_sample_type & kSampleBranchCounters) != 0) PutWords(branch_counters_);
  }

  // Compilers put the first bit-field at the lowest address.
  uint64_t Flags(const BranchEntry& branch) const {
    uint64_t flags = 0;
    unsigned first = 0;
    const auto add = [&](uint64_t value, unsigned width) {
      flags |= value << (format_.order == ByteOrder::kNative ? first : 64 - first - width);
      first += width;
    };
    add(branch.mispredicted, 1);
    add(branch.predicted, 1);
    add(branch.in_transaction, 1);
    add(branch.aborted, 1);
    add(branch.cycles, 16);
    add(branch.type, 4);
    add(branch.speculation, 2);
    add(branch.new_type, 4);
    add(branch.privilege, 3);
    return flags;
  }

  void PutRegisters(uint64_t abi, const std::vector<uint64_t>& values) {
    Put64(abi);
    if (abi != PERF_SAMPLE_REGS_ABI_NONE) PutWords(values);
  }

  // Pads like the kernel: with a NUL, and NULs up to the next multiple of 8.
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
    if (!format_.sample_id_all) return Finish(type);
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
    Put16(misc_);
    Put16(static_cast<uint16_t>(body.size() + sizeof(perf_event_header)));
    body_.insert(body_.end(), body.begin(), body.end());
    body.clear();
    body.swap(body_);
    return body;
  }

  const RecordFormat format_;
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
  uint64_t enabled_ = 0;
  uint64_t running_ = 0;
  std::vector<Counter> counters_ = {{0, 0, 0}};
  std::vector<uint64_t> callchain_;
  std::vector<uint8_t> raw_;
  std::vector<BranchEntry> branches_;
  uint64_t hardware_index_ = 0;
  std::vector<uint64_t> branch_counters_;
  uint64_t user_abi_ = 0;
  std::vector<uint64_t> user_registers_;
  uint64_t interrupt_abi_ = 0;
  std::vector<uint64_t> interrupt_registers_;
  std::vector<uint8_t> stack_;
  uint64_t stack_used_ = 0;
  uint64_t weight_ = 0;
  uint64_t data_source_ = 0;
  uint64_t transaction_ = 0;
  uint64_t physical_ = 0;
  uint64_t cgroup_ = 0;
  uint64_t data_page_ = 0;
  uint64_t code_page_ = 0;
  std::vector<uint8_t> aux_;
  std::vector<uint8_t> body_;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_PERF_RECORD_BUILDER_H_
