// LineTable::Open finds the debug information (FindDebugInfo), unpacks it if that pays off
// (Unpack), and lets libdw list the units, whose ranges become the UnitIndex (Index). Find looks an
// address up in the index, decodes the unit if LineMemory does not have it (Unit, Decode), and
// follows the scopes from the innermost outward. libdw is closed and opened again when what it
// keeps itself exceeds its share of the limit. analysis/ opens the tables of a profile by it.
#include "symbols/line_table.h"

#include <dwarf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>

#include "symbols/libdw.h"
#include "symbols/line_unit.h"
#include "symbols/split_units.h"
#include "symbols/unit_index.h"
#include "symbols/unpacked_debug.h"

namespace hbbp {
namespace {

std::string HexText(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, value);
  return text;
}

// FileIdentity is that of a file when it was opened. libdw reads the file through a mapping, and a
// page that a truncated file has lost raises SIGBUS.
class FileIdentity {
 public:
  explicit FileIdentity(int fd) { is_known_ = ::fstat(fd, &status_) == 0; }

  uint64_t bytes() const { return static_cast<uint64_t>(status_.st_size); }

  bool HasChanged(int fd) const {
    struct stat now;
    return !is_known_ || ::fstat(fd, &now) != 0 || now.st_size != status_.st_size ||
           now.st_mtim.tv_sec != status_.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != status_.st_mtim.tv_nsec;
  }

 private:
  struct stat status_ = {};
  bool is_known_ = false;
};

// This is an estimate of the size of a row in libdw, with what belongs to it.
constexpr uint64_t kLibdwBytesPerRow = 64;
constexpr uint64_t kLibdwBytesPerScope = 64;

// Returns the budget for the code ranges of units. A range takes at most 32 bytes of the index, and
// a few hundred while that is built: the budget fits that into the limit, and leaves most of the
// limit to decoded units. Tiny functions (clang -gmlt -ffunction-sections, compressed) have seven
// bytes of file each.
RangeBudget RangesOfModule(uint64_t file_bytes, uint64_t memory_limit) {
  constexpr size_t kAlways = 1 << 16;
  constexpr uint64_t kFileBytesPerRange = 4, kMemoryPerRange = 128, kReadPerFileByte = 2;
  return {std::max<size_t>(
              kAlways, std::min(file_bytes / kFileBytesPerRange, memory_limit / kMemoryPerRange)),
          file_bytes * kReadPerFileByte};
}

// This owns an open Dwarf. libdw keeps what it decoded, and the files of split units, until it is
// closed.
struct OpenDwarf {
  explicit OpenDwarf(const Libdw& functions) : libdw(functions) {}
  OpenDwarf(const OpenDwarf&) = delete;
  ~OpenDwarf() {
    if (dwarf != nullptr) libdw.end_(dwarf);
    if (shared != nullptr) libdw.end_(shared);
  }

  // Returns whether it should be closed and opened again.
  bool IsUsedUp(LineCost limit) const {
    return cost.bytes > limit.bytes / 2 || cost.descriptors > limit.descriptors / 2;
  }

  const Libdw& libdw;
  Dwarf* dwarf = nullptr;
  Dwarf* shared = nullptr;
  LineCost cost;
};

// KeptUnit is a decoded unit, with those of its strings that were returned to callers.
struct KeptUnit {
  explicit KeptUnit(LineUnit decoded)
      : unit(std::move(decoded)),
        files(unit.files.size()),
        names(unit.names.size()),
        bytes(unit.MemoryBytes() + (files.size() + names.size()) * sizeof(std::string_view)) {}

  LineUnit unit;
  std::vector<std::string_view> files;
  std::vector<std::string_view> names;
  uint64_t bytes;
};

}  // namespace

struct LineTable::State {
  State(const Libdw& functions, DebugInfoFile debug_file, std::string module_path,
        DebugInfoOptions line_options, std::shared_ptr<LineMemory> line_memory)
      : libdw(functions),
        file(std::move(debug_file)),
        identity(file.fd.get()),
        module(std::move(module_path)),
        options(std::move(line_options)),
        memory(std::move(line_memory)),
        problem(file.problem),
        split_units(libdw, file, module, options.search.cancel) {}
  ~State() {
    memory->Drop(open.lock().get());
    for (const std::weak_ptr<KeptUnit>& unit : units) memory->Drop(unit.lock().get());
    memory->Release(index.MemoryBytes());
  }

  StatusOr<std::shared_ptr<OpenDwarf>> Opened() {
    std::shared_ptr<OpenDwarf> known = open.lock();
    if (known != nullptr && !known->IsUsedUp(memory->limit())) return known;
    if (known != nullptr) memory->Drop(known.get());
    known.reset();
    auto opened = std::make_unique<OpenDwarf>(libdw);
    opened->dwarf = libdw.begin_(LibdwFd(), DWARF_C_READ);
    if (opened->dwarf == nullptr) {
      return MakeStatus(StatusCode::kBadFormat,
                        "%s: DWARF cannot be read (libdw: %s); build or "
                        "install it again",
                        file.path.c_str(), libdw.Error());
    }
    if (file.shared_fd.valid()) {
      opened->shared = libdw.begin_(file.shared_fd.get(), DWARF_C_READ);
      if (opened->shared != nullptr) libdw.setalt_(opened->dwarf, opened->shared);
    }
    known = std::move(opened);
    open = known;
    return known;
  }

  void ThrowIfCancelled() const { CancelCheck(options.search.cancel).CheckNow(); }
  int LibdwFd() const { return unpacked.valid() ? unpacked.get() : file.fd.get(); }

  void Progress(uint64_t done) const {
    if (!options.progress) return;
    options.progress(module, unpacked_bytes + std::min(done, file.info_bytes),
                     unpacked_bytes + file.info_bytes);
  }

  // If this fails, libdw unpacks all of it in memory.
  void Unpack() {
    StatusOr<UniqueFd> file_of_all =
        UnpackDebugSections(file.fd.get(), file.path, [&](uint64_t done, uint64_t total) {
          unpacked_bytes = total;
          if (options.progress) options.progress(module, done, total + file.info_bytes);
          ThrowIfCancelled();
        });
    if (file_of_all.ok()) unpacked = *std::move(file_of_all);
  }

  void RecordProblem(std::string text) {
    if (problem.empty()) problem = std::move(text);
  }

  Status Index();
  std::shared_ptr<KeptUnit> Unit(uint32_t number);
  StatusOr<LineUnit> Decode(uint32_t number);
  // `known` caches the result.
  std::string_view Intern(const std::string& text, std::string_view* known) {
    if (known->data() == nullptr) *known = *strings.insert(text).first;
    return *known;
  }

  const Libdw& libdw;
  const DebugInfoFile file;
  const FileIdentity identity;
  const std::string module;
  const DebugInfoOptions options;

  const std::shared_ptr<LineMemory> memory;

  std::mutex mutex;  // everything below
  std::string problem;
  SplitUnits split_units;
  UniqueFd unpacked;
  uint64_t unpacked_bytes = 0;
  std::optional<LineSection> line_section;
  std::weak_ptr<OpenDwarf> open;
  UnitIndex index;
  std::vector<Dwarf_Off> unit_dies;  // offsets
  std::vector<std::weak_ptr<KeptUnit>> units;
  uint64_t units_decoded = 0;
  std::unordered_set<std::string> strings;  // that were returned to callers
};

Status LineTable::State::Index() {
  HBBP_ASSIGN_OR_RETURN(const std::shared_ptr<OpenDwarf> opened, Opened());
  constexpr size_t kUnitsPerReport = 64;
  RangeBudget budget = RangesOfModule(identity.bytes(), memory->limit().bytes);
  std::vector<UnitRange> ranges;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  Dwarf_Half version = 0;
  uint8_t type = 0;
  int result;
  Dwarf_Off last = 0;
  while ((result = libdw.get_units_(opened->dwarf, unit, &unit, &version, &type, &die, nullptr)) ==
         0) {
    ThrowIfCancelled();
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    const Dwarf_Off offset = libdw.dieoffset_(&die);
    const auto number = static_cast<uint32_t>(unit_dies.size());
    unit_dies.push_back(offset);
    last = offset;
    for (const AddressRange& range : ReadRanges(libdw, &die, &budget)) {
      ranges.push_back({range, number});
    }
    if (number % kUnitsPerReport == 0) Progress(offset);
  }
  if (result < 0) {
    RecordProblem(file.path + ": damaged DWARF in .debug_info after " + HexText(last) +
                  " (libdw: " + libdw.Error() +
                  "); what follows has no lines; build or install it again");
  }
  Progress(file.info_bytes);
  if (budget.kept == 0 || budget.read == 0) {
    RecordProblem(file.path +
                  ": has more ranges of code in .debug_info than its size and the limit of memory "
                  "allow; what comes after " +
                  std::to_string(ranges.size()) + " has no lines; build or install it again");
  }
  if (ranges.empty() && result < 0) {
    return Status(StatusCode::kBadFormat, problem);
  }
  index = UnitIndex(std::move(ranges));
  memory->Hold(index.MemoryBytes());
  units.resize(unit_dies.size());
  memory->Use(opened, opened->cost);
  return OkStatus();
}

std::shared_ptr<KeptUnit> LineTable::State::Unit(uint32_t number) {
  std::shared_ptr<KeptUnit> unit = units[number].lock();
  if (unit == nullptr) {
    StatusOr<LineUnit> decoded = Decode(number);
    if (!decoded.ok()) RecordProblem(decoded.status().message());
    ++units_decoded;
    // These are two allocations on purpose: with one, the weak pointer would keep the memory.
    unit = std::make_unique<KeptUnit>(decoded.ok() ? *std::move(decoded) : LineUnit());
    units[number] = unit;
  }
  if (!memory->IsLast(unit.get())) memory->Use(unit, {unit->bytes, 0});
  return unit;
}

StatusOr<LineUnit> LineTable::State::Decode(uint32_t number) {
  ThrowIfCancelled();
  if (identity.HasChanged(file.fd.get())) {
    return MakeStatus(StatusCode::kMismatch, "%s: was changed while it was read; start again",
                      file.path.c_str());
  }
  HBBP_ASSIGN_OR_RETURN(const std::shared_ptr<OpenDwarf> opened, Opened());
  Dwarf_Die die;
  if (libdw.offdie_(opened->dwarf, unit_dies[number], &die) == nullptr) {
    return MakeStatus(StatusCode::kBadFormat, "%s: damaged DWARF in .debug_info at 0x%llx (%s)",
                      file.path.c_str(), static_cast<unsigned long long>(unit_dies[number]),
                      libdw.Error());
  }
  StatusOr<std::optional<SplitUnit>> found = split_units.Find(&die, LibdwFd());
  if (!found.ok()) RecordProblem(found.status().message());
  std::optional<SplitUnit> split = found.ok() ? *std::move(found) : std::nullopt;
  if (split && !split->IsOfPackage()) ++opened->cost.descriptors;
  Dwarf_Die* const functions = split ? &split->die : &die;
  Dwarf_Die* const files = split && split->IsOfPackage() ? &die : functions;
  if (!line_section) line_section.emplace(LibdwFd(), options.search.cancel);
  LineUnit decoded =
      ReadLineUnit(libdw, &die, functions, files, &*line_section, options.search.cancel);
  if (!decoded.problem.empty()) {
    RecordProblem(file.path + ": of the unit at " + HexText(unit_dies[number]) + " " +
                  decoded.problem + "; its code has no lines; build or install it again");
  }
  opened->cost.bytes +=
      decoded.rows_read * kLibdwBytesPerRow + decoded.scopes.size() * kLibdwBytesPerScope;
  memory->Use(opened, opened->cost);
  return decoded;
}

LineTable::LineTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
LineTable::LineTable(GeneratedLines generated) : generated_(std::move(generated)) {}
LineTable::~LineTable() = default;

StatusOr<std::unique_ptr<LineTable>> LineTable::Open(const DebugTarget& target,
                                                     const DebugInfoOptions& options,
                                                     std::shared_ptr<LineMemory> memory) {
  HBBP_ASSIGN_OR_RETURN(const Libdw* libdw, LoadLibdw());
  HBBP_ASSIGN_OR_RETURN(DebugInfoFile file, FindDebugInfo(target, options.search));
  if (memory == nullptr) memory = std::make_shared<LineMemory>(options.memory_limit);
  auto state =
      std::make_unique<State>(*libdw, std::move(file), target.path, options, std::move(memory));
  if (state->file.is_packed) state->Unpack();
  HBBP_RETURN_IF_ERROR(state->Index());
  return std::unique_ptr<LineTable>(new LineTable(std::move(state)));
}

LineRange LineTable::Find(ModuleAddress address) const {
  if (state_ == nullptr) return generated_.Find(address);
  LineRange found = FindInFile({address.value - slide_});
  if (found.range.start.value != 0) found.range.start.value += slide_;
  if (found.range.end.value != UINT64_MAX) found.range.end.value += slide_;
  for (LineFrame& frame : found.frames) {
    if (frame.start.value != 0) frame.start.value += slide_;
  }
  return found;
}

LineRange LineTable::FindInFile(ModuleAddress address) const {
  std::lock_guard lock(state_->mutex);
  LineRange found;
  found.range = {{0}, {UINT64_MAX}};
  const uint32_t number = state_->index.Find(address, &found.range);
  if (number == kNoUnit) return found;
  const std::shared_ptr<KeptUnit> kept = state_->Unit(number);
  const LineUnit& unit = kept->unit;
  const LineRow* row = unit.FindRow(address, &found.range);
  uint32_t scope = unit.FindScope(address, &found.range);
  const auto add_file = [&](LineFrame* frame, uint32_t file, uint32_t line, uint32_t column) {
    if (file != kNoFile) frame->file = state_->Intern(unit.files[file], &kept->files[file]);
    frame->line = line;
    frame->column = column;
  };
  LineFrame frame;
  if (row != nullptr) {
    add_file(&frame, row->file, row->line, row->column);
    frame.discriminator = row->discriminator;
  }
  while (scope != kNoScope) {
    const LineScope& inner = unit.scopes[scope];
    frame.function = state_->Intern(unit.names[inner.name], &kept->names[inner.name]);
    frame.function_line = inner.declared_line;
    frame.start.value = inner.start;
    found.frames.push_back(frame);
    scope = inner.parent;
    frame = {};
    if (scope == kNoScope) break;
    add_file(&frame, inner.call_file, inner.call_line, inner.call_column);
    frame.discriminator = inner.call_discriminator;
  }
  if (found.frames.empty() && row != nullptr) found.frames.push_back(frame);
  return found;
}

const std::string& LineTable::debug_file() const {
  static const std::string kNone;
  return state_ == nullptr ? kNone : state_->file.path;
}

std::string LineTable::Problem() const {
  if (state_ == nullptr) return {};
  std::lock_guard lock(state_->mutex);
  return state_->problem;
}

uint64_t LineTable::units_decoded() const {
  if (state_ == nullptr) return 0;
  std::lock_guard lock(state_->mutex);
  return state_->units_decoded;
}

}  // namespace hbbp
