#include "mix/joined_key.h"

namespace hbbp {

uint32_t JoinedKey::ValueOf(const PivotContext& context) {
  const uint32_t of_key = key_.ValueOf(context);
  if (of_key >= values_.size()) values_.resize(of_key + size_t{1}, kNoIndex);
  uint32_t& value = values_[of_key];
  if (value != kNoIndex) return value;
  const auto next = static_cast<uint32_t>(firsts_.size());
  const auto [found, is_new] = value_of_name_.try_emplace(key_.DisplayName(of_key), next);
  if (is_new) firsts_.push_back(of_key);
  value = found->second;
  return value;
}

}  // namespace hbbp
