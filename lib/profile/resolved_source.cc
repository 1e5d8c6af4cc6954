// The part of ResolvedProfile that finds source lines.
#include <fcntl.h>

#include <utility>

#include "base/unique_fd.h"
#include "image/elf_image.h"
#include "profile/resolved_profile.h"

namespace hbbp {

void ResolvedProfile::SetSourceOptions(SourceOptions options) {
  source_options_ = std::move(options);
  lines_.clear();
}

StatusOr<std::unique_ptr<SourceLines>> ResolvedProfile::OpenLines(uint32_t module) const {
  const ModuleRecord& record = data_.modules[module];
  DebugTarget target;
  target.path = record.path;
  if (record.kind != ModuleKind::kFile) {
    return MakeStatus(StatusCode::kUnsupported, "%s: source lines are known of files only",
                      record.path.c_str());
  }
  // Without the module, its debug file still is where its build ID leads.
  UniqueFd fd;
  std::vector<uint8_t> build_id = record.build_id;
  {
    std::lock_guard lock(mutex_);
    const ResolvedModule& resolved = OpenModule(module)->resolved;
    if (resolved.code != nullptr) {
      const auto& image = static_cast<const ElfImage&>(*resolved.code);
      if (image.fd() >= 0) fd = UniqueFd(::fcntl(image.fd(), F_DUPFD_CLOEXEC, 0));
      build_id.assign(image.build_id().begin(), image.build_id().end());
    }
  }
  target.fd = fd.get();
  target.build_id = build_id;
  return SourceLines::Open(target, source_options_);
}

StatusOr<const SourceLines*> ResolvedProfile::LinesOf(uint32_t module) const {
  if (module >= data_.modules.size()) {
    return MakeStatus(StatusCode::kNotFound, "module %u of %zu", module, data_.modules.size());
  }
  std::lock_guard lock(lines_mutex_);
  auto known = lines_.find(module);
  if (known == lines_.end()) known = lines_.emplace(module, OpenLines(module)).first;
  if (!known->second.ok()) return known->second.status();
  return known->second->get();
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
