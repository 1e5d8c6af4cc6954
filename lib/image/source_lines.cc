#include "image/source_lines.h"

#include <dwarf.h>
#include <sys/stat.h>

#include <algorithm>
#include <initializer_list>
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "image/libdw.h"
#include "image/line_unit.h"

namespace hbbp {
namespace {

// Code that one unit has, as the unit says itself.
struct UnitRange {
  AddressRange range;
  ModuleAddress furthest_end;  // of this range and all before it
  uint32_t unit = 0;
};

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

bool IsRegularFile(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// libdw's own estimate of a row and what hangs on it.
constexpr uint64_t kLibdwBytesPerRow = 64;
constexpr uint64_t kLibdwBytesPerScope = 64;
// Each split unit that libdw opens keeps a descriptor.
constexpr size_t kMaxSplitUnits = 64;

// A decoded unit, with those of its strings that were handed out.
struct KeptUnit {
  KeptUnit(uint32_t unit_number, LineUnit decoded)
      : number(unit_number),
        unit(std::move(decoded)),
        files(unit.files.size()),
        names(unit.names.size()),
        bytes(unit.MemoryBytes() + (files.size() + names.size()) * sizeof(std::string_view)) {}

  uint32_t number;
  LineUnit unit;
  std::vector<std::string_view> files;
  std::vector<std::string_view> names;
  uint64_t bytes;
};

}  // namespace

struct SourceLines::State {
  using Kept = std::list<KeptUnit>;  // used last: first

  State(const Libdw& functions, DebugInfoFile debug_file, std::string module_path,
        SourceOptions source_options)
      : libdw(functions),
        file(std::move(debug_file)),
        identity(file.fd.get()),
        module(std::move(module_path)),
        options(std::move(source_options)),
        problem(file.problem) {}
  ~State() { CloseDwarf(); }

  Status OpenDwarf() {
    if (dwarf != nullptr) return OkStatus();
    if (identity.HasChanged(file.fd.get())) {
      return MakeStatus(StatusCode::kMismatch, "%s: was changed while it was read; start again",
                        file.path.c_str());
    }
    dwarf = libdw.begin_(file.fd.get(), DWARF_C_READ);
    if (dwarf == nullptr) {
      return MakeStatus(StatusCode::kBadFormat,
                        "%s: DWARF cannot be read (libdw: %s); build or "
                        "install it again",
                        file.path.c_str(), libdw.Error());
    }
    if (file.shared_fd.valid()) {
      shared = libdw.begin_(file.shared_fd.get(), DWARF_C_READ);
      if (shared != nullptr) libdw.setalt_(dwarf, shared);
    }
    return OkStatus();
  }

  void CloseDwarf() {
    if (dwarf != nullptr) libdw.end_(dwarf);
    if (shared != nullptr) libdw.end_(shared);
    dwarf = shared = nullptr;
    libdw_bytes = 0;
    split_units = 0;
  }

  void Progress(uint64_t done) const {
    if (options.progress)
      options.progress(module, std::min(done, file.info_bytes), file.info_bytes);
  }

  void Complain(std::string text) {
    if (problem.empty()) problem = std::move(text);
  }

  Status Index();
  KeptUnit* UnitAt(ModuleAddress address, AddressRange* range);
  KeptUnit* Decode(uint32_t unit);
  bool HasSplitFile(Dwarf_Die* skeleton);
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

  std::mutex mutex;  // everything below
  std::string problem;
  Dwarf* dwarf = nullptr;
  Dwarf* shared = nullptr;
  uint64_t libdw_bytes = 0;
  size_t split_units = 0;
  std::vector<UnitRange> index;      // by start
  std::vector<Dwarf_Off> unit_dies;  // offsets
  Kept kept;
  std::unordered_map<uint32_t, Kept::iterator> kept_by_unit;
  uint64_t kept_bytes = 0;
  uint64_t units_decoded = 0;
  std::unordered_set<std::string> strings;  // that were handed out
};

Status SourceLines::State::Index() {
  HBBP_RETURN_IF_ERROR(OpenDwarf());
  constexpr size_t kUnitsPerReport = 64;
  // Compressed sections have less than a byte for one.
  constexpr size_t kMostRangesPerByte = 2;
  const size_t most_ranges = identity.bytes() * kMostRangesPerByte;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  Dwarf_Half version = 0;
  uint8_t type = 0;
  int result;
  Dwarf_Off last = 0;
  while ((result = libdw.get_units_(dwarf, unit, &unit, &version, &type, &die, nullptr)) == 0) {
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    const Dwarf_Off offset = libdw.dieoffset_(&die);
    const auto number = static_cast<uint32_t>(unit_dies.size());
    unit_dies.push_back(offset);
    last = offset;
    // Several units may name one list of ranges, but compilers let none do.
    const size_t left = most_ranges - std::min(most_ranges, index.size());
    for (const AddressRange& range : RangesOf(libdw, &die, left)) {
      index.push_back({range, {}, number});
    }
    if (number % kUnitsPerReport == 0) Progress(offset);
  }
  if (result < 0) {
    Complain(absl::StrCat(file.path, ": damaged DWARF in .debug_info after 0x", absl::Hex(last),
                          " (libdw: ", libdw.Error(),
                          "); what follows has no lines; build or install it again"));
  }
  Progress(file.info_bytes);
  std::sort(index.begin(), index.end(), [](const UnitRange& a, const UnitRange& b) {
    return std::pair(a.range.start, a.unit) < std::pair(b.range.start, b.unit);
  });
  ModuleAddress furthest{0};
  for (UnitRange& entry : index) {
    furthest = std::max(furthest, entry.range.end);
    entry.furthest_end = furthest;
  }
  if (index.empty() && result < 0) {
    return Status(StatusCode::kBadFormat, problem);
  }
  return OkStatus();
}

// Narrows `range` to the gap between units where there is none.
KeptUnit* SourceLines::State::UnitAt(ModuleAddress address, AddressRange* range) {
  const auto next = std::upper_bound(
      index.begin(), index.end(), address,
      [](ModuleAddress wanted, const UnitRange& entry) { return wanted < entry.range.start; });
  if (next != index.end()) range->end = std::min(range->end, next->range.start);
  for (auto entry = next; entry != index.begin();) {
    --entry;
    if (entry->range.Contains(address)) {
      range->start = std::max(range->start, entry->range.start);
      range->end = std::min(range->end, entry->range.end);
      return Decode(entry->unit);
    }
    range->start = std::max(range->start, entry->range.end);
    if (entry->furthest_end <= address) break;
  }
  return nullptr;
}

// Before libdw opens the file of a split unit: it would wait for a FIFO of that name.
bool SourceLines::State::HasSplitFile(Dwarf_Die* skeleton) {
  Dwarf_Attribute attribute;
  const auto string = [&](std::initializer_list<unsigned int> names) -> std::string {
    for (const unsigned int name : names) {
      if (libdw.attr_(skeleton, name, &attribute) == nullptr) continue;
      const char* const text = libdw.formstring_(&attribute);
      if (text != nullptr) return text;
    }
    return {};
  };
  const std::string name = string({DW_AT_dwo_name, DW_AT_GNU_dwo_name});
  if (name.empty()) return false;
  std::vector<std::string> candidates = {name};
  if (name.front() != '/') {
    candidates = {absl::StrCat(file.path.substr(0, file.path.rfind('/') + 1), name),
                  absl::StrCat(string({DW_AT_comp_dir}), "/", name)};
  }
  for (const std::string& candidate : candidates) {
    if (IsRegularFile(candidate)) return true;
  }
  Complain(absl::StrCat(file.path,
                        ": the split debug information of a unit is missing, so that "
                        "its functions and inlining are not known; there is no ",
                        candidates.back(),
                        IsRegularFile(file.path + ".dwp")
                            ? "; .dwp files are not read: keep the .dwo files"
                            : "; keep the .dwo files of the build"));
  return false;
}

KeptUnit* SourceLines::State::Decode(uint32_t unit) {
  if (const auto known = kept_by_unit.find(unit); known != kept_by_unit.end()) {
    kept.splice(kept.begin(), kept, known->second);
    return &*known->second;
  }
  // What libdw decoded it keeps until it is closed.
  if (libdw_bytes > options.memory_limit || split_units >= kMaxSplitUnits) CloseDwarf();
  Status status =
      identity.HasChanged(file.fd.get())
          ? MakeStatus(StatusCode::kMismatch, "%s: was changed while it was read; start again",
                       file.path.c_str())
          : OpenDwarf();
  Dwarf_Die die;
  if (status.ok() && libdw.offdie_(dwarf, unit_dies[unit], &die) == nullptr) {
    status = MakeStatus(StatusCode::kBadFormat, "%s: damaged DWARF in .debug_info at 0x%llx (%s)",
                        file.path.c_str(), static_cast<unsigned long long>(unit_dies[unit]),
                        libdw.Error());
  }
  LineUnit decoded;
  if (!status.ok()) {
    Complain(status.message());
  } else {
    Dwarf_Die split;
    uint8_t type = 0;
    Dwarf_Die* split_die = nullptr;
    if (HasSplitFile(&die) &&
        libdw.cu_info_(die.cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
        split.addr != nullptr) {
      split_die = &split;
      ++split_units;
    }
    decoded = ReadLineUnit(libdw, &die, split_die);
    if (!decoded.problem.empty()) {
      Complain(absl::StrCat(file.path, ": of the unit at 0x", absl::Hex(unit_dies[unit]), " ",
                            decoded.problem, "; its code has no lines; build or install it again"));
    }
    libdw_bytes +=
        decoded.rows_read * kLibdwBytesPerRow + decoded.scopes.size() * kLibdwBytesPerScope;
  }
  ++units_decoded;
  kept.emplace_front(unit, std::move(decoded));
  kept_bytes += kept.front().bytes;
  kept_by_unit[unit] = kept.begin();
  while (kept_bytes > options.memory_limit && kept.size() > 1) {
    kept_bytes -= kept.back().bytes;
    kept_by_unit.erase(kept.back().number);
    kept.pop_back();
  }
  return &kept.front();
}

SourceLines::SourceLines(std::unique_ptr<State> state) : state_(std::move(state)) {}
SourceLines::~SourceLines() = default;

StatusOr<std::unique_ptr<SourceLines>> SourceLines::Open(const DebugTarget& target,
                                                         const SourceOptions& options) {
  HBBP_ASSIGN_OR_RETURN(const Libdw* libdw, LoadLibdw());
  HBBP_ASSIGN_OR_RETURN(DebugInfoFile file, FindDebugInfo(target, options.search));
  auto state = std::make_unique<State>(*libdw, std::move(file), target.path, options);
  HBBP_RETURN_IF_ERROR(state->Index());
  return std::unique_ptr<SourceLines>(new SourceLines(std::move(state)));
}

SourcePlace SourceLines::Find(ModuleAddress address) const {
  std::lock_guard lock(state_->mutex);
  SourcePlace place;
  place.range = {{0}, {UINT64_MAX}};
  KeptUnit* const kept = state_->UnitAt(address, &place.range);
  if (kept == nullptr) return place;
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

const std::string& SourceLines::debug_file() const { return state_->file.path; }

std::string SourceLines::Problem() const {
  std::lock_guard lock(state_->mutex);
  return state_->problem;
}

uint64_t SourceLines::kept_bytes() const {
  std::lock_guard lock(state_->mutex);
  return state_->kept_bytes;
}

uint64_t SourceLines::units_decoded() const {
  std::lock_guard lock(state_->mutex);
  return state_->units_decoded;
}

}  // namespace hbbp
