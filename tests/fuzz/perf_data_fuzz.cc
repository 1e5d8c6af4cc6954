// Reads any bytes as a recording of perf, once as a file and once as a pipe, in both orders of
// delivery, and everything that is delivered.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "perf_data/perf_data_reader.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Toucher : hbbp::PerfDataVisitor {
  void OnSample(const hbbp::PerfEvent& event, const hbbp::SampleRecord& sample) override {
    Add(event.name);
    for (uint64_t word : sample.callchain) sum += word;
    for (uint64_t word : sample.user_registers.values) sum += word;
    for (uint64_t word : sample.interrupt_registers.values) sum += word;
    for (uint64_t word : sample.branches.counters()) sum += word;
    for (size_t i = 0; i < sample.branches.size(); ++i) sum += sample.branches[i].cycles;
    for (size_t i = 0; i < sample.counters.size(); ++i) sum += sample.counters[i].lost;
    Add(sample.raw);
    Add(sample.user_stack);
    Add(sample.aux);
  }
  void OnMmap(const hbbp::MmapRecord& mmap) override {
    Add(mmap.path);
    Add(mmap.build_id);
  }
  void OnComm(const hbbp::CommRecord& comm) override { Add(comm.name); }
  void OnKsymbol(const hbbp::KsymbolRecord& symbol) override { Add(symbol.name); }
  void OnCgroup(const hbbp::CgroupRecord& group) override { Add(group.path); }
  void OnTextPoke(const hbbp::TextPokeRecord& poke) override {
    Add(poke.old_bytes);
    Add(poke.new_bytes);
  }

  void Add(std::span<const uint8_t> bytes) {
    for (uint8_t byte : bytes) sum += byte;
  }
  void Add(const std::string& text) {
    for (char c : text) sum += static_cast<uint8_t>(c);
  }
  uint64_t sum = 0;
};

void Read(std::span<const uint8_t> bytes, hbbp::MemorySource::Kind kind,
          hbbp::PerfDataOptions::Order order) {
  auto reader =
      hbbp::PerfDataReader::FromSource(std::make_unique<hbbp::MemorySource>(bytes, kind), "fuzz");
  if (!reader.ok()) {
    Require(!reader.status().message().empty());
    return;
  }
  hbbp::PerfDataOptions options;
  options.order = order;
  options.max_waiting_bytes = 4096;
  Toucher toucher;
  const auto summary = (*reader)->Read(&toucher, options);
  if (!summary.ok()) {
    Require(summary.status().message().find("before its first event") != std::string::npos);
    return;
  }
  Require(summary->bytes <= bytes.size());
  Require(summary->problems.size() <= summary->problem_count);
  volatile uint64_t sum = toucher.sum;
  (void)sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // The copy has exactly that size.
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[size]);
  std::copy_n(data, size, copy.get());
  const std::span<const uint8_t> bytes(copy.get(), size);
  Read(bytes, hbbp::MemorySource::Kind::kFile, hbbp::PerfDataOptions::Order::kByTime);
  // A file in a pipe would be written to the disk.
  if (size > 8 && bytes[8] == 16) {
    Read(bytes, hbbp::MemorySource::Kind::kPipe, hbbp::PerfDataOptions::Order::kAsWritten);
  }
  return 0;
}
