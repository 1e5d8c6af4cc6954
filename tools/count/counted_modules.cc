#include "count/counted_modules.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "format.h"
#include "image/process_memory.h"

namespace hbbp::tools {
namespace {

constexpr uint64_t kMaxVdsoBytes = 1 << 20;

StatusOr<std::unique_ptr<ElfImage>> OpenVdso(const Mapping& mapping, pid_t pid) {
  std::vector<uint8_t> bytes(std::min(mapping.size(), kMaxVdsoBytes));
  bytes.resize(ReadProcessMemory(pid, mapping.start, bytes));
  return ElfImage::FromMemory(std::move(bytes), mapping.path);
}

// Opens the mapped file, even if its name belongs to another one by now.
UniqueFd OpenMapped(const Mapping& mapping, pid_t pid) {
  UniqueFd fd(::open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat file = {};
  if (fd.valid() && ::fstat(fd.get(), &file) == 0 && file.st_ino == mapping.inode) return fd;
  char name[96];
  std::snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
                mapping.start.value, mapping.end.value);
  return UniqueFd(::open(name, O_RDONLY | O_CLOEXEC));
}

}  // namespace

uint64_t CountedModule::ModuleAddressFrom(const Mapping& mapping, uint64_t runtime_address) const {
  if (!mapping.IsFile() && mapping.path != "[vdso]") return runtime_address;
  const FileOffset offset = mapping.offset + (runtime_address - mapping.start.value);
  if (image == nullptr) return offset.value;
  return image->AddressOfOffset(offset).value_or(ModuleAddress{offset.value}).value;
}

CountedModules::CountedModules() { generated_.path = "???"; }

StatusOr<std::unique_ptr<ElfImage>> CountedModules::Open(const Mapping& mapping, pid_t pid) const {
  if (!mapping.IsFile()) return OpenVdso(mapping, pid);
  UniqueFd fd = OpenMapped(mapping, pid);
  if (!fd.valid()) return ErrnoStatus(errno, mapping.path);
  return ElfImage::FromFd(std::move(fd), mapping.path);
}

const CountedModule* CountedModules::Of(const Mapping& mapping, pid_t pid) {
  if (!mapping.IsFile() && mapping.path != "[vdso]") return &generated_;
  const auto [entry, is_new] = modules_.try_emplace(
      {mapping.path, mapping.device_major, mapping.device_minor, mapping.inode});
  CountedModule& module = entry->second;
  if (!is_new) return &module;
  module.path = mapping.path;
  StatusOr<std::unique_ptr<ElfImage>> image = Open(mapping, pid);
  if (!image.ok()) {
    problems_.push_back(image.status().message() + "; its addresses are offsets in the file");
    return &module;
  }
  module.image = *std::move(image);
  const std::span<const uint8_t> build_id = module.image->build_id();
  module.build_id = FormatHex(build_id.data(), build_id.size());
  return &module;
}

}  // namespace hbbp::tools
