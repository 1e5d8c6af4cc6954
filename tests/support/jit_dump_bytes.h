// Builds jitdumps, which JITs write for perf.
#ifndef HBBP_TESTS_SUPPORT_JIT_DUMP_BYTES_H_
#define HBBP_TESTS_SUPPORT_JIT_DUMP_BYTES_H_

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

namespace hbbp {

class JitDumpBytes {
 public:
  explicit JitDumpBytes(uint64_t flags = 0, uint32_t machine = EM_X86_64) {
    Add<uint32_t>({0x4A695444, 1, 40, machine, 0, 77});
    Add<uint64_t>({1, flags});
  }

  void Load(uint64_t time_ns, uint64_t address, const std::string& name,
            const std::vector<uint8_t>& code, uint64_t index = 0) {
    Add<uint32_t>({0, static_cast<uint32_t>(16 + 40 + name.size() + 1 + code.size())});
    Add<uint64_t>({time_ns});
    Add<uint32_t>({77, 78});
    Add<uint64_t>({address, address, code.size(), index});
    bytes_.insert(bytes_.end(), name.begin(), name.end());
    bytes_.push_back(0);
    bytes_.insert(bytes_.end(), code.begin(), code.end());
  }

  void Move(uint64_t time_ns, uint64_t from, uint64_t to, uint64_t size, uint64_t index) {
    Add<uint32_t>({1, 16 + 48});
    Add<uint64_t>({time_ns});
    Add<uint32_t>({77, 78});
    Add<uint64_t>({to, from, to, size, index});
  }

  // Must precede the Load of the function. Entries are address, line, file.
  void DebugInfo(uint64_t address,
                 const std::vector<std::tuple<uint64_t, uint32_t, std::string>>& entries) {
    const size_t start = bytes_.size();
    Add<uint32_t>({2, 0});
    Add<uint64_t>({0, address, entries.size()});
    for (const auto& [at, line, file] : entries) {
      Add<uint64_t>({at});
      Add<uint32_t>({line, 0});
      bytes_.insert(bytes_.end(), file.begin(), file.end());
      bytes_.push_back(0);
    }
    while ((bytes_.size() - start) % 8 != 0) bytes_.push_back(0);
    const auto size = static_cast<uint32_t>(bytes_.size() - start);
    std::memcpy(&bytes_[start + 4], &size, sizeof(size));
  }

  void Other(uint32_t id, uint32_t bytes) {
    Add<uint32_t>({id, 16 + bytes});
    Add<uint64_t>({0});
    bytes_.resize(bytes_.size() + bytes);
  }

  std::vector<uint8_t>& bytes() { return bytes_; }

 private:
  template <typename T>
  void Add(const std::vector<T>& values) {
    const auto* first = reinterpret_cast<const uint8_t*>(values.data());
    bytes_.insert(bytes_.end(), first, first + values.size() * sizeof(T));
  }

  std::vector<uint8_t> bytes_;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_JIT_DUMP_BYTES_H_
