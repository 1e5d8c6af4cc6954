// ResolvedModules opens the code of the modules of a profile on demand, and keeps it.
#ifndef HBBP_LIB_ANALYSIS_RESOLVED_MODULES_H_
#define HBBP_LIB_ANALYSIS_RESOLVED_MODULES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "analysis/kernel_resolver.h"
#include "analysis/resolved_module.h"
#include "base/address.h"
#include "base/status.h"
#include "blocks/block_map.h"
#include "isa/decoder.h"
#include "profile/profile_data.h"

namespace hbbp {

// Any thread may call any function.
class ResolvedModules {
 public:
  explicit ResolvedModules(std::shared_ptr<const ProfileData> data, KernelFiles kernel_files = {});
  // Shares the opened code of `same` for other counts in the same modules.
  ResolvedModules(std::shared_ptr<const ProfileData> counts, const ResolvedModules& same);

  const ProfileData& data() const { return *data_; }
  const std::shared_ptr<const ProfileData>& shared_data() const { return data_; }
  const KernelFiles& kernel_files() const { return kernel_files_; }

  // A module, with the lock of all modules: their code is read lazily, and kernels share files.
  class Use {
   public:
    Use(std::unique_lock<std::mutex> lock, const ResolvedModule* module)
        : lock_(std::move(lock)), module_(module) {}
    const ResolvedModule& operator*() const { return *module_; }
    const ResolvedModule* operator->() const { return module_; }

   private:
    std::unique_lock<std::mutex> lock_;
    const ResolvedModule* module_;
  };
  // `module` must be below data().modules.size(). A thread must not call it while it holds another
  // Use.
  Use Open(uint32_t module) const;
  bool HasOpened() const;

  CodeState CodeStateOf(uint32_t module) const { return Open(module)->state; }
  // Returns a problem that lives as long as this object.
  const std::string& ProblemOf(uint32_t module) const { return Open(module)->problem; }
  // Returns kNotFound if there is no such module, or no code there.
  StatusOr<Instruction> Decode(uint32_t module, ModuleAddress address) const;
  // Returns `size` bytes of code at an address, or fewer where it ends.
  std::vector<uint8_t> CodeAt(uint32_t module, ModuleAddress address, size_t size) const;
  // Returns the instructions in order, or nothing if the code is missing.
  std::vector<Instruction> DecodeBlock(uint32_t module, const Block& block) const;

  // Returns the profile with what is known now, and may be lost later, of the code of kernels.
  ProfileData DataToStore() const;

 private:
  struct Opened {
    std::mutex mutex;
    std::shared_ptr<const ProfileData> data;                     // whose modules these are
    std::vector<std::unique_ptr<const ResolvedModule>> modules;  // null: not requested yet
  };

  const std::shared_ptr<const ProfileData> data_;
  const KernelFiles kernel_files_;
  const std::shared_ptr<Opened> opened_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_ANALYSIS_RESOLVED_MODULES_H_
