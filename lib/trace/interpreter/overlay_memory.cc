// Handlers call the inline functions of the header, and where these return false or nullptr, Read,
// Write, PrepareWrite and WriteUnknown, which split an access by lines and enter its pages
// (EnterPage). Stores copy a line when they first touch it. With LogReads, reads are logged, and
// FindChange compares them with memory.
//
// Contract: see the header. Loops over table slots are bounded by the size of the tables.
#include "trace/interpreter/overlay_memory.h"

#include "trace/interpreter/code_cache.h"

namespace hbbp::trace {

namespace {

constexpr uint64_t kUserEnd = uint64_t{1} << 56;
// Copying a line of a page that the program has not used yet maps a page of zeros, and the store of
// the program itself faults again. So the faults of a burst that fills new memory are few. In this
// process, those that take no longer than a cache miss are not known.
constexpr uint64_t kMaxPageFaults = 8;

constexpr uint64_t PageOf(uint64_t address) { return address & ~(kPageBytes - 1); }
constexpr uint64_t LineOf(uint64_t address) { return (address / kLineBytes) % 64; }

constexpr unsigned SlotOf(uint64_t page_address) {
  const uint64_t page = page_address / kPageBytes;
  return static_cast<unsigned>((page ^ (page >> 10) ^ (page >> 20)) % OverlayMemory::kDirtySlots);
}

constexpr unsigned CodeBitOf(uint64_t address) {
  const uint64_t page = address / kPageBytes;
  return static_cast<unsigned>((page ^ (page >> 9)) % 512);
}

constexpr uint64_t LowBits(size_t count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// Returns a line of the page that a stream which is at `line` has not reached yet, and that is
// farther ahead than prefetchers load: 20 lines at least. Of a stream that begins in the last third
// of a page, it has passed.
constexpr uint64_t LineAheadOf(uint64_t line) {
  constexpr uint64_t kDistance = 40, kMinDistance = 20, kLast = 63;
  if (line + kDistance <= kLast) return line + kDistance;
  return line + kMinDistance <= kLast ? kLast : line - kDistance;
}

constexpr size_t BytesInLine(uint64_t address, size_t size) {
  const size_t rest = kLineBytes - address % kLineBytes;
  return size < rest ? size : rest;
}

// The bytes are within a line.
void CopyBytes(void* to, const void* from, size_t size) { __builtin_memcpy(to, from, size); }

}  // namespace

void OverlayMemory::Reset(const MemoryReader& memory_reader, bool catches_faults) {
  reader = memory_reader;
  is_read_in_place = reader.copy == nullptr;
  page_copies = is_read_in_place ? nullptr : reader.pages;
  keeps_pages = true;
  logs_reads = false;
  // A reader neither faults nor blocks.
  faults_are_caught = catches_faults || !is_read_in_place;
  reads_may_block = is_read_in_place && code_cache->reads_may_block();
  timing = code_cache->access_timing();
  times_accesses = is_read_in_place && catches_faults && timing.hit != 0;
  use = MemoryUse();
  asks_for_operand = (times_accesses || !is_read_in_place) && code_cache->counts_page_faults();
  first_operand = 0;
  stops_at_code = true;
  stored_to_code = false;
  line_count = 0;
  dirty_page_count = 0;
  read_count = 0;
  for (uint64_t& word : code_pages) word = 0;
  if (++epoch == kEpochs) {
    for (PageEntry& entry : pages) entry.tag = 0;
    for (DirtySlot& slot : dirty_slots) slot.tag = 0;
    epoch = 1;
  }
}

void OverlayMemory::LogReads() {
  logs_reads = true;
  keeps_pages = false;
  times_accesses = asks_for_operand = false;
}

OverlayMemory::DirtyPage* OverlayMemory::FindDirtyPage(uint64_t page_address) {
  if (dirty_page_count == 0) return nullptr;
  const uint64_t tag = page_address | epoch;
  for (unsigned slot = SlotOf(page_address);; slot = (slot + 1) % kDirtySlots) {
    const DirtySlot& candidate = dirty_slots[slot];
    if (candidate.tag == tag) return &dirty_pages[candidate.page];
    if (candidate.tag % kPageBytes != epoch) return nullptr;
  }
}

OverlayMemory::DirtyPage* OverlayMemory::AddDirtyPage(uint64_t page_address) {
  if (dirty_page_count == kDirtyPages) return nullptr;
  unsigned slot = SlotOf(page_address);
  while (dirty_slots[slot].tag % kPageBytes == epoch) slot = (slot + 1) % kDirtySlots;
  dirty_slots[slot] = {page_address | epoch, dirty_page_count};
  DirtyPage* page = &dirty_pages[dirty_page_count++];
  page->dirty = 0;
  return page;
}

OverlayMemory::PageEntry* OverlayMemory::EnterPage(uint64_t address) {
  const uint64_t page_address = PageOf(address);
  PageEntry* entry = &pages[MemoryReader::SlotOf(address)];
  if (entry->tag == (page_address | epoch)) return entry;
  if (page_address == 0 || page_address >= kUserEnd || code_cache->IsForbidden(page_address)) {
    return nullptr;
  }
  if (reads_may_block && !IsResident(address)) {
    ++missing_pages;
    return nullptr;
  }
  if (!faults_are_caught) {
    ++probed_pages;
    if (!IsReadable(address)) return nullptr;
  }
  entry->tag = 0;
  if (!is_read_in_place) {
    const PageCopy copied = reader.copy(reader.program, page_address);
    if (copied == PageCopy::kUnreadable) return nullptr;
    if (copied == PageCopy::kNew) CountPageFault(page_address);
  }
  if (keeps_pages) entry->tag = page_address | epoch;
  const unsigned slot = MemoryReader::SlotOf(address);
  far_pages[slot / 64] &= ~(uint64_t{1} << (slot % 64));
  entry->page = FindDirtyPage(page_address);
  entry->dirty = entry->page == nullptr ? 0 : entry->page->dirty;
  const bool are_all_special = times_accesses || !is_read_in_place;
  entry->special = are_all_special ? ~uint64_t{0} : entry->dirty;
  return entry;
}

void OverlayMemory::CountPageFault(uint64_t page_address) {
  ++use.page_faults;
  if (PageOf(first_operand) == page_address) first_operand = 0;
}

// Nothing else is loaded between the readings of the counter. Returns false if the load was not
// timed.
bool OverlayMemory::TimeLoad(uint64_t address, uint64_t* ticks) {
  uint8_t byte = 0;
  uint64_t begin = 0, end = 0;
  if (!GuardedTicks(&begin)) {
    times_accesses = false;
    return false;
  }
  const bool is_loaded = GuardedLoad(reinterpret_cast<const uint8_t*>(address), &byte);
  asm volatile("" ::"r"(byte));
  if (!is_loaded || !GuardedTicks(&end)) return false;
  *ticks = end - begin;
  return true;
}

// Loads from the line, which is not special afterwards, and adds the ticks of a miss. A walk
// through page tables that were used less than those of the measurement takes up to three times as
// long, and is not a miss either. A hit in a page that is far is a line that a prefetcher has
// loaded.
void OverlayMemory::TimeAccess(PageEntry* entry, uint64_t address, uint64_t* miss_ticks) {
  const bool is_first_of_page = entry->special == ~uint64_t{0} && entry->dirty == 0;
  const uint64_t page_walk = is_first_of_page ? timing.page_walk : 0;
  const uint64_t line = uint64_t{1} << LineOf(address);
  const uint64_t used = ~entry->special | entry->dirty;
  if ((used & (line << 1 | line >> 1)) == 0) ++use.lines;
  entry->special &= ~line;
  uint64_t ticks = 0;
  if (!TimeLoad(address, &ticks)) return;
  const uint64_t min_miss = uint64_t{timing.hit} + timing.min_miss;
  const uint64_t max_miss = uint64_t{timing.hit} + timing.max_miss;
  const bool is_miss = ticks >= min_miss + 3 * page_walk && ticks <= max_miss;
  if (is_miss) *miss_ticks += ticks - timing.hit - page_walk;
  if (is_first_of_page && ticks > max_miss) CountPageFault(PageOf(address));
  const unsigned slot = MemoryReader::SlotOf(address);
  uint64_t& far = far_pages[slot / 64];
  const uint64_t bit = uint64_t{1} << (slot % 64);
  if (is_first_of_page) {
    const uint64_t ahead = PageOf(address) + LineAheadOf(LineOf(address)) * kLineBytes;
    uint64_t ticks_ahead = 0;
    const bool is_far = is_miss || (TimeLoad(ahead, &ticks_ahead) && ticks_ahead >= min_miss &&
                                    ticks_ahead <= max_miss);
    if (is_far) far |= bit;
  }
  if (!is_miss && (far & bit) != 0) ++use.streamed_lines;
}

Access OverlayMemory::Read(uint64_t address, size_t size, void* value, uint64_t* unknown_bytes) {
  auto* to = static_cast<uint8_t*>(value);
  uint64_t all_unknown = 0;
  for (size_t done = 0; done < size;) {
    const size_t part = BytesInLine(address, size - done);
    PageEntry* entry = EnterPage(address);
    if (entry == nullptr) return Access::kUnreadable;
    const uint64_t untimed = times_accesses ? entry->special & ~entry->dirty : 0;
    if ((untimed >> LineOf(address)) & 1) TimeAccess(entry, address, &use.miss_ticks);
    if ((entry->dirty >> LineOf(address)) & 1) {
      const unsigned copy = entry->page->lines[LineOf(address)];
      const uint64_t offset = address % kLineBytes;
      CopyBytes(to + done, lines[copy] + offset, part);
      all_unknown |= ((unknown[copy] >> offset) & LowBits(part)) << done;
    } else if (!Copy(to + done, address, part)) {
      return Access::kUnreadable;
    } else if (logs_reads) {
      LogRead(address, to + done, part, false);
    }
    done += part;
    address += part;
  }
  *unknown_bytes = all_unknown;
  return Access::kOk;
}

Access OverlayMemory::PrepareUpdate(uint64_t address, size_t size) {
  if (times_accesses) {
    const uint64_t last = address + size - 1;
    for (uint64_t at = address; at <= last; at += BytesInLine(at, last - at + 1)) {
      PageEntry* entry = EnterPage(at);
      if (entry == nullptr) return Access::kUnreadable;
      const uint64_t untimed = entry->special & ~entry->dirty;
      if ((untimed >> LineOf(at)) & 1) TimeAccess(entry, at, &use.miss_ticks);
    }
  }
  return PrepareWrite(address, size);
}

Access OverlayMemory::PrepareWrite(uint64_t address, size_t size) {
  for (size_t done = 0; done < size;) {
    const size_t part = BytesInLine(address, size - done);
    PageEntry* entry = EnterPage(address);
    if (entry == nullptr) return Access::kUnreadable;
    const uint64_t line = LineOf(address);
    if (((entry->dirty >> line) & 1) == 0) {
      if (HasCode(address)) {
        if (stops_at_code) return Access::kToCode;
        stored_to_code = true;
      }
      if (line_count == kLines || use.page_faults >= kMaxPageFaults) return Access::kOverlayFull;
      const uint64_t line_address = address - address % kLineBytes;
      const bool is_untimed = times_accesses && ((entry->special >> line) & 1) != 0;
      if (is_untimed) TimeAccess(entry, address, &use.store_miss_ticks);
      if (!Copy(lines[line_count], line_address, kLineBytes)) return Access::kUnreadable;
      if (logs_reads) LogRead(line_address, lines[line_count], kLineBytes, false);
      if (entry->page == nullptr) {
        entry->page = AddDirtyPage(PageOf(address));
        if (entry->page == nullptr) return Access::kOverlayFull;
      }
      entry->page->lines[line] = line_count;
      unknown[line_count] = 0;
      ++line_count;
      entry->dirty |= uint64_t{1} << line;
      entry->special |= uint64_t{1} << line;
      entry->page->dirty = entry->dirty;
    }
    done += part;
    address += part;
  }
  return Access::kOk;
}

Access OverlayMemory::Write(uint64_t address, size_t size, const void* value,
                            uint64_t unknown_bytes) {
  const Access prepared = PrepareWrite(address, size);
  if (prepared != Access::kOk) return prepared;
  auto* from = static_cast<const uint8_t*>(value);
  for (size_t done = 0; done < size;) {
    const size_t part = BytesInLine(address, size - done);
    const PageEntry* entry = EnterPage(address);
    const unsigned copy = entry->page->lines[LineOf(address)];
    const uint64_t offset = address % kLineBytes;
    CopyBytes(lines[copy] + offset, from + done, part);
    const uint64_t bits = LowBits(part);
    unknown[copy] =
        (unknown[copy] & ~(bits << offset)) | (((unknown_bytes >> done) & bits) << offset);
    done += part;
    address += part;
  }
  return Access::kOk;
}

Access OverlayMemory::WriteUnknown(uint64_t address, size_t size) {
  constexpr uint8_t kZeros[kLineBytes] = {};
  while (size > 0) {
    const size_t part = BytesInLine(address, size);
    const Access access = Write(address, part, kZeros, ~uint64_t{0});
    if (access != Access::kOk) return access;
    address += part;
    size -= part;
  }
  return Access::kOk;
}

bool OverlayMemory::IsUnknown(uint64_t address, size_t size) {
  while (size > 0) {
    const size_t part = BytesInLine(address, size);
    const PageEntry* entry = EnterPage(address);
    if (entry == nullptr || ((entry->dirty >> LineOf(address)) & 1) == 0) return false;
    const uint64_t bits = LowBits(part) << (address % kLineBytes);
    if ((unknown[entry->page->lines[LineOf(address)]] & bits) != bits) return false;
    address += part;
    size -= part;
  }
  return true;
}

bool OverlayMemory::IsStoredTo(uint64_t address, size_t size) {
  if (dirty_page_count == 0) return false;
  const uint64_t last_line = (address + size - 1) / kLineBytes;
  for (uint64_t line = address / kLineBytes; line <= last_line; ++line) {
    const DirtyPage* page = FindDirtyPage(PageOf(line * kLineBytes));
    if (page != nullptr && ((page->dirty >> (line % 64)) & 1)) return true;
  }
  return false;
}

void OverlayMemory::LogRead(uint64_t address, const void* bytes, size_t size, bool is_code) {
  const auto* from = static_cast<const uint8_t*>(bytes);
  for (size_t done = 0; done < size; done += sizeof(uint64_t)) {
    const size_t rest = size - done;
    const size_t part = rest < sizeof(uint64_t) ? rest : sizeof(uint64_t);
    LoggedRead& read = reads[read_count++ % kReads];
    read = {address + done, 0, static_cast<uint32_t>(part), is_code};
    CopyBytes(&read.value, from + done, part);
  }
}

ReadChange OverlayMemory::FindChangeOf(const LoggedRead& read) {
  const ReadChange of_bytes_read = read.is_code ? ReadChange::kCode : ReadChange::kMemory;
  uint64_t now = 0;
  if (!Copy(&now, read.address, read.size)) return of_bytes_read;
  if (now == read.value) return ReadChange::kNone;
  ReadChange change = ReadChange::kNone;
  for (uint32_t i = 0; i < read.size; ++i) {
    const auto now_byte = static_cast<uint8_t>(now >> (8 * i));
    const auto then_byte = static_cast<uint8_t>(read.value >> (8 * i));
    const uint64_t address = read.address + i;
    const DirtyPage* page = FindDirtyPage(PageOf(address));
    const bool has_copy = page != nullptr && ((page->dirty >> LineOf(address)) & 1) != 0;
    const uint64_t offset = address % kLineBytes;
    const unsigned copy = has_copy ? page->lines[LineOf(address)] : 0;
    const uint8_t expected = has_copy ? lines[copy][offset] : then_byte;
    const bool is_unknown = has_copy && ((unknown[copy] >> offset) & 1) != 0;
    if (now_byte == expected || is_unknown) continue;
    if (expected == then_byte) return of_bytes_read;
    change = ReadChange::kStored;
  }
  return change;
}

// Returns whether memory differs from what the burst stored. The value before the store differs
// too, because another thread may have stored it again.
bool OverlayMemory::HasOtherStores() {
  for (const DirtySlot& slot : dirty_slots) {
    if (slot.tag % kPageBytes != epoch) continue;
    const DirtyPage& page = dirty_pages[slot.page];
    for (uint64_t dirty = page.dirty; dirty != 0; dirty &= dirty - 1) {
      const auto line = static_cast<unsigned>(__builtin_ctzll(dirty));
      const unsigned copy = page.lines[line];
      const uint64_t address = PageOf(slot.tag) + line * kLineBytes;
      uint8_t now[kLineBytes];
      if (!Copy(now, address, kLineBytes)) return true;
      for (unsigned i = 0; i < kLineBytes; ++i) {
        if (now[i] != lines[copy][i] && ((unknown[copy] >> i) & 1) == 0) return true;
      }
    }
  }
  return false;
}

ReadChange OverlayMemory::FindChange() {
  ReadChange change = ReadChange::kNone;
  const uint64_t count = read_count < kReads ? read_count : kReads;
  for (uint64_t i = 0; i < count && change != ReadChange::kCode; ++i) {
    const ReadChange found = FindChangeOf(reads[i]);
    if (found > change) change = found;
  }
  if (change == ReadChange::kNone && HasOtherStores()) change = ReadChange::kStored;
  return change;
}

bool OverlayMemory::CopyOfPages(void* to, uint64_t address, size_t size) const {
  auto* bytes = static_cast<uint8_t*>(to);
  while (size > 0) {
    const size_t part = BytesInLine(address, size);
    const PageEntry& entry = pages[MemoryReader::SlotOf(address)];
    if (entry.tag != (PageOf(address) | epoch)) return false;
    CopyBytes(bytes, InCopy(address), part);
    address += part;
    bytes += part;
    size -= part;
  }
  return true;
}

bool OverlayMemory::HasBytes(uint64_t address, const uint8_t* bytes, size_t size) const {
  while (size > 0) {
    const size_t part = BytesInLine(address, size);
    uint8_t now[kLineBytes];
    if (!Copy(now, address, part) || __builtin_memcmp(now, bytes, part) != 0) return false;
    address += part;
    bytes += part;
    size -= part;
  }
  return true;
}

bool OverlayMemory::BeginsInNewPage() const {
  const uint64_t page = PageOf(first_operand);
  if (page == 0 || pages[MemoryReader::SlotOf(page)].tag != (page | epoch)) return false;
  uint64_t found = 0;
  for (uint64_t line = page; line < page + kPageBytes && found == 0; line += kLineBytes) {
    uint64_t words[kLineBytes / sizeof(uint64_t)];
    if (!Copy(words, line, kLineBytes)) return false;
    for (const uint64_t word : words) found |= word;
  }
  return found == 0;
}

bool OverlayMemory::HasCode(uint64_t address) const {
  const unsigned bit = CodeBitOf(address);
  return (code_pages[bit / 64] >> (bit % 64)) & 1;
}

void OverlayMemory::RecordCode(uint64_t address, size_t size) {
  for (const uint64_t byte : {address, address + size - 1}) {
    const unsigned bit = CodeBitOf(byte);
    code_pages[bit / 64] |= uint64_t{1} << (bit % 64);
  }
}

}  // namespace hbbp::trace
