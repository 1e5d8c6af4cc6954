#include "isa/property_expression.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/glob.h"
#include "isa/mnemonic_table.h"

namespace hbbp {
namespace {

class AllPropertyKeys : public ExpressionKeys {
 public:
  std::optional<ExpressionKey> Find(std::string_view name) const override {
    const std::optional<Property> property = FindProperty(name);
    if (!property) return std::nullopt;
    return ExpressionKey{static_cast<uint32_t>(*property),
                         IsNumber(*property) ? KeyType::kNumber : KeyType::kWord};
  }

  std::vector<std::string_view> Names() const override {
    std::vector<std::string_view> names;
    for (uint32_t id = 0; id < static_cast<uint32_t>(Property::kCount); ++id) {
      names.push_back(NameOf(static_cast<Property>(id)));
    }
    return names;
  }

  uint32_t WordCount(uint32_t id) const override {
    return hbbp::WordCount(static_cast<Property>(id));
  }

  std::string_view WordAt(uint32_t id, uint32_t word) const override {
    return hbbp::WordAt(static_cast<Property>(id), word);
  }

  // For example, jz is a synonym of je.
  std::optional<uint32_t> FindSynonym(uint32_t id, std::string_view word) const override {
    if (static_cast<Property>(id) != Property::kMnemonic) return std::nullopt;
    const Mnemonic mnemonic = FindMnemonic(word);
    if (mnemonic == Mnemonic::kInvalid) return std::nullopt;
    return static_cast<uint32_t>(mnemonic);
  }
};

}  // namespace

std::optional<uint32_t> ExpressionKeys::FindSynonym(uint32_t, std::string_view) const {
  return std::nullopt;
}

const ExpressionKeys& PropertyKeys() {
  static const AllPropertyKeys keys;
  return keys;
}

std::vector<uint32_t> Expression::KeyIds() const {
  std::vector<uint32_t> ids;
  for (const Node& node : nodes_) {
    if (node.first_child == kNone) ids.push_back(node.key_id);
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<uint64_t> Expression::RepresentativeValues(uint32_t key_id) const {
  // The bounds of ranges divide numbers into intervals; words with the same bits are alike.
  std::vector<uint64_t> values = {0};
  std::vector<const Node*> of_words;
  for (const Node& node : nodes_) {
    if (node.key_id != key_id || node.first_child != kNone) continue;
    if (node.kind == NodeKind::kWord) of_words.push_back(&node);
    if (node.kind != NodeKind::kNumber) continue;
    for (uint32_t i = node.begin; i < node.end; ++i) {
      values.push_back(ranges_[i].first);
      if (ranges_[i].last != UINT64_MAX) values.push_back(ranges_[i].last + 1);
    }
  }
  if (!of_words.empty()) {
    std::map<std::vector<bool>, uint64_t> word_of_results;
    const uint64_t words = uint64_t{64} * (of_words.front()->end - of_words.front()->begin);
    for (uint64_t word = 0; word < words; ++word) {
      std::vector<bool> results;
      for (const Node* node : of_words) results.push_back(HasWord(*node, word));
      word_of_results.try_emplace(std::move(results), word);
    }
    for (const auto& [results, word] : word_of_results) values.push_back(word);
  }
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

bool Expression::FitsPattern(const Node& node, std::string_view text) const {
  return std::any_of(
      patterns_.begin() + node.begin, patterns_.begin() + node.end, [text](const Pattern& pattern) {
        return pattern.is_glob ? MatchesGlob(pattern.text, text) : pattern.text == text;
      });
}

}  // namespace hbbp
