#include "mix/where_filter.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "isa/property_expression.h"
#include "mix/number_pairs.h"

namespace hbbp {
namespace {

// Properties have the numbers of PropertyKeys, and other keys follow.
constexpr auto kFirstOtherKey = static_cast<uint32_t>(Property::kCount);

class ExpressionKeysOfQuery : public ExpressionKeys {
 public:
  explicit ExpressionKeysOfQuery(QueryKeys* keys) : keys_(keys) {}

  const std::vector<PivotKey*>& others() const { return others_; }

  std::optional<ExpressionKey> Find(std::string_view name) const override {
    PivotKey* const key = keys_->Find(name);
    if (key == nullptr) return std::nullopt;
    if (const auto property = PropertyKeys().Find(name)) return property;
    size_t index =
        static_cast<size_t>(std::find(others_.begin(), others_.end(), key) - others_.begin());
    if (index == others_.size()) others_.push_back(key);
    const uint32_t id = kFirstOtherKey + static_cast<uint32_t>(index);
    if (!key->FixedLabels().empty()) return ExpressionKey{id, KeyType::kWord};
    return ExpressionKey{id, key->is_number() ? KeyType::kNumber : KeyType::kText};
  }
  std::vector<std::string_view> Names() const override { return keys_->Names(); }
  uint32_t WordCount(uint32_t id) const override {
    if (id >= kFirstOtherKey) return static_cast<uint32_t>(FixedLabelsOf(id).size());
    return PropertyKeys().WordCount(id);
  }
  std::string_view WordAt(uint32_t id, uint32_t word) const override {
    return id >= kFirstOtherKey ? FixedLabelsOf(id)[word] : PropertyKeys().WordAt(id, word);
  }
  std::optional<uint32_t> FindSynonym(uint32_t id, std::string_view word) const override {
    if (id >= kFirstOtherKey) return std::nullopt;
    return PropertyKeys().FindSynonym(id, word);
  }

 private:
  std::vector<std::string_view> FixedLabelsOf(uint32_t id) const {
    return others_[id - kFirstOtherKey]->FixedLabels();
  }

  QueryKeys* const keys_;
  mutable std::vector<PivotKey*> others_;
};

class WhereFilter : public PivotFilter {
 public:
  WhereFilter(Expression expression, std::vector<PivotKey*> others)
      : expression_(std::move(expression)),
        others_(std::move(others)),
        values_(others_.size()),
        numbers_(others_.size()) {
    for (size_t i = 0; i < others_.size(); ++i) {
      if (others_[i]->level() == KeyLevel::kObservation) of_observations_.push_back(i);
    }
    const std::vector<uint32_t> ids = expression_.KeyIds();
    uses_properties_ = !ids.empty() && ids.front() < kFirstOtherKey;
  }

  bool NeedsInstructions() const override {
    return uses_properties_ || std::any_of(others_.begin(), others_.end(), [](PivotKey* key) {
             return key->level() == KeyLevel::kKind || key->level() == KeyLevel::kInstruction;
           });
  }

  bool DoesWithoutCode() const override {
    return !uses_properties_ && std::all_of(others_.begin(), others_.end(),
                                            [](PivotKey* key) { return key->DoesWithoutCode(); });
  }

  uint32_t ClassOf(const PivotObservation& observation) override {
    PivotContext context;
    context.observation = &observation;
    uint32_t observation_class = 0;
    for (size_t i = 0; i < of_observations_.size(); ++i) {
      const uint32_t value = others_[of_observations_[i]]->ValueOf(context);
      observation_class = classes_.Combine(observation_class, value);
    }
    return observation_class;
  }

  bool Keeps(uint32_t observation_class, const PivotContext& context) override {
    for (size_t i = of_observations_.size(); i > 0; --i) {
      uint32_t value = 0;
      std::tie(observation_class, value) = classes_.Parts(observation_class);
      values_[of_observations_[i - 1]] = value;
    }
    for (size_t i = 0; i < others_.size(); ++i) {
      if (others_[i]->level() != KeyLevel::kObservation) values_[i] = others_[i]->ValueOf(context);
    }
    return expression_.Matches(Values{this, context.kind});
  }

 private:
  struct Values {
    WhereFilter* filter;
    const InstructionProperties* kind;

    uint64_t NumberOf(uint32_t id) const {
      if (id >= kFirstOtherKey) return filter->NumberOf(id - kFirstOtherKey);
      return PropertyNumber(*kind, static_cast<Property>(id));
    }
    template <typename Fits>
    bool AnyText(uint32_t id, uint32_t test, Fits&& fits) const {
      return filter->AnyText(id - kFirstOtherKey, test, fits);
    }
  };

  uint64_t NumberOf(size_t other) {
    const uint32_t value = values_[other];
    if (!others_[other]->is_number()) return value;
    std::vector<std::optional<uint64_t>>& numbers = numbers_[other];
    if (value >= numbers.size()) numbers.resize(value + size_t{1});
    if (!numbers[value]) numbers[value] = others_[other]->LabelOf(value).number;
    return *numbers[value];
  }

  // Each test compares the names of each value once.
  template <typename Fits>
  bool AnyText(size_t other, uint32_t test, Fits&& fits) {
    if (test >= answers_.size()) answers_.resize(test + size_t{1});
    std::vector<Answer>& answers = answers_[test];
    const uint32_t value = values_[other];
    if (value >= answers.size()) answers.resize(value + size_t{1}, Answer::kUnknown);
    if (answers[value] == Answer::kUnknown) {
      std::vector<std::string> names = others_[other]->AliasesOf(value);
      names.push_back(others_[other]->LabelOf(value).text);
      answers[value] = std::any_of(names.begin(), names.end(), fits) ? Answer::kYes : Answer::kNo;
    }
    return answers[value] == Answer::kYes;
  }

  enum class Answer : uint8_t { kUnknown, kYes, kNo };

  const Expression expression_;
  const std::vector<PivotKey*> others_;
  bool uses_properties_ = false;
  std::vector<size_t> of_observations_;  // indices of others_
  NumberPairs classes_;
  std::vector<uint32_t> values_;                               // of others_, in the current context
  std::vector<std::vector<std::optional<uint64_t>>> numbers_;  // of others_, by value
  std::vector<std::vector<Answer>> answers_;                   // by test and value
};

}  // namespace

StatusOr<std::unique_ptr<PivotFilter>> ParseWhere(std::string_view text, QueryKeys* keys) {
  ExpressionKeysOfQuery known(keys);
  StatusOr<Expression> expression = Expression::Parse(text, known);
  if (!expression.ok()) return expression.status().Annotate("condition");
  std::unique_ptr<PivotFilter> filter =
      std::make_unique<WhereFilter>(*std::move(expression), known.others());
  return filter;
}

}  // namespace hbbp
