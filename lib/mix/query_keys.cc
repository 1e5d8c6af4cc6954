#include "mix/query_keys.h"

#include <algorithm>
#include <utility>

#include "isa/property_names.h"
#include "mix/profile_keys.h"
#include "mix/property_keys.h"

namespace hbbp {

const std::vector<std::string_view>& PivotKeyNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all = ProfileKeyNames();
    for (uint32_t i = 0; i < static_cast<uint32_t>(Property::kCount); ++i) {
      all.push_back(NameOf(static_cast<Property>(i)));
    }
    return all;
  }();
  return names;
}

Status CheckTaxonomyNames(const std::vector<Taxonomy>& taxonomies) {
  for (const Taxonomy& taxonomy : taxonomies) {
    const std::vector<std::string_view>& keys = PivotKeyNames();
    if (std::find(keys.begin(), keys.end(), taxonomy.name()) != keys.end()) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "taxonomy '%s' is called as a key that every profile has; rename it",
                        taxonomy.name().c_str());
    }
  }
  return OkStatus();
}

QueryKeys::QueryKeys(const PivotSubject& subject, const std::vector<Taxonomy>& taxonomies)
    : subject_(subject), taxonomies_(taxonomies) {}

PivotKey* QueryKeys::Find(std::string_view name) {
  for (const auto& key : keys_) {
    if (key->name() == name) return key.get();
  }
  std::unique_ptr<PivotKey> key = MakeProfileKey(name, subject_);
  if (const std::optional<Property> property = FindProperty(name)) key = MakePropertyKey(*property);
  for (const Taxonomy& taxonomy : taxonomies_) {
    if (key == nullptr && taxonomy.name() == name) key = MakeTaxonomyKey(taxonomy);
  }
  if (key == nullptr) return nullptr;
  keys_.push_back(std::move(key));
  return keys_.back().get();
}

std::vector<std::string_view> QueryKeys::Names() const {
  std::vector<std::string_view> names = PivotKeyNames();
  for (const Taxonomy& taxonomy : taxonomies_) names.push_back(taxonomy.name());
  return names;
}

bool QueryKeys::Use(KeyLevel level) const {
  return std::any_of(keys_.begin(), keys_.end(),
                     [level](const auto& key) { return key->level() == level; });
}

bool QueryKeys::Use(std::string_view name) const {
  return std::any_of(keys_.begin(), keys_.end(),
                     [name](const auto& key) { return key->name() == name; });
}

QueryNeeds QueryKeys::Needs() const {
  return {.instructions = Use(KeyLevel::kKind) || Use(KeyLevel::kInstruction),
          .loops = Use("loop"),
          .lines = Use("file") || Use("line") || Use("inlined")};
}

}  // namespace hbbp
