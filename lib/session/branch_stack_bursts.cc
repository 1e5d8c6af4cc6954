#include "session/branch_stack_bursts.h"

namespace hbbp {
namespace {

constexpr uint8_t kWrongPath = 1;  // PERF_BR_SPEC_WRONG_PATH

}  // namespace

void BranchStackBursts::Split(const BranchStack& stack) {
  branches_.clear();
  parts_.clear();
  Part part = {0, 0};
  const auto end_part = [&] {
    part.end = branches_.size();
    if (part.size() != 0) parts_.push_back(part);
    part.first = part.end;
  };
  for (size_t i = stack.size(); i-- > 0;) {
    const BranchEntry entry = stack[i];
    const bool is_empty = entry.from == 0 && entry.to == 0;
    const bool is_speculative = entry.speculation == kWrongPath;
    if (is_empty || is_speculative) {
      ++(is_empty ? losses_.empty : losses_.speculative);
      end_part();
    } else {
      branches_.push_back({{entry.from}, {entry.to}});
    }
  }
  end_part();
}

}  // namespace hbbp
