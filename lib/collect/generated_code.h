// GeneratedCode assigns pieces of generated code to modules.
//
// A JIT replaces old code by other code, and samples of both must be counted. So the code of a
// process is spread over layers, each a module of its own, in which no two pieces overlap: a piece
// belongs to the first layer in which its addresses are free. The address space knows which layer
// was there when.
#ifndef HBBP_LIB_COLLECT_GENERATED_CODE_H_
#define HBBP_LIB_COLLECT_GENERATED_CODE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profile/profile_data.h"

namespace hbbp {

class GeneratedCode {
 public:
  // Code beyond either limit is dropped.
  static constexpr uint64_t kMaxBytes = 256 << 20;
  static constexpr size_t kMaxLayers = 256;  // of a process

  // Returns the index of the module that has the piece now, which is appended to `modules` if no
  // layer can have it, or nothing beyond the limits. The same piece may be added again.
  // `before_copy` is called before a new piece is copied. If that or an allocation throws, nothing
  // has changed.
  std::optional<uint32_t> Add(uint32_t pid, uint64_t address, std::span<const uint8_t> bytes,
                              const std::string& name, CodeLines lines,
                              std::vector<ModuleRecord>* modules,
                              const std::function<void()>& before_copy = {});

 private:
  struct Layer {
    uint32_t module = 0;
    std::map<uint64_t, size_t> chunk_at;  // by start: index into the chunks of the module
  };

  uint64_t bytes_ = 0;
  std::map<uint32_t, std::vector<Layer>> layers_;  // by pid
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_GENERATED_CODE_H_
