// OverlayMemory is the program's memory as a burst sees it: what the burst stored, over the real
// memory.
//
// Stores go to copies of lines of 64 bytes; a bitmap has the unknown bytes of each copy. A page
// that a burst accesses is checked once and entered in a small cache, with a bit for each of its
// lines that has a copy, so that the usual load costs one look-up. Of the memory of another process
// the page is copied then.
//
// The first load of a burst from each line is timed, because it finds the caches as the program has
// left them. That costs two reads of the time stamp counter a line. Not left so are translations of
// addresses (AccessTiming::page_walk), and lines ahead of a stream, which a prefetcher loads before
// the burst is there: so a line further on in each page is timed, too.
//
// Contract: async-signal-safe; one thread at a time uses it; it is in zeroed memory. When it is
// full, or had many page faults, stores return kOverlayFull.
#ifndef HBBP_LIB_TRACE_INTERPRETER_OVERLAY_MEMORY_H_
#define HBBP_LIB_TRACE_INTERPRETER_OVERLAY_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "base/linux_constants.h"
#include "trace/interpreter/access_timing.h"
#include "trace/interpreter/guarded_memory.h"
#include "trace/interpreter/program_reader.h"

namespace hbbp::trace {

class CodeCache;

enum class Access : uint8_t {
  kOk,
  kUnreadable,
  kOverlayFull,
  kToCode,  // a store to a page with code that the burst ran; only if `stops_at_code`
};

inline constexpr uint64_t kLineBytes = 64;

// ReadChange says what changed in the memory of a verified burst, so that it may have taken another
// path than the program.
enum class ReadChange : uint8_t {
  kNone,
  kStored,  // where the burst stored, memory is otherwise: somebody else stored there, or it is
            // wrong
  kMemory,  // memory that it only read was changed
  kCode
};

struct OverlayMemory {
  static constexpr unsigned kPageEntries = MemoryReader::kPages;
  static constexpr unsigned kLines = 1024;
  static constexpr unsigned kDirtyPages = 512;
  static constexpr unsigned kDirtySlots = 1024;
  static constexpr unsigned kReads = 2048;
  static constexpr uint64_t kEpochs = kPageBytes;  // of tags, the part below the page's address

  // A page with stores: which lines have copies, and where.
  struct DirtyPage {
    uint64_t dirty;
    uint16_t lines[64];
  };
  struct alignas(32) PageEntry {
    uint64_t tag;      // address of the page | epoch
    uint64_t dirty;    // the same bits as in `page`
    DirtyPage* page;   // nullptr if there are no stores
    uint64_t special;  // `dirty`, and lines whose first load is to be timed
  };
  struct DirtySlot {
    uint64_t tag;
    uint64_t page;  // index into dirty_pages
  };
  struct LoggedRead {
    uint64_t address;
    uint64_t value;
    uint32_t size;  // at most 8
    bool is_code;
  };

  uint64_t epoch;  // 1 ... kEpochs - 1
  const CodeCache* code_cache;
  bool faults_are_caught;
  bool reads_may_block;  // reads of pages that are not in memory may block
  bool stops_at_code;
  bool stored_to_code;
  bool logs_reads;        // reads of the program's memory and of code are logged
  bool is_read_in_place;  // it is this process's memory; otherwise `reader` copies pages of it
  uint16_t line_count;
  uint16_t dirty_page_count;
  bool keeps_pages;     // pages have entries; otherwise each load is logged
  bool times_accesses;  // the first load of each line is timed, in ticks of the time stamp counter
  AccessTiming timing;
  MemoryUse use;  // since Reset
  // The first instruction since Reset is still to be asked where it accesses memory.
  bool asks_for_operand;
  // That is here, unless the page is known to be no new one; 0: nowhere.
  uint64_t first_operand;
  // Of pages with entries, those of which a line is in no cache near; a bit for each entry.
  uint64_t far_pages[kPageEntries / 64];
  uint64_t probed_pages;
  uint64_t missing_pages;
  uint64_t read_count;     // reads since Reset; `reads` has the newest
  uint64_t code_pages[8];  // a bit for each page with code, by a hash
  // Of memory that is not read in place; page N is that of entry N. All
  // lines of such entries are special.
  uint8_t* page_copies;

  alignas(64) PageEntry pages[kPageEntries];
  uint64_t unknown[kLines];  // a bit for each byte of the copies
  DirtySlot dirty_slots[kDirtySlots];
  DirtyPage dirty_pages[kDirtyPages];
  alignas(64) uint8_t lines[kLines][kLineBytes];
  LoggedRead reads[kReads];
  MemoryReader reader;

  // Discards stores and pages.
  void Reset(const MemoryReader& memory_reader, bool catches_faults);

  // Handles the usual case: all of it is within one line and known, and its page is cached.
  // Otherwise returns false, and Read decides.
  template <typename T>
  [[gnu::always_inline]] bool FastLoad(uint64_t address, T* value) const {
    const void* source = FastSource<sizeof(T)>(address);
    return source != nullptr && GuardedLoad(source, value);
  }

  // Returns where to load from, guarded.
  template <size_t kBytes>
  [[gnu::always_inline]] const void* FastSource(uint64_t address) const {
    const PageEntry& entry = pages[MemoryReader::SlotOf(address)];
    if (entry.tag != ((address & ~(kPageBytes - 1)) | epoch)) [[unlikely]]
      return nullptr;
    const uint64_t offset = address % kLineBytes;
    if (kBytes > 1 && offset > kLineBytes - kBytes) [[unlikely]]
      return nullptr;
    const void* source = reinterpret_cast<const void*>(address);
    const uint64_t line = (address / kLineBytes) % 64;
    if ((entry.special >> line) & 1) {
      if (((entry.dirty >> line) & 1) == 0) [[unlikely]]
        return page_copies == nullptr ? nullptr : InCopy(address);
      const unsigned copy = entry.page->lines[line];
      if (unknown[copy] != 0) [[unlikely]]
        return nullptr;
      source = lines[copy] + offset;
    }
    return source;
  }

  // Returns where to store, or nullptr if PrepareWrite has to be called before, or Write instead.
  template <typename T>
  [[gnu::always_inline]] T* FastStore(uint64_t address) {
    const PageEntry& entry = pages[MemoryReader::SlotOf(address)];
    if (entry.tag != ((address & ~(kPageBytes - 1)) | epoch)) [[unlikely]]
      return nullptr;
    const uint64_t offset = address % kLineBytes;
    if (sizeof(T) > 1 && offset > kLineBytes - sizeof(T)) [[unlikely]]
      return nullptr;
    const uint64_t line = (address / kLineBytes) % 64;
    if (((entry.dirty >> line) & 1) == 0) [[unlikely]]
      return nullptr;
    const unsigned copy = entry.page->lines[line];
    if (unknown[copy] != 0) [[unlikely]]
      return nullptr;
    return reinterpret_cast<T*>(lines[copy] + offset);
  }

  // Reads at most 64 bytes at any address. Bit n of `unknown_bytes` says that byte n is unknown.
  Access Read(uint64_t address, size_t size, void* value, uint64_t* unknown_bytes);
  // Makes room, so that a Write of the same bytes cannot fail.
  Access PrepareWrite(uint64_t address, size_t size);
  // The same for an access that loads the bytes before it stores to them.
  Access PrepareUpdate(uint64_t address, size_t size);
  Access Write(uint64_t address, size_t size, const void* value, uint64_t unknown_bytes);
  // The size may be any.
  Access WriteUnknown(uint64_t address, size_t size);

  // Returns whether all of these bytes are unknown.
  bool IsUnknown(uint64_t address, size_t size);
  // Returns whether there is a copy of any of these bytes.
  bool IsStoredTo(uint64_t address, size_t size);
  // Returns whether these bytes, less than a page, are readable and have no copies.
  bool IsPlainCode(uint64_t address, size_t size) {
    const uint64_t last = address + size - 1;
    const PageEntry* entry = EnterPage(address);
    if (entry == nullptr) return false;
    const uint64_t line = (address / kLineBytes) % 64;
    if (address / kPageBytes == last / kPageBytes) [[likely]] {
      return entry->dirty == 0 || !AnyDirty(entry->dirty, line, (last / kLineBytes) % 64);
    }
    if (AnyDirty(entry->dirty, line, 63)) return false;
    entry = EnterPage(last);
    return entry != nullptr && !AnyDirty(entry->dirty, 0, (last / kLineBytes) % 64);
  }
  // Copies the program's memory, without what the burst stored, of pages that were entered. Returns
  // false if it cannot be read.
  bool Copy(void* to, uint64_t address, size_t size) const {
    if (!is_read_in_place) [[unlikely]]
      return CopyOfPages(to, address, size);
    return GuardedCopy(to, reinterpret_cast<const void*>(address), size);
  }
  // Returns whether the program's memory has these bytes.
  bool HasBytes(uint64_t address, const uint8_t* bytes, size_t size) const;
  // Returns whether the burst has accessed the page of first_operand without a page fault, and
  // there is nothing but zeros: it may be new.
  bool BeginsInNewPage() const;
  // Records that the burst runs code there.
  void RecordCode(uint64_t address, size_t size);

  // Logs reads from now on.
  void LogReads();
  void LogRead(uint64_t address, const void* bytes, size_t size, bool is_code);
  // Returns whether all reads were kept.
  bool KeptAllReads() const { return logs_reads && read_count <= kReads; }
  // Finds out whether something else changed what was read or stored. The program must be where the
  // burst is, so that memory has what the burst stored.
  ReadChange FindChange();

  // Checks the page. Returns nullptr if it must not be read.
  PageEntry* EnterPage(uint64_t address);

 private:
  // The program has it, too.
  void CountPageFault(uint64_t page_address);
  void TimeAccess(PageEntry* entry, uint64_t address, uint64_t* miss_ticks);
  bool TimeLoad(uint64_t address, uint64_t* ticks);
  uint8_t* InCopy(uint64_t address) const { return page_copies + MemoryReader::OffsetOf(address); }
  bool CopyOfPages(void* to, uint64_t address, size_t size) const;
  ReadChange FindChangeOf(const LoggedRead& read);
  bool HasOtherStores();
  static bool AnyDirty(uint64_t dirty, uint64_t first, uint64_t last) {
    return ((dirty >> first) << (63 - (last - first))) != 0;
  }
  DirtyPage* FindDirtyPage(uint64_t page_address);
  DirtyPage* AddDirtyPage(uint64_t page_address);
  bool HasCode(uint64_t address) const;
};

}  // namespace hbbp::trace

#endif  // HBBP_LIB_TRACE_INTERPRETER_OVERLAY_MEMORY_H_
