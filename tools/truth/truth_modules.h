// The profiled modules, and their load addresses, for readers of exact counts.
#ifndef HBBP_TOOLS_TRUTH_TRUTH_MODULES_H_
#define HBBP_TOOLS_TRUTH_TRUTH_MODULES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compare.h"
#include "image/elf_image.h"

namespace hbbp::tools {

// ProfiledModule is a module of the profile that may have exact counts.
struct ProfiledModule {
  std::string path;
  std::string build_id;  // hexadecimal; empty if there is none
};

// LoadAddress is "PATH=ADDRESS" of a loaded file, that is the run-time address of ELF address 0.
struct LoadAddress {
  std::string path;
  uint64_t address = 0;
};
StatusOr<LoadAddress> ParseLoadAddress(const std::string& text);

// Opens files of modules that counts refer to. kMismatch: the file at the path does not have the
// build ID of the profile.
class ModuleImages {
 public:
  explicit ModuleImages(std::vector<ProfiledModule> modules) : modules_(std::move(modules)) {}

  const std::vector<ProfiledModule>& modules() const { return modules_; }
  // The file is borrowed.
  StatusOr<const ElfImage*> Open(const std::string& path);

 private:
  const std::vector<ProfiledModule> modules_;
  std::map<std::string, std::unique_ptr<ElfImage>> images_;
};

// Collects counts by address, of one module after another.
class ReferenceBuilder {
 public:
  void Add(const std::string& path, uint64_t address, double count) {
    counts_[path][address] += count;
  }
  std::vector<ReferenceModule> Take() const;

 private:
  std::map<std::string, std::map<uint64_t, double>> counts_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_TRUTH_MODULES_H_
