// Open reads the header, and Next, which is called until there is nothing more, one record after
// the other: code that was loaded or moved is returned, with the lines that were recorded for it
// before.
#include "perf_data/jit_dump.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/byte_cursor.h"
#include "perf_data/jit_debug_info.h"

namespace hbbp {
namespace {

constexpr uint32_t kMagic = 0x4A695444;
constexpr uint32_t kVersion = 1;
constexpr uint32_t kMinHeaderBytes = 40;
constexpr uint32_t kPrefixBytes = 16;
constexpr uint64_t kArchTimestamp = 1;  // of the header's flags: times are not of a clock of Linux
constexpr size_t kWindowBytes = 256 << 10;

enum RecordId : uint32_t { kLoad = 0, kMove = 1, kDebugInfo = 2 };

struct Prefix {
  uint32_t id = 0;
  uint32_t size = 0;
  uint64_t time_ns = 0;
};

bool Read(ByteCursor* cursor, Prefix* prefix) {
  return cursor->Read(&prefix->id) && cursor->Read(&prefix->size) && cursor->Read(&prefix->time_ns);
}

struct Load {
  Prefix prefix;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t memory_address = 0;
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t index = 0;
  std::string_view name;
  std::span<const uint8_t> bytes;
};

bool Read(std::span<const uint8_t> record, Load* load) {
  ByteCursor cursor(record);
  if (!Read(&cursor, &load->prefix) || !cursor.Read(&load->pid) || !cursor.Read(&load->tid) ||
      !cursor.Read(&load->memory_address) || !cursor.Read(&load->address) ||
      !cursor.Read(&load->size) || !cursor.Read(&load->index)) {
    return false;
  }
  const auto rest = record.subspan(cursor.position());
  const auto end = std::find(rest.begin(), rest.end(), 0);
  if (end == rest.end()) return false;
  load->name = {reinterpret_cast<const char*>(rest.data()),
                static_cast<size_t>(end - rest.begin())};
  return cursor.Skip(load->name.size() + 1) && cursor.ReadBytes(load->size, &load->bytes);
}

struct Move {
  Prefix prefix;
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t memory_address = 0;
  uint64_t old_address = 0;
  uint64_t new_address = 0;
  uint64_t size = 0;
  uint64_t index = 0;
};

bool Read(std::span<const uint8_t> record, Move* move) {
  ByteCursor cursor(record);
  return Read(&cursor, &move->prefix) && cursor.Read(&move->pid) && cursor.Read(&move->tid) &&
         cursor.Read(&move->memory_address) && cursor.Read(&move->old_address) &&
         cursor.Read(&move->new_address) && cursor.Read(&move->size) && cursor.Read(&move->index);
}

}  // namespace

StatusOr<JitDumpReader> JitDumpReader::Open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return ErrnoStatus(errno, path);
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) return ErrnoStatus(errno, path);
  if (!S_ISREG(status.st_mode)) {
    return MakeStatus(StatusCode::kBadFormat, "%s: not a file", path.c_str());
  }
  return FromFd(std::move(fd), path);
}

StatusOr<JitDumpReader> JitDumpReader::FromFd(UniqueFd fd, std::string name) {
  JitDumpReader reader(std::move(fd), std::move(name));
  HBBP_RETURN_IF_ERROR(reader.ReadHeader());
  return reader;
}

Status JitDumpReader::ReadHeader() {
  ByteCursor cursor(BytesAt(0, kMinHeaderBytes));
  uint32_t magic = 0, version = 0, size = 0, machine = 0, padding, pid;
  uint64_t time, flags = 0;
  if (!cursor.Read(&magic) || !cursor.Read(&version) || !cursor.Read(&size) ||
      !cursor.Read(&machine) || !cursor.Read(&padding) || !cursor.Read(&pid) ||
      !cursor.Read(&time) || !cursor.Read(&flags)) {
    return MakeStatus(StatusCode::kBadFormat, "%s: too short for the header of a jitdump",
                      name_.c_str());
  }
  if (magic == __builtin_bswap32(kMagic)) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: a jitdump of a big-endian machine; only x86-64 code can be decoded",
                      name_.c_str());
  }
  if (magic != kMagic || version != kVersion || size < kMinHeaderBytes) {
    return MakeStatus(StatusCode::kBadFormat, "%s: no jitdump of version %u", name_.c_str(),
                      kVersion);
  }
  if (machine != EM_X86_64) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: a jitdump of machine type %u; only x86-64 code (%u) can be decoded",
                      name_.c_str(), machine, EM_X86_64);
  }
  has_clock_ = (flags & kArchTimestamp) == 0;
  next_ = size;
  return OkStatus();
}

std::span<const uint8_t> JitDumpReader::BytesAt(uint64_t offset, size_t size) {
  const bool is_in_window = offset >= window_start_ && offset - window_start_ <= window_.size() &&
                            size <= window_.size() - (offset - window_start_);
  if (!is_in_window) {
    window_.resize(std::max(size, kWindowBytes));
    window_start_ = offset;
    Fill(offset, &window_);
  }
  const auto from = std::span<const uint8_t>(window_).subspan(offset - window_start_);
  return from.first(std::min(size, from.size()));
}

void JitDumpReader::Fill(uint64_t offset, std::vector<uint8_t>* bytes) const {
  size_t filled = 0;
  while (filled < bytes->size()) {
    const ssize_t got = ::pread(fd_.get(), bytes->data() + filled, bytes->size() - filled,
                                static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  bytes->resize(filled);
}

std::nullopt_t JitDumpReader::Damaged(uint64_t offset, const char* what) {
  problem_ = name_ + ": at byte " + std::to_string(offset) + ": " + what;
  return std::nullopt;
}

std::optional<JitCode> JitDumpReader::Next() {
  while (problem_.empty()) {
    ByteCursor cursor(BytesAt(next_, kPrefixBytes));
    Prefix prefix;
    if (!Read(&cursor, &prefix)) return std::nullopt;
    if (prefix.size < kPrefixBytes || prefix.size > kMaxRecordBytes) {
      return Damaged(next_, "no record has this length");
    }
    const RecordRange record{next_, prefix.size};
    if (BytesAt(record.offset, record.size).size() < record.size) return std::nullopt;
    next_ += prefix.size;
    std::optional<JitCode> code;
    if (prefix.id == kLoad) code = LoadAt(record);
    if (prefix.id == kMove) code = MoveAt(record);
    if (prefix.id == kDebugInfo) RecordDebugInfo(record);
    if (code) return code;
  }
  return std::nullopt;
}

void JitDumpReader::RecordDebugInfo(RecordRange record) {
  const auto address = AddressOfJitDebugInfo(BytesAt(record.offset, record.size));
  if (address) lines_to_come_[*address] = record;
}

CodeLines JitDumpReader::FindLines(uint64_t index, uint64_t code_bytes) {
  const auto record = lines_.find(index);
  if (record == lines_.end()) return {};
  return ReadJitDebugInfo(BytesAt(record->second.offset, record->second.size), code_bytes);
}

std::optional<JitCode> JitDumpReader::ReadCode(RecordRange load_record, uint64_t time_ns,
                                               uint32_t pid, uint64_t address) {
  Load load;
  if (!Read(BytesAt(load_record.offset, load_record.size), &load)) return std::nullopt;
  if (load.bytes.empty()) return std::nullopt;
  CodeLines lines = FindLines(load.index, load.bytes.size());
  // Views of it are gone if the lines are in another part of the file.
  if (!Read(BytesAt(load_record.offset, load_record.size), &load)) return std::nullopt;
  return JitCode{has_clock_ ? time_ns : 0, pid, address, load.name, load.bytes, std::move(lines)};
}

std::optional<JitCode> JitDumpReader::LoadAt(RecordRange record) {
  Load load;
  if (!Read(BytesAt(record.offset, record.size), &load)) {
    return Damaged(record.offset, "a record of loaded code is too short for its fields");
  }
  loads_[load.index] = record;
  lines_.erase(load.index);
  if (const auto lines = lines_to_come_.extract(load.address)) lines_[load.index] = lines.mapped();
  return ReadCode(record, load.prefix.time_ns, load.pid, load.address);
}

std::optional<JitCode> JitDumpReader::MoveAt(RecordRange record) {
  Move move;
  if (!Read(BytesAt(record.offset, record.size), &move)) {
    return Damaged(record.offset, "a record of moved code is too short for its fields");
  }
  const auto origin = loads_.find(move.index);
  if (origin == loads_.end()) return std::nullopt;
  const RecordRange code = origin->second;
  const auto lines = lines_.find(move.index);
  const uint64_t bytes = code.size + (lines != lines_.end() ? lines->second.size : 0);
  if (bytes > kMaxMovedBytes - moved_bytes_) {
    return Damaged(record.offset, "no JIT moves so much code");
  }
  moved_bytes_ += bytes;
  if (moved_offset_ != code.offset) {
    moved_.resize(code.size);
    moved_offset_ = code.offset;
    Fill(code.offset, &moved_);
  }
  Load load;
  if (!Read(moved_, &load) || load.bytes.empty()) return std::nullopt;
  return JitCode{
      has_clock_ ? move.prefix.time_ns : 0,    move.pid, move.new_address, load.name, load.bytes,
      FindLines(move.index, load.bytes.size())};
}

bool IsJitDumpPath(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  constexpr std::string_view kPrefix = "jit-", kSuffix = ".dump";
  if (!path.starts_with(kPrefix) || !path.ends_with(kSuffix)) return false;
  if (path.size() <= kPrefix.size() + kSuffix.size()) return false;
  path.remove_prefix(kPrefix.size());
  path.remove_suffix(kSuffix.size());
  return std::all_of(path.begin(), path.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace hbbp
