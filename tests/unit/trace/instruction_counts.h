// Counts instructions by mnemonic.
#ifndef HBBP_TESTS_UNIT_TRACE_INSTRUCTION_COUNTS_H_
#define HBBP_TESTS_UNIT_TRACE_INSTRUCTION_COUNTS_H_

#include <map>
#include <sstream>
#include <string>

#include "unit/trace/instruction_case.h"

namespace hbbp::testing {

class InstructionCounts {
 public:
  void Add(const InstructionBytes& code, const std::string& why = "") {
    ++counts_[MnemonicOf(code) + (why.empty() ? "" : "(" + why + ")")];
  }

  // Returns a text such as "3 refused: in=2 out=1".
  std::string TextFor(const std::string& title) const {
    int sum = 0;
    std::ostringstream list;
    for (const auto& [mnemonic, count] : counts_) {
      sum += count;
      list << ' ' << mnemonic << '=' << count;
    }
    return std::to_string(sum) + ' ' + title + ':' + list.str() + '\n';
  }

 private:
  std::map<std::string, int> counts_;
};

// Counts disagreements and keeps the first ones.
class Disagreements {
 public:
  void Add(const InstructionBytes& code, const std::string& what) {
    constexpr int kKept = 60;
    if (count_++ < kKept) text_ += TextOf(code) + '\n' + what;
  }

  int count() const { return count_; }
  const std::string& text() const { return text_; }

 private:
  int count_ = 0;
  std::string text_;
};

}  // namespace hbbp::testing

#endif  // HBBP_TESTS_UNIT_TRACE_INSTRUCTION_COUNTS_H_
