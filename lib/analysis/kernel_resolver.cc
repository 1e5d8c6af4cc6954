// OpenKernelFilesFor opens the files that the user named, and CheckKernelFiles compares them with
// the kernels of the profile. ResolveKernel then collects the parts of one kernel in a Resolver:
// code from the profile (what was changed while it was sampled, and what was in memory), a core
// file and vmlinux, functions from vmlinux, kallsyms and the profile, each only if it is of the
// kernel that ran, moved by its slide; it makes a KernelCode of them, and the problem says what is
// missing. CaptureKernel stores names and code for later. ResolvedModules calls the former, and
// DataToStore the latter.
#include "analysis/kernel_resolver.h"

#include <algorithm>
#include <cinttypes>
#include <mutex>
#include <optional>
#include <utility>

#include "base/linux_constants.h"
#include "image/build_id.h"
#include "image/kernel_code.h"
#include "profile/kernel_record.h"
#include "profile/sample_totals.h"

namespace hbbp {
namespace {

// This is the alignment of the addresses that a kernel may be loaded at.
constexpr uint64_t kKernelAlignment = uint64_t{2} << 20;
// Functions have some kilobytes; only a kernel without any symbols has larger ones.
constexpr uint64_t kMaxCapturedFunction = uint64_t{256} << 10;
constexpr uint64_t kMaxCapturedBytes = uint64_t{64} << 20;

// A symbol of the kernel and its run-time address.
struct Reference {
  std::string symbol;
  uint64_t address = 0;
};

std::optional<Reference> ReferenceOf(const KernelSymbols& symbols) {
  for (const char* symbol : {"_text", "_stext"}) {
    const auto address = symbols.AddressOf(symbol);
    if (address && address->value != 0) return Reference{symbol, address->value};
  }
  return std::nullopt;
}

// Reads the symbols of the running kernel. Profiles that are open at the same time share them,
// because there are a hundred thousand.
StatusOr<std::shared_ptr<const KernelSymbols>> RunningSymbols() {
  static std::mutex mutex;
  static std::weak_ptr<const KernelSymbols> shared;
  const std::lock_guard lock(mutex);
  if (std::shared_ptr<const KernelSymbols> known = shared.lock()) return known;
  HBBP_ASSIGN_OR_RETURN(std::shared_ptr<const KernelSymbols> symbols, KernelSymbols::Read());
  shared = symbols;
  return symbols;
}

// Without a boot ID, as in recordings of perf, it compares what differs from kernel to kernel, and
// the load address, which is random and differs from boot to boot.
bool IsRunningKernel(const ModuleRecord& record) {
  if (!record.kernel.boot_id.empty()) return record.kernel.boot_id == RunningBootId();
  if (record.build_id.empty() || record.kernel.reference_address == 0 ||
      !SameBuildId(record.build_id, RunningKernelBuildId())) {
    return false;
  }
  const auto symbols = RunningSymbols();
  if (!symbols.ok()) return false;
  const auto address = (*symbols)->AddressOf(record.kernel.reference_symbol);
  return address && address->value == record.kernel.reference_address;
}

bool IsOtherId(std::span<const uint8_t> id, const ModuleRecord& record) {
  return !id.empty() && !record.build_id.empty() && !SameBuildId(id, record.build_id);
}

Status CheckVmlinux(const ElfImage& vmlinux, const std::string& path, const ModuleRecord& record) {
  if (record.build_id.empty() || SameBuildId(vmlinux.build_id(), record.build_id)) {
    return OkStatus();
  }
  return MakeStatus(StatusCode::kMismatch,
                    "%s: build ID %s, but the kernel that was profiled has %s; give the vmlinux of "
                    "that kernel",
                    path.c_str(), BuildIdText(vmlinux.build_id()).c_str(),
                    BuildIdText(record.build_id).c_str());
}

Status CheckCore(const KernelCore& core, const std::string& path, const ModuleRecord& record) {
  if (IsOtherId(core.build_id(), record)) {
    return MakeStatus(StatusCode::kMismatch,
                      "%s: of a kernel with build ID %s, but %s was profiled", path.c_str(),
                      BuildIdText(core.build_id()).c_str(), BuildIdText(record.build_id).c_str());
  }
  const KernelRecord& kernel = record.kernel;
  if (core.stext().has_value() && kernel.reference_address != 0) {
    // A kernel begins with _text, and _stext is on the same large page.
    const uint64_t max_distance = kernel.reference_symbol == "_stext" ? 0 : kKernelAlignment - 1;
    if (core.stext()->value - kernel.reference_address > max_distance) {
      return MakeStatus(StatusCode::kMismatch,
                        "%s: of another boot, with _stext at 0x%" PRIx64
                        ", but %s was at 0x%" PRIx64 " when the profile was made",
                        path.c_str(), core.stext()->value, kernel.reference_symbol.c_str(),
                        kernel.reference_address);
    }
  }
  return OkStatus();
}

// Returns the load address of the kernel minus that in `symbols`.
StatusOr<uint64_t> FindSlide(const KernelSymbols& symbols, const std::string& path,
                             const ModuleRecord& record) {
  if (record.kernel.reference_address == 0) return uint64_t{0};
  const auto address = symbols.AddressOf(record.kernel.reference_symbol);
  const uint64_t slide = address ? record.kernel.reference_address - address->value : 1;
  if (slide % kPageBytes == 0) return slide;
  return MakeStatus(StatusCode::kMismatch,
                    "%s: of another kernel: %s, which was at 0x%" PRIx64 ", is %s there",
                    path.c_str(), record.kernel.reference_symbol.c_str(),
                    record.kernel.reference_address, address ? "elsewhere in a page" : "not");
}

std::optional<ModuleAddress> AddressIn(const ElfImage& vmlinux, const std::string& symbol) {
  const auto address = vmlinux.AddressOfSymbol(symbol);
  if (address || symbol != "_text") return address;
  // A stripped one begins there too.
  return vmlinux.CodeStart();
}

// Sets `path` to the path of the file.
std::shared_ptr<const ElfImage> FindVmlinux(const ModuleRecord& record, const std::string& root,
                                            std::string* path) {
  if (record.build_id.empty()) return nullptr;
  const std::string id = BuildIdText(record.build_id);
  const std::string& release = record.kernel.release;
  std::vector<std::string> paths = {"/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" +
                                    id.substr(2) + ".debug"};
  // A release is used in a path only if it cannot leave the directory.
  if (!release.empty() && release[0] != '.' && release.find('/') == std::string::npos) {
    for (const auto& [before, after] : {std::pair("/usr/lib/debug/boot/vmlinux-", ""),
                                        {"/usr/lib/debug/lib/modules/", "/vmlinux"},
                                        {"/lib/modules/", "/build/vmlinux"},
                                        {"/lib/modules/", "/vmlinux"},
                                        {"/boot/vmlinux-", ""}}) {
      paths.push_back(before + release + after);
    }
  }
  for (const std::string& candidate : paths) {
    StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(root + candidate);
    if (image.ok() && (*image)->HasCode() && SameBuildId((*image)->build_id(), record.build_id)) {
      *path = root + candidate;
      return *std::move(image);
    }
  }
  return nullptr;
}

// Collects the parts that are available of one kernel.
class Resolver {
 public:
  Resolver(const ModuleRecord& record, const KernelFiles& files)
      : record_(record), files_(files), is_running_(IsRunningKernel(record)) {}

  ResolvedModule Resolve() {
    TakeRecord();
    TakeSymbols();
    TakeCore();
    FindReference();
    TakeVmlinux();
    ResolvedModule module;
    module.state = StateOf();
    module.problem = Problem();
    module.names_missing_code = true;
    if (reference_) {
      module.kernel_reference_symbol = reference_->symbol;
      module.kernel_reference_address = reference_->address;
    }
    auto code = std::make_unique<KernelCode>(std::move(parts_));
    module.kernel = code.get();
    module.code = std::move(code);
    return module;
  }

 private:
  void TakeRecord() {
    for (const CodeChunk& chunk : record_.chunks) {
      const bool is_poked = chunk.name == kPokedCode;
      (is_poked ? has_poked_code_ : has_captured_code_) = true;
      (is_poked ? parts_.poked : parts_.captured).Add(ModuleAddress{chunk.offset}, chunk.bytes);
    }
    parts_.functions = record_.kernel.functions;
    parts_.modules = record_.kernel.modules;
    NormalizeRanges(&parts_.functions);
    NormalizeRanges(&parts_.modules);
  }

  void TakeSymbols() {
    if (files_.symbols != nullptr) {
      const StatusOr<uint64_t> slide = FindSlide(*files_.symbols, files_.paths.symbols, record_);
      if (!slide.ok()) return Note(slide.status());
      parts_.symbols = files_.symbols;
      parts_.symbols_slide = *slide;
    } else if (is_running_) {
      StatusOr<std::shared_ptr<const KernelSymbols>> symbols = RunningSymbols();
      if (!symbols.ok()) return Note(symbols.status());
      parts_.symbols = *std::move(symbols);
    }
  }

  void TakeCore() {
    if (files_.core != nullptr) {
      const Status status = CheckCore(*files_.core, files_.paths.core, record_);
      if (!status.ok()) return Note(status);
      parts_.core = files_.core;
      if (!parts_.core->problem().empty()) {
        Note(MakeStatus(StatusCode::kBadFormat, "%s: %s", files_.paths.core.c_str(),
                        parts_.core->problem().c_str()));
      }
    } else if (is_running_) {
      StatusOr<std::shared_ptr<const KernelCore>> core =
          KernelCore::Open(files_.paths.root + kLiveKernelCore);
      if (!core.ok()) {
        core_status_ = core.status();
        return;
      }
      parts_.core = *std::move(core);
    }
  }

  void FindReference() {
    if (record_.kernel.reference_address != 0) {
      reference_ = {record_.kernel.reference_symbol, record_.kernel.reference_address};
    } else if (parts_.symbols != nullptr) {
      reference_ = ReferenceOf(*parts_.symbols);
    } else if (parts_.core != nullptr && parts_.core->stext()) {
      reference_ = {"_stext", parts_.core->stext()->value};
    }
  }

  void TakeVmlinux() {
    std::shared_ptr<const ElfImage> vmlinux = files_.vmlinux;
    std::string path = files_.paths.vmlinux;
    if (vmlinux == nullptr) {
      vmlinux = FindVmlinux(record_, files_.paths.root, &path);
      if (vmlinux == nullptr) return;
    } else if (const Status status = CheckVmlinux(*vmlinux, path, record_); !status.ok()) {
      return Note(status);
    }
    if (!reference_) {
      return Note(MakeStatus(StatusCode::kNotFound,
                             "%s: where the kernel was loaded is not known; the kallsyms of that "
                             "boot says it",
                             path.c_str()));
    }
    const auto address = AddressIn(*vmlinux, reference_->symbol);
    const uint64_t slide = address ? reference_->address - address->value : 1;
    if (slide % kPageBytes != 0) {
      return Note(MakeStatus(StatusCode::kMismatch, "%s: no %s that was at 0x%" PRIx64,
                             path.c_str(), reference_->symbol.c_str(), reference_->address));
    }
    parts_.vmlinux = std::move(vmlinux);
    parts_.vmlinux_path = path;
    parts_.vmlinux_slide = slide;
  }

  CodeState StateOf() const {
    if (has_captured_code_) return CodeState::kProfile;
    if (parts_.core != nullptr) return CodeState::kCore;
    return parts_.vmlinux != nullptr ? CodeState::kFile : CodeState::kMissing;
  }

  std::string Problem() const {
    std::string problem = problem_;
    const auto add = [&problem](const std::string& text) {
      problem += (problem.empty() ? "" : "; ") + text;
    };
    switch (StateOf()) {
      case CodeState::kFile:
        add("code as the static vmlinux has it: what the kernel rewrote in memory (alternatives, "
            "trace points, static calls) is not seen, nor are kernel modules; a core file has "
            "both");
        break;
      case CodeState::kMissing:
        if (!core_status_.ok()) add(core_status_.message());
        add(KnownNames());
        if (has_poked_code_) add("of its code, only what the recording has is known");
        break;
      default:
        break;
    }
    return problem;
  }

  // A recording names the functions that the kernel generated while it ran, such as those of BPF.
  std::string KnownNames() const {
    if (parts_.symbols != nullptr) return "functions of the kernel are known, blocks are not";
    const std::string remedy = "; its kallsyms, vmlinux or kcore can be given";
    if (parts_.functions.empty()) {
      return "neither symbols nor code of this kernel are known here" + remedy;
    }
    const std::string known =
        parts_.functions.size() == 1
            ? "only 1 function of this kernel is"
            : "only " + std::to_string(parts_.functions.size()) + " functions of this kernel are";
    return known + " known here, by name" + remedy;
  }

  void Note(const Status& status) { problem_ += (problem_.empty() ? "" : "; ") + status.message(); }

  const ModuleRecord& record_;
  const KernelFiles& files_;
  const bool is_running_;
  KernelParts parts_;
  bool has_poked_code_ = false;
  bool has_captured_code_ = false;
  std::optional<Reference> reference_;
  Status core_status_;
  std::string problem_;
};

StatusOr<std::shared_ptr<const ElfImage>> OpenVmlinux(const std::string& path) {
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(path);
  if (!image.ok() && image.status().code() == StatusCode::kBadFormat) {
    return MakeStatus(
        StatusCode::kBadFormat,
        "%s; a vmlinuz is compressed, the vmlinux comes with the debug symbols of the "
        "kernel",
        image.status().message().c_str());
  }
  if (!image.ok()) return image.status();
  if (!(*image)->HasCode()) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: only the symbols of a kernel, without its code; give the vmlinux",
                      path.c_str());
  }
  return std::shared_ptr<const ElfImage>(*std::move(image));
}

}  // namespace

StatusOr<KernelFiles> OpenKernelFiles(const KernelFilePaths& paths) {
  KernelFiles files;
  files.paths = paths;
  if (!paths.vmlinux.empty()) {
    HBBP_ASSIGN_OR_RETURN(files.vmlinux, OpenVmlinux(paths.vmlinux));
  }
  if (!paths.core.empty()) {
    HBBP_ASSIGN_OR_RETURN(files.core, KernelCore::Open(paths.core));
  }
  if (!paths.symbols.empty()) {
    HBBP_ASSIGN_OR_RETURN(files.symbols, KernelSymbols::Open(paths.symbols));
  }
  return files;
}

Status CheckKernelFiles(const KernelFiles& files, const ModuleRecord& record) {
  if (files.vmlinux != nullptr) {
    HBBP_RETURN_IF_ERROR(CheckVmlinux(*files.vmlinux, files.paths.vmlinux, record));
  }
  if (files.core != nullptr) {
    HBBP_RETURN_IF_ERROR(CheckCore(*files.core, files.paths.core, record));
  }
  if (files.symbols == nullptr) return OkStatus();
  return FindSlide(*files.symbols, files.paths.symbols, record).status();
}

StatusOr<KernelFiles> OpenKernelFilesFor(const ProfileData& data, const KernelFilePaths& paths) {
  HBBP_ASSIGN_OR_RETURN(KernelFiles files, OpenKernelFiles(paths));
  const SampleTotals totals = CountSamples(data);
  Status status = OkStatus();
  for (size_t i = 0; i < data.modules.size(); ++i) {
    if (data.modules[i].kind != ModuleKind::kKernel || totals.of_module[i] == 0) continue;
    status = CheckKernelFiles(files, data.modules[i]);
    if (status.ok()) break;
  }
  HBBP_RETURN_IF_ERROR(status);
  return files;
}

ResolvedModule ResolveKernel(const ModuleRecord& record, const KernelFiles& files) {
  return Resolver(record, files).Resolve();
}

void CaptureKernel(const ResolvedModule& module, const std::vector<uint64_t>& offsets,
                   ModuleRecord* record) {
  const KernelCode& code = *module.kernel;
  if (record->kernel.reference_address == 0) {
    record->kernel.reference_symbol = module.kernel_reference_symbol;
    record->kernel.reference_address = module.kernel_reference_address;
  }
  uint64_t bytes = 0;
  for (const CodeChunk& chunk : record->chunks) bytes += chunk.bytes.size();
  AddressRange done;
  for (const uint64_t offset : offsets) {
    const ModuleAddress address{offset};
    if (done.Contains(address)) continue;
    const auto function = code.FunctionAround(address);
    if (!function || !function->Contains(address)) continue;
    done = *function;
    const std::string name = code.FunctionName(address);
    const bool is_one_function = done.end - done.start <= kMaxCapturedFunction;
    // A kernel module as a whole, "[nvme]", is known already.
    const bool is_named = !name.empty() && !name.starts_with('[');
    if (is_named) AddRange({done, name}, &record->kernel.functions);
    if (!is_one_function) {
      // Store only some pages of it.
      const ModuleAddress page{offset & ~(kPageBytes - 1)};
      done = {std::max(done.start, page - kPageBytes), std::min(done.end, page + 2 * kPageBytes)};
    }
    const auto captured = std::ranges::any_of(record->chunks, [&](const CodeChunk& chunk) {
      return chunk.name != kPokedCode && offset - chunk.offset < chunk.bytes.size();
    });
    if (captured || !code.IsLive(done.start)) continue;
    const std::span<const uint8_t> found = code.CodeAt(done.start, done.end - done.start);
    if (found.empty() || bytes + found.size() > kMaxCapturedBytes) continue;
    bytes += found.size();
    record->chunks.push_back({done.start.value, {found.begin(), found.end()}});
  }
  std::ranges::sort(record->chunks, {}, &CodeChunk::offset);
}

}  // namespace hbbp
