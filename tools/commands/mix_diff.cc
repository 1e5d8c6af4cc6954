#include "commands/mix_diff.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace hbbp::tools {

double MixDiffRow::ChangeError() const {
  return std::hypot(before.standard_error, after.standard_error);
}

bool MixDiffRow::IsMoreThanRounding(double difference) const {
  constexpr double kRounding = 1e-12;
  return std::abs(difference) > kRounding * std::max(std::abs(before.value), std::abs(after.value));
}

double MixDiffRow::Z() const {
  if (!IsMoreThanRounding(Change())) return 0;
  if (IsMoreThanRounding(ChangeError())) return Change() / ChangeError();
  return std::copysign(std::numeric_limits<double>::infinity(), Change());
}

std::optional<double> MixDiffRow::P() const {
  if (IsMoreThanRounding(Change()) && !IsMoreThanRounding(ChangeError())) return std::nullopt;
  return std::erfc(std::abs(Z()) / std::sqrt(2.0));
}

void MixDiff::AddBefore(std::vector<std::string> labels, Measured measured) {
  RowOf(std::move(labels))->before = measured;
}

void MixDiff::AddAfter(std::vector<std::string> labels, Measured measured) {
  RowOf(std::move(labels))->after = measured;
}

MixDiffRow* MixDiff::RowOf(std::vector<std::string> labels) {
  const auto [index, is_new] = indices_.try_emplace(labels, rows_.size());
  if (is_new) rows_.push_back({std::move(labels), {}, {}});
  return &rows_[index->second];
}

std::vector<MixDiffRow> MixDiff::Sorted(MixDiffOrder order) const {
  std::vector<MixDiffRow> sorted = rows_;
  const auto weight = [order](const MixDiffRow& row) {
    const double change = std::abs(row.Change());
    if (order == MixDiffOrder::kChange) return std::pair(change, change);
    constexpr double kNothingIsKnown = -1;
    return std::pair(row.P() ? std::abs(row.Z()) : kNothingIsKnown, change);
  };
  std::sort(sorted.begin(), sorted.end(), [&](const MixDiffRow& a, const MixDiffRow& b) {
    if (weight(a) != weight(b)) return weight(a) > weight(b);
    return a.labels < b.labels;
  });
  return sorted;
}

}  // namespace hbbp::tools
