#include "collect/module_capture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "base/proc_path.h"
#include "image/build_id.h"
#include "image/process_maps.h"
#include "image/process_memory.h"

namespace hbbp {
namespace {

// A larger file that was deleted is not worth its size in the profile.
constexpr uint64_t kMaxEmbeddedBytes = 256ull << 20;

// Returns whether the open file is the one that was mapped, by build ID if both have one, else by
// inode.
bool IsModule(int fd, const ModuleRecord& module) {
  if (!module.build_id.empty()) return ReadBuildIdOfFd(fd) == module.build_id;
  struct stat status;
  if (::fstat(fd, &status) != 0) return false;
  return module.inode == 0 || (status.st_ino == module.inode && status.st_dev == module.device);
}

// Returns an invalid descriptor if another file, or none, is there.
UniqueFd OpenModule(const std::string& path, const ModuleRecord& module) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status;
  const bool is_module = fd.valid() && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                         IsModule(fd.get(), module);
  if (!is_module) fd.Reset();
  return fd;
}

// Closes the descriptor unless the program has closed it already and opened another file under its
// number.
void CloseIfStillFile(UniqueFd* fd, dev_t device, ino_t inode) {
  struct stat status;
  const bool is_file =
      ::fstat(fd->get(), &status) == 0 && status.st_dev == device && status.st_ino == inode;
  if (!is_file) (void)fd->Release();
  delete fd;
}

void CopyMemory(pid_t pid, RuntimeAddress start, uint64_t size, uint64_t offset,
                ModuleRecord* module) {
  CodeChunk chunk{offset, {}};
  chunk.bytes.resize(std::min(size, kMaxEmbeddedBytes));
  chunk.bytes.resize(ReadProcessMemory(pid, start, chunk.bytes));
  if (!chunk.bytes.empty()) module->chunks.push_back(std::move(chunk));
}

// Copies the read-only mappings of the module, which together are the loaded part of its file.
void CopyFromMemory(pid_t pid, RuntimeAddress header, ModuleRecord* module) {
  StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(pid);
  if (!mappings.ok()) return;
  const auto is_header = [header](const Mapping& mapping) { return mapping.start == header; };
  auto first = std::find_if(mappings->begin(), mappings->end(), is_header);
  if (first == mappings->end()) return;
  for (auto mapping = first; mapping != mappings->end(); ++mapping) {
    const bool same_file = mapping->inode == first->inode && mapping->path == first->path;
    if (!same_file || (mapping->start != header && mapping->offset.value == 0)) break;
    if (mapping->readable && !mapping->writable) {
      CopyMemory(pid, mapping->start, mapping->size(), mapping->offset.value, module);
    }
  }
  SortChunks(&module->chunks);
}

}  // namespace

void PinOrCopyModule(pid_t pid, RuntimeAddress header, ModuleRecord* module) {
  if (module->build_id.empty()) module->build_id = ReadBuildIdInMemory(pid, header);
  UniqueFd fd = OpenModule(module->path, *module);
  // A process in a container has a root directory of its own.
  if (!fd.valid() && pid != 0) fd = OpenModule(ProcPath(pid, "root") + module->path, *module);
  if (fd.valid()) {
    struct stat status;
    if (::fstat(fd.get(), &status) == 0) {
      module->device = status.st_dev;
      module->inode = status.st_ino;
    }
    // The last free descriptors are left to the program.
    if (!fd.MoveUp()) return;
    module->pinned_file = std::shared_ptr<UniqueFd>(
        new UniqueFd(std::move(fd)),
        [device = module->device, inode = module->inode](UniqueFd* pinned) {
          CloseIfStillFile(pinned, device, inode);
        });
    return;
  }
  CopyFromMemory(pid, header, module);
}

void CopyMapping(pid_t pid, RuntimeAddress start, ModuleRecord* module) {
  StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(pid);
  if (!mappings.ok()) return;
  for (const Mapping& mapping : *mappings) {
    if (mapping.start == start) CopyMemory(pid, mapping.start, mapping.size(), 0, module);
  }
}

bool PathLeadsToModule(const ModuleRecord& module) {
  return OpenModule(module.path, module).valid();
}

void EmbedIfUnreachable(ModuleRecord* module) {
  const bool pinned_file_is_all =
      module->kind == ModuleKind::kFile && module->chunks.empty() && module->pinned_file != nullptr;
  if (!pinned_file_is_all || PathLeadsToModule(*module)) return;
  const int fd = module->pinned_file->get();
  struct stat status;
  // The program may have closed all descriptors, including this one, and reused their numbers.
  if (::fstat(fd, &status) != 0 || !IsModule(fd, *module)) return;
  if (static_cast<uint64_t>(status.st_size) > kMaxEmbeddedBytes) return;
  CodeChunk chunk{0, {}};
  chunk.bytes.resize(static_cast<size_t>(status.st_size));
  const ssize_t got = ::pread(fd, chunk.bytes.data(), chunk.bytes.size(), 0);
  if (got <= 0) return;
  chunk.bytes.resize(static_cast<size_t>(got));
  module->chunks.push_back(std::move(chunk));
}

}  // namespace hbbp
