#include "attach/process_pages.h"

#include <sys/uio.h>

#include <span>

#include "image/process_memory.h"

namespace hbbp {
namespace {

// Pages that so many bursts have read recently are copied ahead; each that does not read it takes
// one away.
constexpr uint8_t kMinBursts = 2;
constexpr uint8_t kMaxBursts = 3;

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

bool ProcessPages::Copy(uint64_t page_address) {
  Slot& slot = slots_[trace::MemoryReader::SlotOf(page_address)];
  if (slot.page != page_address) {
    slot = Slot();
    slot.page = page_address;
  }
  if (slot.is_copied) {
    if (!slot.is_read) ++read_ahead_;
  } else {
    ++calls_;
    const std::span to(CopyOf(page_address), kPageBytes);
    if (ReadProcessMemory(pid_, RuntimeAddress{page_address}, to) != kPageBytes) return false;
    slot.is_copied = true;
  }
  if (!slot.is_read) ++read_pages_;
  slot.is_read = true;
  return true;
}

trace::MemoryReader ProcessPages::reader() {
  return {this,
          [](void* pages, uint64_t page_address) {
            return static_cast<ProcessPages*>(pages)->Copy(page_address);
          },
          pages_.get()};
}

}  // namespace hbbp
