#include "symbols/source_lines.h"

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

// What a file was when it was opened. libdw reads it through a mapping, and a page that a
// truncated file does not have any more raises SIGBUS.
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

// libdw's own estimate of a row and what hangs on it.
constexpr uint64_t kLibdwBytesPerRow = 64;
constexpr uint64_t kLibdwBytesPerScope = 64;

// Of the code of units. A range takes 32 bytes of the index at most, and some hundred while that is
// made: all of it within the limit, and most of the limit left for what is decoded later. Tiny
// functions (clang -gmlt -ffunction-sections, compressed) have seven bytes of file for each.
RangeBudget RangesOfModule(uint64_t file_bytes, uint64_t memory_limit) {
  constexpr size_t kAlways = 1 << 16;
  constexpr uint64_t kFileBytesPerRange = 4, kMemoryPerRange = 128, kReadPerFileByte = 2;
  return {std::max<size_t>(
              kAlways, std::min(file_bytes / kFileBytesPerRange, memory_limit / kMemoryPerRange)),
          file_bytes * kReadPerFileByte};
}

// What libdw has open. What it decoded, and the files of split units, it keeps until it is closed.
struct OpenDwarf {
  explicit OpenDwarf(const Libdw& functions) : libdw(functions) {}
  OpenDwarf(const OpenDwarf&) = delete;
  ~OpenDwarf() {
    if (dwarf != nullptr) libdw.end_(dwarf);
    if (shared != nullptr) libdw.end_(shared);
  }

  // Is it better to begin anew than to go on?
  bool IsUsedUp(LineCost limit) const {
    return cost.bytes > limit.bytes / 2 || cost.descriptors > limit.descriptors / 2;
  }

  const Libdw& libdw;
  Dwarf* dwarf = nullptr;
  Dwarf* shared = nullptr;
  LineCost cost;
};

// A decoded unit, with those of its strings that were handed out.
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

struct SourceLines::State {
  State(const Libdw& functions, DebugInfoFile debug_file, std::string module_path,
        SourceOptions source_options, std::shared_ptr<LineMemory> line_memory)
      : libdw(functions),
        file(std::move(debug_file)),
        identity(file.fd.get()),
        module(std::move(module_path)),
        options(std::move(source_options)),
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

  void LookForCancel() const { CancelCheck(options.search.cancel).CheckNow(); }
  int LibdwFd() const { return unpacked.valid() ? unpacked.get() : file.fd.get(); }

  void Progress(uint64_t done) const {
    if (!options.progress) return;
    options.progress(module, unpacked_bytes + std::min(done, file.info_bytes),
                     unpacked_bytes + file.info_bytes);
  }

  // Where that fails, libdw has it all in memory.
  void Unpack() {
    StatusOr<UniqueFd> file_of_all =
        UnpackDebugSections(file.fd.get(), file.path, [&](uint64_t done, uint64_t total) {
          unpacked_bytes = total;
          if (options.progress) options.progress(module, done, total + file.info_bytes);
          LookForCancel();
        });
    if (file_of_all.ok()) unpacked = *std::move(file_of_all);
  }

  void Complain(std::string text) {
    if (problem.empty()) problem = std::move(text);
  }

  Status Index();
  std::shared_ptr<KeptUnit> Unit(uint32_t number);
  StatusOr<LineUnit> Decode(uint32_t number);
  // `known` is where the answer is kept.
  std::string_view Intern(const std::string& text, std::string_view* known) {
    if (known->data() == nullptr) *known = *strings.insert(text).first;
    return *known;
  }

  const Libdw& libdw;
  const DebugInfoFile file;
  const FileIdentity identity;
  const std::string module;
  const SourceOptions options;

  const std::shared_ptr<LineMemory> memory;

  std::mutex mutex;  // everything below
  std::string problem;
  SplitUnits split_units;
  UniqueFd unpacked;
  uint64_t unpacked_bytes = 0;
  std::weak_ptr<OpenDwarf> open;
  UnitIndex index;
  std::vector<Dwarf_Off> unit_dies;  // offsets
  std::vector<std::weak_ptr<KeptUnit>> units;
  uint64_t units_decoded = 0;
  std::unordered_set<std::string> strings;  // that were handed out
};

Status SourceLines::State::Index() {
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
    LookForCancel();
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    const Dwarf_Off offset = libdw.dieoffset_(&die);
    const auto number = static_cast<uint32_t>(unit_dies.size());
    unit_dies.push_back(offset);
    last = offset;
    for (const AddressRange& range : RangesOf(libdw, &die, &budget)) {
      ranges.push_back({range, number});
    }
    if (number % kUnitsPerReport == 0) Progress(offset);
  }
  if (result < 0) {
    Complain(file.path + ": damaged DWARF in .debug_info after " + HexText(last) + " (libdw: " +
             libdw.Error() + "); what follows has no lines; build or install it again");
  }
  Progress(file.info_bytes);
  if (budget.kept == 0 || budget.read == 0) {
    Complain(file.path +
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

std::shared_ptr<KeptUnit> SourceLines::State::Unit(uint32_t number) {
  std::shared_ptr<KeptUnit> unit = units[number].lock();
  if (unit == nullptr) {
    StatusOr<LineUnit> decoded = Decode(number);
    if (!decoded.ok()) Complain(decoded.status().message());
    ++units_decoded;
    // By two allocations, or the weak pointer would keep the memory.
    unit = std::make_unique<KeptUnit>(decoded.ok() ? *std::move(decoded) : LineUnit());
    units[number] = unit;
  }
  if (!memory->IsLast(unit.get())) memory->Use(unit, {unit->bytes, 0});
  return unit;
}

StatusOr<LineUnit> SourceLines::State::Decode(uint32_t number) {
  LookForCancel();
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
  std::string missing;
  std::optional<SplitUnit> split = split_units.Find(&die, LibdwFd(), &missing);
  if (!missing.empty()) Complain(std::move(missing));
  if (split && !split->IsOfPackage()) ++opened->cost.descriptors;
  Dwarf_Die* const functions = split ? &split->die : &die;
  Dwarf_Die* const files = split && split->IsOfPackage() ? &die : functions;
  LineUnit decoded = ReadLineUnit(libdw, &die, functions, files, options.search.cancel);
  if (!decoded.problem.empty()) {
    Complain(file.path + ": of the unit at " + HexText(unit_dies[number]) + " " + decoded.problem +
             "; its code has no lines; build or install it again");
  }
  opened->cost.bytes +=
      decoded.rows_read * kLibdwBytesPerRow + decoded.scopes.size() * kLibdwBytesPerScope;
  memory->Use(opened, opened->cost);
  return decoded;
}

SourceLines::SourceLines(std::unique_ptr<State> state) : state_(std::move(state)) {}
SourceLines::SourceLines(GeneratedLines generated) : generated_(std::move(generated)) {}
SourceLines::~SourceLines() = default;

StatusOr<std::unique_ptr<SourceLines>> SourceLines::Open(const DebugTarget& target,
                                                         const SourceOptions& options,
                                                         std::shared_ptr<LineMemory> memory) {
  HBBP_ASSIGN_OR_RETURN(const Libdw* libdw, LoadLibdw());
  HBBP_ASSIGN_OR_RETURN(DebugInfoFile file, FindDebugInfo(target, options.search));
  if (memory == nullptr) memory = std::make_shared<LineMemory>(options.memory_limit);
  auto state =
      std::make_unique<State>(*libdw, std::move(file), target.path, options, std::move(memory));
  if (state->file.is_packed) state->Unpack();
  HBBP_RETURN_IF_ERROR(state->Index());
  return std::unique_ptr<SourceLines>(new SourceLines(std::move(state)));
}

SourcePlace SourceLines::Find(ModuleAddress address) const {
  if (state_ == nullptr) return generated_.Find(address);
  SourcePlace place = FindInFile({address.value - slide_});
  if (place.range.start.value != 0) place.range.start.value += slide_;
  if (place.range.end.value != UINT64_MAX) place.range.end.value += slide_;
  return place;
}

SourcePlace SourceLines::FindInFile(ModuleAddress address) const {
  std::lock_guard lock(state_->mutex);
  SourcePlace place;
  place.range = {{0}, {UINT64_MAX}};
  const uint32_t number = state_->index.Find(address, &place.range);
  if (number == kNoUnit) return place;
  const std::shared_ptr<KeptUnit> kept = state_->Unit(number);
  const LineUnit& unit = kept->unit;
  const LineRow* row = unit.FindRow(address, &place.range);
  uint32_t scope = unit.FindScope(address, &place.range);
  const auto add_file = [&](SourceFrame* frame, uint32_t file, uint32_t line, uint32_t column) {
    if (file != kNoFile) frame->file = state_->Intern(unit.files[file], &kept->files[file]);
    frame->line = line;
    frame->column = column;
  };
  SourceFrame frame;
  if (row != nullptr) add_file(&frame, row->file, row->line, row->column);
  while (scope != kNoScope) {
    const LineScope& found = unit.scopes[scope];
    frame.function = state_->Intern(unit.names[found.name], &kept->names[found.name]);
    place.frames.push_back(frame);
    scope = found.parent;
    frame = {};
    if (scope != kNoScope) add_file(&frame, found.call_file, found.call_line, found.call_column);
  }
  if (place.frames.empty() && row != nullptr) place.frames.push_back(frame);
  return place;
}

const std::string& SourceLines::debug_file() const {
  static const std::string kNone;
  return state_ == nullptr ? kNone : state_->file.path;
}

std::string SourceLines::Problem() const {
  if (state_ == nullptr) return {};
  std::lock_guard lock(state_->mutex);
  return state_->problem;
}

uint64_t SourceLines::units_decoded() const {
  if (state_ == nullptr) return 0;
  std::lock_guard lock(state_->mutex);
  return state_->units_decoded;
}

}  // namespace hbbp
