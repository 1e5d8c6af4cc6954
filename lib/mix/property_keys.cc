#include "mix/property_keys.h"

#include <string>

namespace hbbp {
namespace {

class PropertyKey : public PivotKey {
 public:
  explicit PropertyKey(Property property)
      : PivotKey(std::string(NameOf(property)), KeyLevel::kKind), property_(property) {}

  uint32_t ValueOf(const PivotContext& context) override {
    return static_cast<uint32_t>(PropertyNumber(*context.kind, property_));
  }
  PivotLabel LabelOf(uint32_t value) const override {
    if (IsNumber(property_)) return NumberLabel(value);
    PivotLabel label = TextLabel(std::string(WordAt(property_, value)));
    label.number = value;
    return label;
  }

 private:
  const Property property_;
};

class TaxonomyKey : public PivotKey {
 public:
  explicit TaxonomyKey(const Taxonomy& taxonomy)
      : PivotKey(taxonomy.name(), KeyLevel::kKind), taxonomy_(taxonomy) {}

  uint32_t ValueOf(const PivotContext& context) override {
    const auto kind = static_cast<size_t>(context.instruction->kind);
    if (kind >= group_of_kind_.size()) group_of_kind_.resize(kind + 1, kNoIndex);
    if (group_of_kind_[kind] == kNoIndex) {
      group_of_kind_[kind] = static_cast<uint32_t>(taxonomy_.GroupOf(*context.kind));
    }
    return group_of_kind_[kind];
  }
  PivotLabel LabelOf(uint32_t value) const override {
    return TextLabel(std::string(taxonomy_.GroupName(value)));
  }
  std::vector<std::string_view> FixedLabels() const override {
    std::vector<std::string_view> words;
    for (size_t group = 0; group <= taxonomy_.groups().size(); ++group) {
      words.push_back(taxonomy_.GroupName(group));
    }
    return words;
  }

 private:
  const Taxonomy& taxonomy_;
  std::vector<uint32_t> group_of_kind_;
};

}  // namespace

std::unique_ptr<PivotKey> MakePropertyKey(Property property) {
  return std::make_unique<PropertyKey>(property);
}

std::unique_ptr<PivotKey> MakeTaxonomyKey(const Taxonomy& taxonomy) {
  return std::make_unique<TaxonomyKey>(taxonomy);
}

}  // namespace hbbp
