// SplitUnits::Find first lets libdw open the .dwo file of a unit (FindInFile), once it is known
// that all the files that libdw would open are regular. Otherwise it opens the package of the
// module, once, and lets DwoPackage cut the unit out (FindInPackage), for which it slices the
// unit's addresses and ranges out of the program. LineTable calls it when it decodes a unit.
#include "symbols/split_units.h"

#include <dwarf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/joined_text.h"
#include "image/file_bytes.h"
#include "symbols/unpacked_debug.h"

namespace hbbp {
namespace {

// This bounds the addresses or ranges of a unit where the file does not have their number.
constexpr uint64_t kMaxBytes = 1 << 20;

// A unit in a package needs these sections of the program.
constexpr const char* kAddresses = ".debug_addr";
constexpr const char* kRanges = ".debug_ranges";

bool Exists(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

bool IsRegularFile(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Returns the path that libdw finds for its file; it is empty if the file no longer has a name.
std::string PathOf(int fd) {
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const std::unique_ptr<char, decltype(&std::free)> path(::realpath(link.c_str(), nullptr),
                                                         &std::free);
  return path == nullptr ? std::string() : std::string(path.get());
}

}  // namespace

std::string SplitUnits::ReadText(Dwarf_Die* unit, std::initializer_list<unsigned int> names) const {
  Dwarf_Attribute attribute;
  for (const unsigned int name : names) {
    if (libdw_.attr_(unit, name, &attribute) == nullptr) continue;
    const char* const text = libdw_.formstring_(&attribute);
    if (text != nullptr) return text;
  }
  return {};
}

std::optional<uint64_t> SplitUnits::ReadNumber(Dwarf_Die* unit,
                                               std::initializer_list<unsigned int> names) const {
  Dwarf_Attribute attribute;
  Dwarf_Word value;
  for (const unsigned int name : names) {
    if (libdw_.attr_(unit, name, &attribute) != nullptr &&
        libdw_.formudata_(&attribute, &value) == 0) {
      return value;
    }
  }
  return std::nullopt;
}

std::vector<std::string> SplitUnits::Candidates(Dwarf_Die* unit, const std::string& name,
                                                const std::string& path) const {
  if (name.front() == '/') return {name};
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  const std::string compiled_in = ReadText(unit, {DW_AT_comp_dir});
  std::vector<std::string> candidates;
  if (!directory.empty()) candidates.push_back(directory + name);
  if (compiled_in.starts_with('/')) {
    candidates.push_back(compiled_in + "/" + name);
  } else if (!directory.empty() && !compiled_in.empty()) {
    candidates.push_back(directory + compiled_in + "/" + name);
  }
  return candidates;
}

StatusOr<std::optional<SplitUnit>> SplitUnits::FindInFile(
    Dwarf_Die* unit, const std::vector<std::string>& candidates,
    const std::string& own_package) const {
  std::vector<std::string> present;
  for (const std::string& path : candidates) {
    if (Exists(path)) present.push_back(path);
  }
  if (present.empty()) return std::optional<SplitUnit>();
  std::vector<std::string> opened = present;
  if (Exists(own_package)) opened.push_back(own_package);
  // libdw would block on a FIFO, whichever of them it is.
  const auto odd = std::ranges::find_if_not(opened, IsRegularFile);
  if (odd != opened.end()) {
    return Status(StatusCode::kBadFormat, *odd + ": not a regular file; remove it");
  }
  SplitUnit split;
  if (libdw_.cu_info_(unit->cu, nullptr, nullptr, nullptr, &split.die, nullptr, nullptr, nullptr) ==
          0 &&
      split.die.addr != nullptr) {
    return std::optional(std::move(split));
  }
  return Status(StatusCode::kMismatch,
                JoinedText(present, ", ") + ": has no unit of " + file_.path +
                    "; it is of another build, or damaged; build the program again");
}

StatusOr<std::optional<SplitUnit>> SplitUnits::Find(Dwarf_Die* unit, int libdw_fd) {
  const std::string name = ReadText(unit, {DW_AT_dwo_name, DW_AT_GNU_dwo_name});
  if (name.empty()) return std::optional<SplitUnit>();
  const std::string path = PathOf(libdw_fd);
  const std::vector<std::string> candidates = Candidates(unit, name, path);
  StatusOr<std::optional<SplitUnit>> in_file = FindInFile(unit, candidates, path + ".dwp");
  if (in_file.ok() && in_file->has_value()) return in_file;
  const Status file_status = in_file.status();
  OpenPackage();
  if (package_ == nullptr && package_status_.ok()) {
    if (!file_status.ok()) {
      return Status(file_status.code(),
                    file_status.message() + "; there is no " + module_ + ".dwp either");
    }
    return Status(
        StatusCode::kNotFound,
        file_.path +
            ": the split debug information of a unit is missing, so that its functions and "
            "inlining are not known; there is no " +
            (candidates.empty() ? name : candidates.back()) + " and no " + module_ +
            ".dwp; keep the .dwo files of the build, or make a package of them (llvm-dwp -e "
            "PROGRAM)");
  }
  Status status = package_status_;
  uint64_t id = 0;
  if (status.ok() &&
      libdw_.cu_info_(unit->cu, nullptr, nullptr, nullptr, nullptr, &id, nullptr, nullptr) == 0) {
    StatusOr<SplitUnit> found = FindInPackage(unit, id);
    if (found.ok()) return std::optional(*std::move(found));
    status = found.status();
  }
  if (status.ok()) return in_file;
  if (file_status.ok()) return status;
  return Status(status.code(), file_status.message() + "; " + status.message());
}

void SplitUnits::OpenPackage() {
  if (was_opened_) return;
  for (const std::string& path : {file_.path + ".dwp", module_ + ".dwp"}) {
    if (!IsRegularFile(path)) continue;
    StatusOr<std::unique_ptr<DwoPackage>> opened = DwoPackage::Open(path);
    package_status_ = opened.status();
    if (opened.ok()) package_status_ = ReadSections();
    if (package_status_.ok()) package_ = *std::move(opened);
    break;
  }
  was_opened_ = true;
}

Status SplitUnits::ReadSections() {
  UniqueFd fd(::fcntl(file_.fd.get(), F_DUPFD_CLOEXEC, 0));
  for (;;) {
    HBBP_ASSIGN_OR_RETURN(std::unique_ptr<FileBytes> bytes,
                          FileBytes::FromFd(std::move(fd), file_.path));
    HBBP_ASSIGN_OR_RETURN(sections_, ElfFile::Create(std::move(bytes), file_.path, ElfKind::kAny));
    // Linkers compress only the sections that become smaller by it.
    const bool is_packed = std::ranges::any_of(
        std::initializer_list<const char*>{kAddresses, kRanges}, [&](const char* name) {
          const ElfSection* const section = sections_->FindSection(name);
          return section != nullptr && (section->header.sh_flags & SHF_COMPRESSED) != 0;
        });
    if (!is_packed) return OkStatus();
    HBBP_ASSIGN_OR_RETURN(
        fd, UnpackDebugSections(file_.fd.get(), file_.path,
                                [this](uint64_t, uint64_t) { CancelCheck(cancel_).CheckNow(); }));
  }
}

std::vector<uint8_t> SplitUnits::Slice(const char* section, uint64_t offset,
                                       bool has_length) const {
  const ElfSection* const found = sections_->FindSection(section);
  if (found == nullptr || offset >= found->header.sh_size) return {};
  uint64_t size = std::min(kMaxBytes, found->header.sh_size - offset);
  // The header is a length, which also counts a version and two sizes.
  constexpr uint64_t kHeader = 8, kCounted = 4;
  uint32_t length;
  if (has_length && offset >= kHeader) {
    const std::span<const uint8_t> header =
        sections_->bytes().Span({found->header.sh_offset + offset - kHeader}, sizeof(length));
    if (header.size() < sizeof(length)) return {};
    std::memcpy(&length, header.data(), sizeof(length));
    size = std::min<uint64_t>(found->header.sh_size - offset,
                              length - std::min<uint64_t>(length, kCounted));
  }
  const std::span<const uint8_t> bytes =
      sections_->bytes().Span({found->header.sh_offset + offset}, size);
  return {bytes.begin(), bytes.end()};
}

StatusOr<SplitUnit> SplitUnits::FindInPackage(Dwarf_Die* unit, uint64_t id) {
  SkeletonUnit skeleton;
  skeleton.id = id;
  Dwarf_Addr low_pc;
  if (libdw_.lowpc_(unit, &low_pc) == 0) skeleton.low_pc = low_pc;
  const std::optional<uint64_t> base = ReadNumber(unit, {DW_AT_addr_base});
  const std::optional<uint64_t> base4 = ReadNumber(unit, {DW_AT_GNU_addr_base});
  skeleton.addresses = Slice(kAddresses, base.value_or(base4.value_or(0)), base.has_value());
  if (!base) {
    skeleton.ranges = Slice(kRanges, ReadNumber(unit, {DW_AT_GNU_ranges_base}).value_or(0), false);
  }
  SplitUnit split;
  HBBP_ASSIGN_OR_RETURN(split.fd, package_->CutOut(skeleton));
  split.dwarf = {libdw_.begin_(split.fd.get(), DWARF_C_READ), libdw_.end_};
  Dwarf_CU* first = nullptr;
  uint8_t type;
  if (split.dwarf == nullptr || libdw_.get_units_(split.dwarf.get(), nullptr, &first, nullptr,
                                                  &type, &split.die, nullptr) != 0) {
    return MakeStatus(StatusCode::kBadFormat, "%s.dwp: unit 0x%016llx is damaged (libdw: %s)",
                      module_.c_str(), static_cast<unsigned long long>(id), libdw_.Error());
  }
  return split;
}

}  // namespace hbbp
