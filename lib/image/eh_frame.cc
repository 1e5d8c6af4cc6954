// EhFrame reads the header of .eh_frame_hdr once, in its constructor. Find then does a binary
// search in its table and decodes the one FDE that may contain the address, with the pointer
// encoding of its CIE. Without a usable table, Find and All use Walked, which decodes every entry
// of .eh_frame at its first call. ElfImage calls them for the bounds of functions.
#include "image/eh_frame.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "base/byte_cursor.h"
#include "base/leb128.h"

namespace hbbp {
namespace {

// In DW_EH_PE_*, the low four bits are the format of a pointer, and the next three what it is
// relative to (LSB Core, "DWARF Extensions").
enum : uint8_t {
  kFormatMask = 0x0f,
  kFormatAbsolute = 0x00,
  kFormatUleb128 = 0x01,
  kFormatUdata2 = 0x02,
  kFormatUdata4 = 0x03,
  kFormatUdata8 = 0x04,
  kFormatSleb128 = 0x09,
  kFormatSdata2 = 0x0a,
  kFormatSdata4 = 0x0b,
  kFormatSdata8 = 0x0c,
  kRelationMask = 0x70,
  kRelationAbsolute = 0x00,
  kRelationPc = 0x10,
  kRelationData = 0x30,
  kIndirect = 0x80,
  kOmitted = 0xff,
};
constexpr uint8_t kTableEncoding = kRelationData | kFormatSdata4;

// A header has a version, three encodings, and two pointers of eight bytes at most.
constexpr uint64_t kMaxHeaderSize = 4 + 2 * 8;
constexpr uint64_t kTableEntrySize = 8;
// A CIE holds an augmentation string and the first unwind instructions; an FDE is read up to its
// address range only.
constexpr uint64_t kMaxCieBytes = 256;
constexpr uint64_t kFdeBytes = 64;

template <typename T>
bool ReadAs(ByteCursor* cursor, uint64_t* value) {
  T narrow;
  if (!cursor->Read(&narrow)) return false;
  *value = static_cast<uint64_t>(static_cast<int64_t>(narrow));
  return true;
}

bool ReadFormat(ByteCursor* cursor, uint8_t format, uint64_t* value) {
  switch (format) {
    case kFormatAbsolute:
    case kFormatUdata8:
    case kFormatSdata8:
      return cursor->Read(value);
    case kFormatUleb128:
      return ReadUleb128(cursor, value);
    case kFormatSleb128:
      return ReadSleb128(cursor, value);
    case kFormatUdata2:
      return ReadAs<uint16_t>(cursor, value);
    case kFormatSdata2:
      return ReadAs<int16_t>(cursor, value);
    case kFormatUdata4:
      return ReadAs<uint32_t>(cursor, value);
    case kFormatSdata4:
      return ReadAs<int32_t>(cursor, value);
    default:
      return false;
  }
}

// `base` is the address of the first byte of the cursor. Only absolute pointers and those relative
// to themselves are read: the others need registers, or are not used on x86-64.
bool ReadPointer(ByteCursor* cursor, ModuleAddress base, uint8_t encoding, uint64_t* value) {
  ModuleAddress here = base + cursor->position();
  if (encoding == kOmitted || (encoding & kIndirect) != 0) return false;
  if (!ReadFormat(cursor, encoding & kFormatMask, value)) return false;
  switch (encoding & kRelationMask) {
    case kRelationAbsolute:
      return true;
    case kRelationPc:
      *value += here.value;
      return true;
    default:
      return false;
  }
}

// A CIE and an FDE both begin with it.
struct EntryHeader {
  uint64_t size = 0;  // of the whole entry, length field included; 0: the terminator
  uint32_t id = 0;    // 0: a CIE; otherwise the distance from this field back to the CIE
  size_t id_position = 0;
};

bool ReadEntryHeader(ByteCursor* cursor, EntryHeader* header) {
  uint32_t short_length;
  if (!cursor->Read(&short_length)) return false;
  if (short_length == 0) {
    header->size = 0;
    return true;
  }
  uint64_t length = short_length;
  if (short_length == UINT32_MAX && !cursor->Read(&length)) return false;
  if (length < sizeof(header->id) || length > UINT32_MAX) return false;
  header->size = cursor->position() + length;
  header->id_position = cursor->position();
  return cursor->Read(&header->id);
}

// The encodings of pointers in the FDEs of a CIE.
struct Encodings {
  uint8_t range = kFormatAbsolute;
  uint8_t handlers = kOmitted;  // of the pointer to the table of handlers (LSDA)
};

std::optional<Encodings> EncodingsOfCie(const Segments& segments, ModuleAddress address) {
  ByteCursor cursor(segments.DataAt(address, kMaxCieBytes));
  EntryHeader header;
  uint8_t version;
  std::string augmentation;
  uint64_t ignored;
  if (!ReadEntryHeader(&cursor, &header) || header.size == 0 || header.id != 0 ||
      !cursor.Read(&version) || !cursor.ReadCString(&augmentation)) {
    return std::nullopt;
  }
  Encodings encodings;
  if (augmentation.empty()) return encodings;
  if (augmentation.front() != 'z') return std::nullopt;
  // Skip the alignment factors of code and data, the return address register, and the size of the
  // augmentation.
  if (!ReadUleb128(&cursor, &ignored) || !ReadSleb128(&cursor, &ignored) ||
      !(version == 1 ? cursor.Skip(1) : ReadUleb128(&cursor, &ignored)) ||
      !ReadUleb128(&cursor, &ignored)) {
    return std::nullopt;
  }
  bool has_range = false;
  for (char letter : augmentation.substr(1)) {
    uint8_t encoding;
    switch (letter) {
      case 'R':
        if (!cursor.Read(&encodings.range)) return std::nullopt;
        has_range = true;
        break;
      case 'P':
        if (!cursor.Read(&encoding) || !ReadFormat(&cursor, encoding & kFormatMask, &ignored)) {
          return std::nullopt;
        }
        break;
      case 'L':
        if (!cursor.Read(&encodings.handlers)) return std::nullopt;
        break;
      case 'S':
      case 'B':
        break;
      default:
        return has_range ? std::optional(encodings) : std::nullopt;
    }
  }
  return encodings;
}

// Reads the address range of an FDE; the cursor is behind its header.
std::optional<AddressRange> RangeOfFde(ByteCursor* cursor, ModuleAddress fde,
                                       const EntryHeader& header, uint8_t encoding) {
  uint64_t start;
  uint64_t size;
  if (!ReadPointer(cursor, fde, encoding, &start) ||
      !ReadFormat(cursor, encoding & kFormatMask, &size) || cursor->position() > header.size ||
      size > UINT64_MAX - start) {
    return std::nullopt;
  }
  return AddressRange{{start}, {start + size}};
}

struct Fde {
  AddressRange range;
  std::optional<ModuleAddress> handlers;
};

std::optional<Fde> ReadFde(const Segments& segments, ModuleAddress fde) {
  ByteCursor cursor(segments.DataAt(fde, kFdeBytes));
  EntryHeader header;
  if (!ReadEntryHeader(&cursor, &header) || header.size == 0 || header.id == 0) {
    return std::nullopt;
  }
  const std::optional<Encodings> encodings =
      EncodingsOfCie(segments, fde + header.id_position - header.id);
  if (!encodings) return std::nullopt;
  const auto range = RangeOfFde(&cursor, fde, header, encodings->range);
  if (!range) return std::nullopt;
  Fde result{*range, std::nullopt};
  uint64_t augmentation_size;
  if (encodings->handlers == kOmitted || !ReadUleb128(&cursor, &augmentation_size)) return result;
  ByteCursor raw = cursor;
  uint64_t distance;
  uint64_t handlers;
  const bool is_null =
      ReadFormat(&raw, encodings->handlers & kFormatMask, &distance) && distance == 0;
  if (is_null) return result;
  // No table lies at 0, which stands for a pointer of another form.
  if (!ReadPointer(&cursor, fde, encodings->handlers, &handlers)) handlers = 0;
  result.handlers = ModuleAddress{handlers};
  return result;
}

}  // namespace

EhFrame::EhFrame(const Segments* segments, std::optional<ModuleAddress> header,
                 std::optional<AddressRange> frames)
    : segments_(segments), header_(header), frames_(frames) {
  if (header_) ReadHeader();
}

void EhFrame::ReadHeader() {
  ByteCursor cursor(segments_->DataAt(*header_, kMaxHeaderSize));
  uint8_t version;
  uint8_t frames_encoding;
  uint8_t count_encoding;
  uint8_t table_encoding;
  if (!cursor.Read(&version) || version != 1 || !cursor.Read(&frames_encoding) ||
      !cursor.Read(&count_encoding) || !cursor.Read(&table_encoding)) {
    return;
  }
  uint64_t frames;
  uint64_t count;
  if (!ReadPointer(&cursor, *header_, frames_encoding, &frames)) return;
  const Segment* segment = segments_->Find({frames});
  if (!frames_ && segment != nullptr) frames_ = AddressRange{{frames}, segment->range.end};
  if (table_encoding != kTableEncoding || !ReadPointer(&cursor, *header_, count_encoding, &count)) {
    return;
  }
  ModuleAddress table = *header_ + cursor.position();
  segment = segments_->Find(table);
  if (segment == nullptr) return;
  table_ = segment->offset + (table - segment->range.start);
  table_count_ = std::min(count, (segment->range.end - table) / kTableEntrySize);
}

EhFrame::TableEntry EhFrame::EntryAt(uint64_t index) const {
  ByteCursor cursor(segments_->file().Span(table_ + index * kTableEntrySize, kTableEntrySize));
  int32_t start = 0;
  int32_t fde = 0;
  // Bytes that a truncated file has lost read as zero, for which no lookup finds a range.
  if (!cursor.Read(&start) || !cursor.Read(&fde)) return {};
  return {*header_ + static_cast<uint64_t>(int64_t{start}),
          *header_ + static_cast<uint64_t>(int64_t{fde})};
}

std::optional<AddressRange> EhFrame::RangeOfEntry(uint64_t index) const {
  const std::optional<Fde> fde = ReadFde(*segments_, EntryAt(index).fde);
  if (!fde) return std::nullopt;
  std::optional<AddressRange> range = fde->range;
  if (index + 1 < table_count_) range->end = std::min(range->end, EntryAt(index + 1).start);
  if (range->end <= range->start) return std::nullopt;
  return range;
}

EhFrame::Neighbourhood EhFrame::Find(ModuleAddress address) const {
  return table_count_ != 0 ? FindInTable(address) : FindInWalked(address);
}

uint64_t EhFrame::CountEntriesUpTo(ModuleAddress address) const {
  uint64_t low = 0;
  uint64_t high = table_count_;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (EntryAt(middle).start <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool EhFrame::HasDistantHandlers(const AddressRange& part) const {
  if (table_count_ == 0) return frames_.has_value();
  const uint64_t count = CountEntriesUpTo(part.start);
  if (count == 0) return false;
  const std::optional<Fde> fde = ReadFde(*segments_, EntryAt(count - 1).fde);
  if (!fde) return true;
  if (!fde->range.Contains(part.start) || !fde->handlers) return false;
  if (part.start != fde->range.start || part.end < fde->range.end) return true;
  // The table begins with the encoding of the address that handlers count from, which is omitted
  // if that is the start of the range.
  const auto table = segments_->DataAt(*fde->handlers, 1);
  return table.empty() || table[0] != kOmitted;
}

EhFrame::Neighbourhood EhFrame::FindInTable(ModuleAddress address) const {
  Neighbourhood result;
  const uint64_t low = CountEntriesUpTo(address);
  if (low < table_count_) result.next_start = EntryAt(low).start;
  if (low == 0) return result;
  std::optional<AddressRange> range = RangeOfEntry(low - 1);
  if (!range) {
    // Of several entries with one start, linkers list any: one of an empty function, say.
    if (low != table_count_) {
      result.around = AddressRange{EntryAt(low - 1).start, result.next_start};
    }
    return result;
  }
  if (range->Contains(address)) {
    result.around = range;
  } else if (range->end <= address) {
    result.previous_end = range->end;
  }
  return result;
}

EhFrame::Neighbourhood EhFrame::FindInWalked(ModuleAddress address) const {
  const std::vector<AddressRange>& ranges = Walked();
  auto after = std::ranges::upper_bound(ranges, address, {}, &AddressRange::start);
  Neighbourhood result;
  if (after != ranges.end()) result.next_start = after->start;
  if (after == ranges.begin()) return result;
  const AddressRange& before = *std::prev(after);
  if (before.Contains(address)) {
    result.around = before;
  } else {
    result.previous_end = before.end;
  }
  return result;
}

std::vector<AddressRange> EhFrame::All() const {
  if (table_count_ == 0) return Walked();
  std::vector<AddressRange> ranges;
  for (uint64_t i = 0; i < table_count_; ++i) {
    std::optional<AddressRange> range = RangeOfEntry(i);
    if (range) ranges.push_back(*range);
  }
  std::ranges::sort(ranges, {}, &AddressRange::start);
  return ranges;
}

const std::vector<AddressRange>& EhFrame::Walked() const {
  if (walked_) return *walked_;
  std::vector<AddressRange>& ranges = walked_.emplace();
  if (!frames_) return ranges;
  ModuleAddress at = frames_->start;
  while (at < frames_->end) {
    ByteCursor cursor(segments_->DataAt(at, kFdeBytes));
    EntryHeader header;
    if (!ReadEntryHeader(&cursor, &header) || header.size == 0 || header.size > frames_->end - at) {
      break;
    }
    if (header.id != 0) {
      const std::optional<Fde> fde = ReadFde(*segments_, at);
      if (fde && fde->range.start < fde->range.end) ranges.push_back(fde->range);
    }
    at = at + header.size;
  }
  std::ranges::sort(ranges, {}, &AddressRange::start);
  for (size_t i = 1; i < ranges.size(); ++i) {
    ranges[i - 1].end = std::min(ranges[i - 1].end, ranges[i].start);
  }
  std::erase_if(ranges, [](const AddressRange& range) { return range.start == range.end; });
  return ranges;
}

}  // namespace hbbp
