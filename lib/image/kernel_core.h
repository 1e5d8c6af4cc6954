// KernelCore reads the memory of a kernel by run-time address, from a file in the ELF core format:
// /proc/kcore, a copy of its text, or a dump (vmcore).
//
// Such files are larger than memory (/proc/kcore claims 128 TiB), so it keeps only the ranges and
// offsets of the segments.
#ifndef HBBP_LIB_IMAGE_KERNEL_CORE_H_
#define HBBP_LIB_IMAGE_KERNEL_CORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "image/module_code.h"

namespace hbbp {

inline constexpr char kLiveKernelCore[] = "/proc/kcore";

// Const functions may be called from any thread.
class KernelCore {
 public:
  // Returns kPermission, kNotFound or kIo for the file, and kBadFormat, with the offset, if it is
  // not a core file of an x86-64 kernel. Messages begin with the path and say what to do next.
  static StatusOr<std::shared_ptr<const KernelCore>> Open(const std::string& path);
  static StatusOr<std::shared_ptr<const KernelCore>> FromFd(UniqueFd fd, const std::string& name);

  // Fills `buffer` from `address` on, to the end of the segment at most, and returns how many bytes
  // could be read.
  size_t Read(ModuleAddress address, std::span<uint8_t> buffer) const;

  // Returns the range of the segment around `address`.
  std::optional<AddressRange> SegmentAround(ModuleAddress address) const;
  size_t segment_count() const { return segments_.size(); }

  // Returns one line if the file is shorter than its segments claim, else nothing.
  const std::string& problem() const { return problem_; }

  // Returns the build ID from the kernel's VMCOREINFO, or nothing if it has none.
  const std::vector<uint8_t>& build_id() const { return build_id_; }
  // Returns the run-time address of _stext, also from VMCOREINFO.
  std::optional<ModuleAddress> stext() const { return stext_; }

 private:
  struct Segment {
    AddressRange range;
    uint64_t offset = 0;
  };

  KernelCore(UniqueFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  Status Load();
  Status LoadSegments(uint64_t table_offset, uint64_t count);
  Status AddSegment(uint64_t index, const void* header);
  void FinishSegments();
  void ReadNotes(uint64_t offset, uint64_t size);
  void ReadVmcoreInfo(std::string_view text);
  size_t ReadAt(uint64_t offset, std::span<uint8_t> buffer) const;

  const UniqueFd fd_;
  const std::string name_;
  uint64_t file_size_ = 0;         // UINT64_MAX: unknown
  std::vector<Segment> segments_;  // by address, without overlaps
  uint64_t truncated_segments_ = 0;
  uint64_t note_bytes_ = 0;  // read so far
  std::string problem_;
  std::vector<uint8_t> build_id_;
  std::optional<ModuleAddress> stext_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_KERNEL_CORE_H_
