// The part of ResolvedProfile that finds source lines.
#include <fcntl.h>

#include <string>
#include <utility>

#include "analysis/resolved_profile.h"
#include "image/build_id.h"
#include "image/elf_image.h"
#include "image/kernel_code.h"

namespace hbbp {

void ResolvedProfile::SetSourceOptions(SourceOptions options) {
  lines_.clear();
  line_memory_ = std::make_shared<LineMemory>(options.memory_limit);
  source_options_ = std::move(options);
}

Status ResolvedProfile::FindLineTarget(uint32_t module, LineTarget* target) const {
  const ModuleRecord& record = data_.modules[module];
  target->target.path = record.path;
  target->build_id = record.build_id;
  const std::string kernel_package =
      "install the debug package of the kernel (Debian: linux-image-" +
      (record.kernel.release.empty() ? "RELEASE" : record.kernel.release) + "-dbg)";
  std::lock_guard lock(mutex_);
  const ResolvedModule& resolved = OpenModule(module)->resolved;
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
          "%s: nobody has told source lines of this code, which was generated at run time",
          record.path.c_str());
  }
  // Without the module, its debug file still is where its build ID leads.
  if (image != nullptr) {
    if (image->fd() >= 0) target->fd = UniqueFd(::fcntl(image->fd(), F_DUPFD_CLOEXEC, 0));
    target->build_id.assign(image->build_id().begin(), image->build_id().end());
  }
  target->target.fd = target->fd.get();
  target->target.build_id = target->build_id;
  return OkStatus();
}

StatusOr<std::unique_ptr<SourceLines>> ResolvedProfile::OpenLines(uint32_t module) const {
  GeneratedLines generated;
  for (const CodeChunk& chunk : data_.modules[module].chunks) {
    if (chunk.lines.rows.empty()) continue;
    generated.Add({chunk.offset}, chunk.bytes.size(), chunk.name, chunk.lines);
  }
  if (!generated.empty()) return std::make_unique<SourceLines>(std::move(generated));
  LineTarget found;
  HBBP_RETURN_IF_ERROR(FindLineTarget(module, &found));
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<SourceLines> lines,
                        SourceLines::Open(found.target, source_options_, line_memory_));
  lines->SetSlide(found.slide);
  return lines;
}

StatusOr<const SourceLines*> ResolvedProfile::LinesOf(uint32_t module) const {
  if (module >= data_.modules.size()) {
    return MakeStatus(StatusCode::kNotFound, "module %u of %zu", module, data_.modules.size());
  }
  ModuleLines* opened;
  {
    std::lock_guard lock(lines_mutex_);
    opened = &lines_[module];
  }
  std::lock_guard lock(opened->mutex);
  if (!opened->was_opened) opened->lines = OpenLines(module);
  opened->was_opened = true;
  if (!opened->lines.ok()) return opened->lines.status();
  return opened->lines->get();
}

std::vector<uint8_t> ResolvedProfile::CodeAt(uint32_t module, ModuleAddress address,
                                             size_t size) const {
  if (module >= data_.modules.size()) return {};
  std::lock_guard lock(mutex_);
  const ModuleState& state = *OpenModule(module);
  if (state.resolved.code == nullptr) return {};
  const std::span<const uint8_t> code = state.resolved.code->CodeAt(address, size);
  return {code.begin(), code.end()};
}

}  // namespace hbbp
