// Writes the sections .pseudo_probe_desc and .pseudo_probe as clang does.
#ifndef HBBP_TESTS_SUPPORT_PROBE_SECTIONS_H_
#define HBBP_TESTS_SUPPORT_PROBE_SECTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "symbols/function_guid.h"

namespace hbbp {

class ProbeSections {
 public:
  ProbeSections& Describe(const std::string& name, uint64_t checksum) {
    AddWord(FunctionGuid(name), &descriptions_);
    AddWord(checksum, &descriptions_);
    AddUleb(name.size(), &descriptions_);
    descriptions_.insert(descriptions_.end(), name.begin(), name.end());
    return *this;
  }

  // A sentinel is one of the probes. So many probes and inlined functions must follow.
  ProbeSections& BeginTree(const std::string& name, uint64_t probes, uint64_t inlined) {
    AddWord(FunctionGuid(name), &trees_);
    AddUleb(probes, &trees_);
    AddUleb(inlined, &trees_);
    return *this;
  }
  ProbeSections& BeginInlined(uint64_t call_probe, const std::string& name, uint64_t probes,
                              uint64_t inlined) {
    AddUleb(call_probe, &trees_);
    return BeginTree(name, probes, inlined);
  }

  static constexpr uint8_t kBlock = 0, kIndirectCall = 1, kDirectCall = 2;
  ProbeSections& AddProbe(uint64_t index, uint8_t kind, int64_t distance) {
    AddUleb(index, &trees_);
    trees_.push_back(kind | 0x80);
    AddSleb(distance, &trees_);
    return *this;
  }
  ProbeSections& AddProbeAt(uint64_t index, uint8_t kind, uint64_t address) {
    AddUleb(index, &trees_);
    trees_.push_back(kind);
    AddWord(address, &trees_);
    return *this;
  }
  ProbeSections& AddDiscriminated(uint64_t index, int64_t distance, uint64_t discriminator) {
    AddUleb(index, &trees_);
    trees_.push_back(kBlock | 0xc0);
    AddSleb(distance, &trees_);
    AddUleb(discriminator, &trees_);
    return *this;
  }
  ProbeSections& AddSentinel(const std::string& symbol) {
    trees_.insert(trees_.end(), {0, 0x20});
    AddWord(FunctionGuid(symbol), &trees_);
    return *this;
  }

  const std::vector<uint8_t>& descriptions() const { return descriptions_; }
  const std::vector<uint8_t>& trees() const { return trees_; }

 private:
  static void AddWord(uint64_t word, std::vector<uint8_t>* bytes) {
    for (int shift = 0; shift < 64; shift += 8) {
      bytes->push_back(static_cast<uint8_t>(word >> shift));
    }
  }
  static void AddUleb(uint64_t value, std::vector<uint8_t>* bytes) {
    for (; value >= 0x80; value >>= 7) bytes->push_back(static_cast<uint8_t>(value | 0x80));
    bytes->push_back(static_cast<uint8_t>(value));
  }
  static void AddSleb(int64_t value, std::vector<uint8_t>* bytes) {
    for (; value < -0x40 || value >= 0x40; value >>= 7) {
      bytes->push_back(static_cast<uint8_t>(value | 0x80));
    }
    bytes->push_back(static_cast<uint8_t>(value & 0x7f));
  }

  std::vector<uint8_t> descriptions_;
  std::vector<uint8_t> trees_;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_PROBE_SECTIONS_H_
