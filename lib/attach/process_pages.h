// ProcessPages copies the pages of a stopped process that a burst reads.
//
// A burst reads much of what the ones before it have read: code, the top of the stack, tables.
// These pages are copied ahead, all by one system call, which takes less than half of the time that
// they would take by themselves. Where no burst has been for some time is forgotten.
//
// Of the others it is known whether they are in the page table of the process (/proc/PID/pagemap):
// if not, it will have a page fault there, which takes more of its time than thousands of
// instructions.
//
// Contract: one thread at a time uses an object. All copies of a burst are made while the process
// is stopped.
#ifndef HBBP_LIB_ATTACH_PROCESS_PAGES_H_
#define HBBP_LIB_ATTACH_PROCESS_PAGES_H_

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/linux_constants.h"
#include "base/unique_fd.h"
#include "trace/interpreter/program_reader.h"

namespace hbbp {

class ProcessPages {
 public:
  explicit ProcessPages(pid_t pid);

  // Forgets the copies of the last burst, and copies ahead what this one probably reads.
  void Begin();
  // The object must outlive it.
  trace::MemoryReader reader();

  // Of the current burst.
  size_t read_pages() const { return read_pages_; }
  size_t unread_pages() const { return copied_ahead_ - read_ahead_; }
  size_t calls() const { return calls_; }
  // Then no page is known to be new.
  bool is_pagemap_refused() const { return is_pagemap_refused_; }

 private:
  static constexpr size_t kSlots = trace::MemoryReader::kPages;

  struct Slot {
    uint64_t page = 0;       // that was copied to it last
    uint8_t bursts = 0;      // have read it recently
    bool is_copied = false;  // in this burst
    bool is_read = false;
  };

  // 64 pages side by side.
  struct PageGroup {
    uint64_t number = 0;
    bool is_known = false;   // in this burst
    uint64_t new_pages = 0;  // a bit each
  };
  static constexpr size_t kGroups = 64;

  uint8_t* CopyOf(uint64_t page_address) const;
  trace::PageCopy Copy(uint64_t page_address);
  bool IsNew(uint64_t page_address);
  uint64_t FindNewPages(uint64_t group);
  void CopyAhead();

  const pid_t pid_;
  const std::unique_ptr<uint8_t[]> pages_;
  std::array<Slot, kSlots> slots_;
  UniqueFd pagemap_;  // of this burst
  bool is_pagemap_refused_ = false;
  std::array<PageGroup, kGroups> groups_;
  size_t read_pages_ = 0;
  size_t copied_ahead_ = 0;
  size_t read_ahead_ = 0;
  size_t calls_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ATTACH_PROCESS_PAGES_H_
