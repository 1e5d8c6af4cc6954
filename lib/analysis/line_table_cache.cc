#include "analysis/line_table_cache.h"

#include <fcntl.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "image/build_id.h"
#include "image/elf_image.h"
#include "image/kernel_code.h"

namespace hbbp {
namespace {

// The file that has the lines of a module, and the objects that it refers to.
struct LineTarget {
  DebugTarget target;
  UniqueFd fd;
  std::vector<uint8_t> build_id;
  uint64_t slide = 0;
};

Status FindLineTarget(const ResolvedModules& modules, uint32_t module, LineTarget* target) {
  const ModuleRecord& record = modules.data().modules[module];
  target->target.path = LocalPath(record);
  target->build_id = record.build_id;
  const std::string kernel_package =
      "install the debug package of the kernel (Debian: linux-image-" +
      (record.kernel.release.empty() ? "RELEASE" : record.kernel.release) + "-dbg)";
  const ResolvedModules::Use use = modules.Open(module);
  const ResolvedModule& resolved = *use;
  if (resolved.code == nullptr && record.kind == ModuleKind::kFile) {
    target->target.advice =
        "put the file back that was profiled, or install the debug package of it (Debian: "
        "NAME-dbgsym)";
  }
  const ElfImage* image = nullptr;
  switch (record.kind) {
    case ModuleKind::kVdso:
      target->target.advice = "it is part of the kernel: " + kernel_package;
      [[fallthrough]];
    case ModuleKind::kFile:
      image = static_cast<const ElfImage*>(resolved.code.get());
      break;
    case ModuleKind::kKernel: {
      const KernelParts& parts = resolved.kernel->parts();
      image = parts.vmlinux.get();
      if (image == nullptr) {
        return MakeStatus(
            StatusCode::kNotFound,
            "%s: source lines of a kernel are in its vmlinux, and there is none of %s in "
            "/usr/lib/debug, /lib/modules or /boot; %s, or name it (--vmlinux)%s%s",
            record.path.c_str(),
            record.build_id.empty() ? "a known build ID"
                                    : ("build ID " + BuildIdText(record.build_id)).c_str(),
            kernel_package.c_str(), resolved.problem.empty() ? "" : "; ", resolved.problem.c_str());
      }
      target->target.path = parts.vmlinux_path;
      target->target.advice = kernel_package + ", or build it with CONFIG_DEBUG_INFO";
      target->slide = parts.vmlinux_slide;
      break;
    }
    case ModuleKind::kAnonymous:
      return MakeStatus(
          StatusCode::kUnsupported,
          "%s: no JIT has reported lines of this code, which was generated at run time",
          record.path.c_str());
  }
  // Without the module, its build ID still leads to its debug file.
  if (image != nullptr) {
    if (image->fd() >= 0) target->fd = UniqueFd(::fcntl(image->fd(), F_DUPFD_CLOEXEC, 0));
    target->build_id.assign(image->build_id().begin(), image->build_id().end());
  }
  target->target.fd = target->fd.get();
  target->target.build_id = target->build_id;
  return OkStatus();
}

StatusOr<std::unique_ptr<LineTable>> OpenTable(const ResolvedModules& modules, uint32_t module,
                                               const DebugInfoOptions& options,
                                               const std::shared_ptr<LineMemory>& memory) {
  GeneratedLines generated;
  for (const CodeChunk& chunk : modules.data().modules[module].chunks) {
    if (chunk.lines.rows.empty()) continue;
    generated.Add({chunk.offset}, chunk.bytes.size(), chunk.name, chunk.lines);
  }
  if (!generated.empty()) return std::make_unique<LineTable>(std::move(generated));
  LineTarget found;
  HBBP_RETURN_IF_ERROR(FindLineTarget(modules, module, &found));
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<LineTable> lines,
                        LineTable::Open(found.target, options, memory));
  lines->SetSlide(found.slide);
  return lines;
}

}  // namespace

DebugInfoOptions WithoutHost(DebugInfoOptions options) {
  options.progress = nullptr;
  options.search.cancel = nullptr;
  return options;
}

struct LineTableCache::Opened {
  // Each module has its own lock, so that opening it does not block others.
  struct Module {
    std::mutex mutex;
    bool was_opened = false;  // false if it was cancelled
    StatusOr<std::unique_ptr<LineTable>> lines{std::unique_ptr<LineTable>()};
  };

  std::mutex mutex;  // guards the map
  std::map<uint32_t, Module> modules;
};

LineTableCache::LineTableCache(std::shared_ptr<const ResolvedModules> modules,
                               DebugInfoOptions options)
    : modules_(std::move(modules)),
      options_(std::move(options)),
      memory_(std::make_shared<LineMemory>(options_.memory_limit)),
      opened_(std::make_unique<Opened>()) {}

LineTableCache::~LineTableCache() = default;

StatusOr<const LineTable*> LineTableCache::Open(uint32_t module) const {
  const size_t modules = modules_->data().modules.size();
  if (module >= modules) {
    return MakeStatus(StatusCode::kNotFound, "module %u of %zu", module, modules);
  }
  Opened::Module* opened;
  {
    std::lock_guard lock(opened_->mutex);
    opened = &opened_->modules[module];
  }
  std::lock_guard lock(opened->mutex);
  if (!opened->was_opened) opened->lines = OpenTable(*modules_, module, options_, memory_);
  opened->was_opened = true;
  if (!opened->lines.ok()) return opened->lines.status();
  return opened->lines->get();
}

}  // namespace hbbp
