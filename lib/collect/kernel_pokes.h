// KernelPokes finds out which code of the kernel the samples of a recording saw.
//
// The kernel rewrites its code while it runs (jump labels, static calls, trace points, kprobes),
// and writes a record of each change, with the bytes before and after it. It also writes one when
// it generates code, such as a trampoline of ftrace, or frees it. So what is at an address has
// versions, but samples are counted by address only, and the memory that is read later has one of
// them: that of the start, if perf record --kcore copied it, or of the end, or a still later one.
// As all versions are in the records, the memory need not be compared with them.
//
// For each range that was changed, the version counts that was there for most samples of its pages,
// or of the kernel where these have none:
//
//   a nop at first, 3 samples in its page, then a call, 10 samples, then a nop again, 2 samples:
//   the call has 10 of 15, so all 15 are taken for samples of code with a call.
#ifndef HBBP_LIB_COLLECT_KERNEL_POKES_H_
#define HBBP_LIB_COLLECT_KERNEL_POKES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "perf/records.h"
#include "profile/profile_data.h"

namespace hbbp {

// This is the code that is used instead of that of files, and what became of the records.
struct PokedCode {
  std::vector<CodeChunk> chunks;  // by address, without overlaps
  uint64_t records = 0;
  uint64_t bytes = 0;          // of the chunks that records are of
  uint64_t earlier_bytes = 0;  // of them, those that were changed or freed after most samples
  uint64_t unexpected = 0;     // records that found other bytes than the record before had written
  uint64_t excess = 0;         // records beyond the limits, or of impossible addresses
};

class KernelPokes {
 public:
  // Samples and records come in the order of time. Samples of user code are ignored.
  void AddSample(uint64_t ip);
  void AddPoke(const TextPokeRecord& poke);
  // Adds code that the kernel had generated; it counts as generated before the first sample. To be
  // called before any other function.
  void AddGenerated(uint64_t address, std::span<const uint8_t> code);

  bool empty() const { return pokes_.empty() && excess_ == 0; }
  // Leaves out what is far from any sample of the kernel.
  PokedCode Code() const;

 private:
  struct Poke {
    uint64_t address;
    size_t bytes_at;  // of the old bytes, which the new ones follow
    uint16_t old_size;
    uint16_t new_size;

    uint64_t end() const { return address + std::max(old_size, new_size); }
  };
  // The samples after a number of pokes, and all before them.
  struct SampleCount {
    size_t pokes;
    uint64_t samples;
  };
  using SampleCounts = std::vector<SampleCount>;  // by the number of pokes
  class Region;

  void AddTo(SampleCounts* counts);
  bool HasSamplesNear(uint64_t start, uint64_t end) const;
  std::vector<const SampleCounts*> CountsIn(uint64_t start, uint64_t end) const;
  void Apply(const Poke& poke, Region* region) const;
  void AddRegion(std::span<const size_t> pokes, uint64_t start, uint64_t end,
                 PokedCode* code) const;
  std::span<const uint8_t> OldBytes(const Poke& poke) const {
    return std::span(bytes_).subspan(poke.bytes_at, poke.old_size);
  }
  std::span<const uint8_t> NewBytes(const Poke& poke) const {
    return std::span(bytes_).subspan(poke.bytes_at + poke.old_size, poke.new_size);
  }

  std::vector<Poke> pokes_;  // in the order of time
  std::vector<uint8_t> bytes_;
  size_t generated_ = 0;  // the first pokes, which are of no record
  uint64_t excess_ = 0;
  SampleCounts of_kernel_;
  std::map<uint64_t, SampleCounts> of_pages_;  // by address of the page
  size_t counts_ = 0;                          // elements of all of them
};

// Returns a sentence about code that changed, or an empty text if none did.
std::string DescribePokes(const PokedCode& code);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_KERNEL_POKES_H_
