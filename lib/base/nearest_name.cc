#include "base/nearest_name.h"

#include <algorithm>
#include <array>

namespace hbbp {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

int EditDistance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxComparedName);
  b = b.substr(0, kMaxComparedName);
  // The rows hold distances of prefixes: the row of a[0..i), and the two rows before it.
  std::array<int, kMaxComparedName + 1> rows[3];
  for (size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i - 1) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substituted = above[j - 1] + (Lower(a[i - 1]) != Lower(b[j - 1]));
      row[j] = std::min({substituted, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) &&
          Lower(a[i - 2]) == Lower(b[j - 1])) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return rows[a.size() % 3][b.size()];
}

std::string_view NearestName(std::string_view name, const std::vector<std::string_view>& names) {
  int bound = std::max(2, static_cast<int>(std::min(name.size(), kMaxComparedName) / 3)) + 1;
  // A name of one or two characters is not a misspelling of everything that is as short.
  bound = std::min(bound, std::max(2, static_cast<int>(name.size())));
  std::string_view nearest;
  for (const std::string_view candidate : names) {
    const int distance = EditDistance(name, candidate);
    if (distance >= bound) continue;
    bound = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string_view>& names) {
  const std::string_view nearest = NearestName(name, names);
  if (nearest.empty()) return "";
  return "; did you mean '" + std::string(nearest) + "'?";
}

std::string DidYouMeanOneOf(std::string_view name, const std::vector<std::string_view>& names,
                            std::string_view listed_by) {
  std::string meant = DidYouMean(name, names);
  if (!meant.empty()) return meant;
  // An error has 1023 characters, and some of them must say what was wrong.
  constexpr size_t kMaxPrinted = 700;
  std::string choices;
  for (const std::string_view choice : names) {
    if (choice.empty()) continue;
    choices += choices.empty() ? "; choose from " : ", ";
    choices += choice;
    if (choices.size() > kMaxPrinted) return std::string(listed_by);
  }
  return choices;
}

}  // namespace hbbp
