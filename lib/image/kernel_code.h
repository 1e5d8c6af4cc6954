// KernelCode is a kernel and its modules as a ModuleCode, in which a ModuleAddress is the address
// that the kernel runs at.
//
// Code comes from records of its changes while it ran, else from what was captured then, else from
// a core file, else from the static vmlinux. Functions come from what was recorded with all of
// their code, else from the symbols of vmlinux, else from kallsyms or from what else was recorded
// when it ran, whichever begins later; where none of them has one, a kernel module or a segment
// counts as one function. Text of kernel modules is in memory only: a .ko file is not linked before
// it is loaded.
#ifndef HBBP_LIB_IMAGE_KERNEL_CODE_H_
#define HBBP_LIB_IMAGE_KERNEL_CODE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "image/elf_image.h"
#include "image/kernel_core.h"
#include "image/kernel_memory.h"
#include "image/kernel_symbols.h"
#include "image/memory_code.h"
#include "image/module_code.h"
#include "image/named_range.h"

namespace hbbp {

// KernelParts has what is known of a kernel; any part may be missing. A slide is the run-time
// address minus the address in the file, modulo 2^64.
struct KernelParts {
  std::shared_ptr<const KernelSymbols> symbols;
  uint64_t symbols_slide = 0;
  std::shared_ptr<const KernelCore> core;
  std::shared_ptr<const ElfImage> vmlinux;
  std::string vmlinux_path;
  uint64_t vmlinux_slide = 0;
  std::vector<NamedRange> functions;  // recorded when it ran; by address, without overlaps
  std::vector<NamedRange> modules;    // ranges of kernel modules and of the kernel; likewise
  MemoryCode poked;                   // what was changed or generated while it was sampled
  MemoryCode captured;
};

// This class is not thread-safe.
class KernelCode : public ModuleCode {
 public:
  explicit KernelCode(KernelParts parts);

  std::span<const uint8_t> CodeAt(ModuleAddress address, size_t size) const override;
  std::span<const uint8_t> DataAt(ModuleAddress address, size_t size) const override;
  std::optional<AddressRange> FunctionAround(ModuleAddress address) const override;
  // Returns "nvme_irq [nvme]" in kernel modules, as in kallsyms, and "[nvme]" if only the module is
  // known.
  std::string FunctionName(ModuleAddress address) const override;

  const KernelParts& parts() const { return parts_; }

  // Returns whether the byte at `address`, unless it was poked, is from memory and not from a
  // static file.
  bool IsLive(ModuleAddress address) const;

  // Counts the bytes of `range` in which poked code or memory differs from vmlinux, except
  // relocated addresses.
  uint64_t PatchedBytes(const AddressRange& range) const;

 private:
  // Found is a function, or what counts as one, around an address.
  struct Found {
    AddressRange range;
    std::string name;
  };
  std::optional<Found> FindIn(const std::vector<NamedRange>& ranges, ModuleAddress address) const;
  // Finds a recorded function all of whose code was recorded.
  std::optional<Found> FindGenerated(ModuleAddress address) const;
  std::optional<Found> FindInVmlinux(ModuleAddress address) const;
  std::optional<Found> FindInSymbols(ModuleAddress address) const;
  std::optional<Found> FindSegment(ModuleAddress address) const;
  std::optional<Found> Find(ModuleAddress address) const;

  const KernelParts parts_;
  const bool vmlinux_has_symbols_;
  KernelMemory memory_;
};

// Counts the bytes in which `live` differs from `file`, which has the same code linked `slide`
// bytes lower. Bytes of a relocated absolute address (32 or 64 bits), or of a relocated distance to
// something fixed, do not count.
uint64_t CountPatchedBytes(std::span<const uint8_t> live, std::span<const uint8_t> file,
                           uint64_t slide);

}  // namespace hbbp

#endif  // HBBP_LIB_IMAGE_KERNEL_CODE_H_
