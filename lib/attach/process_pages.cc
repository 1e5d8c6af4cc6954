#include "attach/process_pages.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <span>

#include "base/proc_path.h"
#include "image/process_memory.h"

namespace hbbp {
namespace {

// Pages that so many bursts have read recently are copied ahead; each that does not read it takes
// one away.
constexpr uint8_t kMinBursts = 2;
constexpr uint8_t kMaxBursts = 3;

constexpr uint64_t kPagesOfGroup = 64;
constexpr uint64_t kIsPresent = uint64_t{1} << 63;  // in an entry of pagemap

}  // namespace

ProcessPages::ProcessPages(pid_t pid)
    : pid_(pid),
      pages_(std::make_unique_for_overwrite<uint8_t[]>(trace::MemoryReader::kPagesBytes)) {}

uint8_t* ProcessPages::CopyOf(uint64_t page_address) const {
  return pages_.get() + trace::MemoryReader::OffsetOf(page_address);
}

void ProcessPages::Begin() {
  for (Slot& slot : slots_) {
    if (slot.is_read) {
      if (slot.bursts < kMaxBursts) ++slot.bursts;
    } else if (slot.bursts > 0) {
      --slot.bursts;
    }
    slot.is_copied = slot.is_read = false;
  }
  for (PageGroup& group : groups_) group.is_known = false;
  pagemap_ = UniqueFd();
  is_pagemap_refused_ = false;
  read_pages_ = copied_ahead_ = read_ahead_ = calls_ = 0;
  CopyAhead();
}

// The call ends at the first page that cannot be read: it is forgotten, and those behind it are
// copied when they are read.
void ProcessPages::CopyAhead() {
  std::array<iovec, kSlots> from, to;
  std::array<Slot*, kSlots> wanted;
  size_t count = 0;
  for (Slot& slot : slots_) {
    if (slot.bursts < kMinBursts) continue;
    from[count] = {reinterpret_cast<void*>(slot.page), kPageBytes};
    to[count] = {CopyOf(slot.page), kPageBytes};
    wanted[count++] = &slot;
  }
  if (count == 0) return;
  ++calls_;
  const ssize_t copied = ::process_vm_readv(pid_, to.data(), count, from.data(), count, 0);
  if (copied > 0) copied_ahead_ = static_cast<size_t>(copied) / kPageBytes;
  for (size_t i = 0; i < copied_ahead_; ++i) wanted[i]->is_copied = true;
  if (copied_ahead_ < count) wanted[copied_ahead_]->bursts = 0;
}

// Whether a page is new has to be asked for in front of the copy, behind which it is not, and nor
// are others that one page fault brings along: of a file, or of a huge page.
bool ProcessPages::IsNew(uint64_t page_address) {
  const uint64_t page = page_address / kPageBytes;
  const uint64_t number = page / kPagesOfGroup;
  PageGroup& group = groups_[number % kGroups];
  if (!group.is_known || group.number != number) group = {number, true, FindNewPages(number)};
  const bool is_new = (group.new_pages >> (page % kPagesOfGroup) & 1) != 0;
  if (is_new) group.is_known = false;
  return is_new;
}

// The file is opened by each burst: when the process executes a program, it has another one.
uint64_t ProcessPages::FindNewPages(uint64_t group) {
  if (!pagemap_.valid() && !is_pagemap_refused_) {
    pagemap_ = UniqueFd(::open(ProcPath(pid_, "pagemap").c_str(), O_RDONLY | O_CLOEXEC));
    is_pagemap_refused_ = !pagemap_.valid();
  }
  if (is_pagemap_refused_) return 0;
  std::array<uint64_t, kPagesOfGroup> entries;
  const auto offset = static_cast<off_t>(group * sizeof(entries));
  const ssize_t bytes = ::pread(pagemap_.get(), entries.data(), sizeof(entries), offset);
  uint64_t new_pages = 0;
  for (size_t i = 0; bytes > 0 && i < static_cast<size_t>(bytes) / sizeof(entries[0]); ++i) {
    if ((entries[i] & kIsPresent) == 0) new_pages |= uint64_t{1} << i;
  }
  return new_pages;
}

trace::PageCopy ProcessPages::Copy(uint64_t page_address) {
  trace::PageCopy copied = trace::PageCopy::kUsed;
  Slot& slot = slots_[trace::MemoryReader::SlotOf(page_address)];
  if (slot.page != page_address) {
    slot = Slot();
    slot.page = page_address;
  }
  if (slot.is_copied) {
    if (!slot.is_read) ++read_ahead_;
  } else {
    if (IsNew(page_address)) copied = trace::PageCopy::kNew;
    ++calls_;
    const std::span to(CopyOf(page_address), kPageBytes);
    if (ReadProcessMemory(pid_, RuntimeAddress{page_address}, to) != kPageBytes) {
      return trace::PageCopy::kUnreadable;
    }
    slot.is_copied = true;
  }
  if (!slot.is_read) ++read_pages_;
  slot.is_read = true;
  return copied;
}

trace::MemoryReader ProcessPages::reader() {
  return {this,
          [](void* pages, uint64_t page_address) {
            return static_cast<ProcessPages*>(pages)->Copy(page_address);
          },
          pages_.get()};
}

}  // namespace hbbp
