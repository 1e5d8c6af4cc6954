#include "analysis/module_resolver.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "analysis/kernel_resolver.h"
#include "image/build_id.h"
#include "image/elf_image.h"
#include "image/memory_code.h"

namespace hbbp {
namespace {

ResolvedModule Found(CodeState state, std::unique_ptr<ModuleCode> code, bool offsets_are_of_file) {
  ResolvedModule module;
  module.state = state;
  module.code = std::move(code);
  module.offsets_are_of_file = offsets_are_of_file;
  return module;
}

ResolvedModule Missing(CodeState state, std::string problem) {
  ResolvedModule module;
  module.state = state;
  module.problem = std::move(problem);
  return module;
}

bool MayBeModule(const ElfImage& image, const ModuleRecord& record) {
  return record.build_id.empty() || SameBuildId(image.build_id(), record.build_id);
}

// Assembles the chunks to the file that they were copied from, with zeros in between.
std::vector<uint8_t> AssembleImage(const ModuleRecord& record) {
  constexpr uint64_t kMaxImageBytes = 1ull << 30;
  uint64_t size = 0;
  for (const CodeChunk& chunk : record.chunks) {
    if (chunk.offset > kMaxImageBytes || chunk.bytes.size() > kMaxImageBytes - chunk.offset) {
      return {};
    }
    size = std::max(size, chunk.offset + chunk.bytes.size());
  }
  std::vector<uint8_t> image(size);
  for (const CodeChunk& chunk : record.chunks) {
    std::copy(chunk.bytes.begin(), chunk.bytes.end(), image.begin() + chunk.offset);
  }
  return image;
}

ResolvedModule ResolveFromChunks(const ModuleRecord& record) {
  StatusOr<std::unique_ptr<ElfImage>> image =
      ElfImage::FromMemory(AssembleImage(record), record.path);
  if (!image.ok()) return Missing(CodeState::kMissing, image.status().message());
  return Found(CodeState::kProfile, *std::move(image), true);
}

ResolvedModule ResolveFromPinnedFile(const ModuleRecord& record) {
  struct stat status;
  // The program may have closed all descriptors, including this one, and opened others under their
  // numbers.
  if (::fstat(record.pinned_file->get(), &status) != 0 || status.st_ino != record.inode ||
      status.st_dev != record.device) {
    return {};
  }
  StatusOr<std::unique_ptr<ElfImage>> image =
      ElfImage::FromSharedFd(record.pinned_file, record.path);
  if (!image.ok()) return Missing(CodeState::kMissing, image.status().message());
  return Found(CodeState::kFile, *std::move(image), true);
}

ResolvedModule ResolveFromPath(const ModuleRecord& record) {
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(LocalPath(record));
  if (!image.ok()) {
    return Missing(CodeState::kMissing,
                   image.status().message() + "; the code of this module cannot be shown");
  }
  if (!MayBeModule(**image, record)) {
    return Missing(CodeState::kMismatch,
                   LocalPath(record) + ": build ID " + BuildIdText((*image)->build_id()) +
                       ", but " + BuildIdText(record.build_id) +
                       " was profiled; the file was replaced: profile again, or put the old one "
                       "back");
  }
  ResolvedModule module = Found(CodeState::kFile, *std::move(image), true);
  if (record.build_id.empty()) {
    module.problem =
        LocalPath(record) +
        ": the build ID of what ran is not known, so a changed file would go unnoticed";
  }
  return module;
}

ResolvedModule ResolveFile(const ModuleRecord& record) {
  if (record.pinned_file != nullptr) {
    ResolvedModule module = ResolveFromPinnedFile(record);
    if (module.code != nullptr) return module;
  }
  ResolvedModule from_path = ResolveFromPath(record);
  // The code of a file is stored only if its path no longer led to it; without build ID, the file
  // that is there now cannot be distinguished from it.
  const bool path_is_known_wrong = record.build_id.empty() && !record.chunks.empty();
  if (from_path.code != nullptr && !path_is_known_wrong) return from_path;
  if (record.chunks.empty()) return from_path;
  ResolvedModule from_chunks = ResolveFromChunks(record);
  return from_chunks.code != nullptr ? std::move(from_chunks) : std::move(from_path);
}

ResolvedModule ResolveAnonymous(const ModuleRecord& record) {
  auto code = std::make_unique<MemoryCode>();
  for (const CodeChunk& chunk : record.chunks) {
    code->Add(ModuleAddress{chunk.offset}, chunk.bytes, chunk.name);
  }
  for (const NamedRange& function : record.functions) {
    code->AddFunction(function.range, function.name);
  }
  if (!record.chunks.empty()) return Found(CodeState::kProfile, std::move(code), false);
  if (record.functions.empty()) {
    return Missing(CodeState::kMissing, "generated code was gone before it could be copied");
  }
  ResolvedModule module = Found(CodeState::kMissing, std::move(code), false);
  module.names_missing_code = true;
  module.problem =
      "of generated code a perf map has names but no code: samples count for functions, not blocks";
  return module;
}

}  // namespace

std::optional<ModuleAddress> ResolvedModule::AddressOf(uint64_t offset) const {
  if (!offsets_are_of_file) return ModuleAddress{offset};
  return static_cast<const ElfImage&>(*code).AddressOfOffset(FileOffset{offset});
}

ResolvedModule ResolveModule(const ModuleRecord& record) { return ResolveModule(record, {}); }

ResolvedModule ResolveModule(const ModuleRecord& record, const KernelFiles& kernel_files) {
  switch (record.kind) {
    case ModuleKind::kFile:
      return ResolveFile(record);
    case ModuleKind::kVdso:
      return record.chunks.empty() ? Missing(CodeState::kMissing, "the vdso could not be copied")
                                   : ResolveFromChunks(record);
    case ModuleKind::kAnonymous:
      return ResolveAnonymous(record);
    case ModuleKind::kKernel:
      return ResolveKernel(record, kernel_files);
  }
  return Missing(CodeState::kMissing, "a kind of module that this library does not know");
}

}  // namespace hbbp
