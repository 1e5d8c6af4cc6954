#include "isa/taxonomy.h"

#include <algorithm>
#include <utility>

#include "default_taxonomy_text.h"

namespace hbbp {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxGroupNameBytes &&
         std::ranges::all_of(name, [](unsigned char c) { return c >= ' ' && c != 0x7f; });
}

class TaxonomyParser {
 public:
  explicit TaxonomyParser(std::string_view text) : text_(text) {}

  StatusOr<std::vector<Taxonomy>> Parse() {
    if (text_.size() > kMaxTaxonomyBytes) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "%zu bytes of groups are more than the %zu that are allowed", text_.size(),
                        kMaxTaxonomyBytes);
    }
    std::ranges::replace(text_, '\0', '?');
    BlankComments();
    while (position_ < text_.size()) {
      const std::string_view line = LineAt(position_);
      const size_t begin = position_;
      if (Trimmed(line).empty()) {
        position_ += line.size() + 1;
      } else if (IsSpace(line.front())) {
        return Error(begin, "an indented line continues a group, and there is none before it");
      } else if (line.front() == '[') {
        HBBP_RETURN_IF_ERROR(StartTaxonomy(line));
      } else {
        HBBP_RETURN_IF_ERROR(ReadGroup(line));
      }
    }
    HBBP_RETURN_IF_ERROR(EndTaxonomy());
    if (taxonomies_.empty()) return Error(0, "no group: 'name: expression' makes one");
    return std::move(taxonomies_);
  }

 private:
  static std::string_view Trimmed(std::string_view text) {
    while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
    while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
    return text;
  }

  std::string_view LineAt(size_t offset) const {
    const size_t end = text_.find('\n', offset);
    return std::string_view(text_).substr(offset, end == text_.npos ? text_.npos : end - offset);
  }

  // Overwrites comments with spaces, so that offsets in messages remain valid.
  void BlankComments() {
    for (size_t begin = 0; begin < text_.size();) {
      const size_t size = LineAt(begin).size();
      if (Trimmed(LineAt(begin)).starts_with('#')) text_.replace(begin, size, size, ' ');
      begin += size + 1;
    }
  }

  Status Error(size_t offset, const std::string& what) const {
    const std::string_view before = std::string_view(text_).substr(0, offset);
    const auto line = std::ranges::count(before, '\n') + 1;
    const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return Status(StatusCode::kInvalidArgument, "line " + std::to_string(line) + ", column " +
                                                    std::to_string(offset - line_begin + 1) + ": " +
                                                    what);
  }

  Status StartTaxonomy(std::string_view line) {
    const size_t begin = position_;
    position_ += line.size() + 1;
    HBBP_RETURN_IF_ERROR(EndTaxonomy());
    line = Trimmed(line);
    if (!line.ends_with(']')) return Error(begin, "']' must end the name of a taxonomy");
    name_ = Trimmed(line.substr(1, line.size() - 2));
    name_offset_ = begin;
    is_named_ = true;
    if (!IsName(name_)) {
      return Error(begin, "a taxonomy must have a name of at most " +
                              std::to_string(kMaxGroupNameBytes) + " printable bytes");
    }
    if (name_.find(',') != name_.npos) {
      return Error(begin, "the name of a taxonomy has no ',', which stands between keys");
    }
    if (FindProperty(name_)) {
      return Error(begin, "'" + name_ + "' is the name of a property, not of a taxonomy");
    }
    if (std::ranges::find(taxonomies_, name_, &Taxonomy::name) != taxonomies_.end()) {
      return Error(begin, "a second taxonomy '" + name_ + "'");
    }
    if (taxonomies_.size() == kMaxTaxonomies) {
      return Error(begin, "more than " + std::to_string(kMaxTaxonomies) + " taxonomies");
    }
    return OkStatus();
  }

  Status EndTaxonomy() {
    if (groups_.empty()) {
      if (is_named_) return Error(name_offset_, "taxonomy '" + name_ + "' has no group");
      return OkStatus();
    }
    taxonomies_.emplace_back(name_, std::exchange(groups_, {}));
    return OkStatus();
  }

  Status ReadGroup(std::string_view line) {
    const size_t begin = position_;
    const size_t colon = line.find(':');
    if (colon == line.npos)
      return Error(begin, "no ':' between the name of a group and what it is");
    std::string name(Trimmed(line.substr(0, colon)));
    if (!IsName(name)) {
      return Error(begin, "a group must have a name of at most " +
                              std::to_string(kMaxGroupNameBytes) + " printable bytes");
    }
    if (name == kNoGroupName) {
      return Error(begin, "'" + name + "' is what fits no group, and cannot be one");
    }
    if (std::ranges::find(groups_, name, &InstructionGroup::name) != groups_.end()) {
      return Error(begin, "a second group '" + name + "' in taxonomy '" + name_ + "'");
    }
    if (groups_.size() == kMaxGroups) {
      return Error(begin, "more than " + std::to_string(kMaxGroups) + " groups");
    }
    const size_t expression_begin = begin + colon + 1;
    SkipGroup();
    const size_t expression_end = std::min(position_, text_.size());
    size_t error_offset = 0;
    StatusOr<Expression> members = Expression::Parse(
        std::string_view(text_).substr(expression_begin, expression_end - expression_begin),
        PropertyKeys(), &error_offset);
    if (!members.ok()) {
      return Error(expression_begin + error_offset, members.status().message());
    }
    groups_.push_back({std::move(name), std::move(*members)});
    return OkStatus();
  }

  // Skips to the first line that is neither indented nor empty.
  void SkipGroup() {
    position_ += LineAt(position_).size() + 1;
    while (position_ < text_.size()) {
      const std::string_view line = LineAt(position_);
      if (!line.empty() && !IsSpace(line.front())) return;
      position_ += line.size() + 1;
    }
  }

  std::string text_;
  size_t position_ = 0;
  std::string name_{kDefaultTaxonomyName};
  size_t name_offset_ = 0;
  bool is_named_ = false;
  std::vector<InstructionGroup> groups_;
  std::vector<Taxonomy> taxonomies_;
};

}  // namespace

Taxonomy::Taxonomy(std::string name, std::vector<InstructionGroup> groups)
    : name_(std::move(name)), groups_(std::move(groups)) {}

size_t Taxonomy::GroupOf(const InstructionProperties& properties) const {
  const PropertyValues values(properties);
  const auto found = std::ranges::find_if(
      groups_, [&values](const InstructionGroup& group) { return group.members.Matches(values); });
  return static_cast<size_t>(found - groups_.begin());
}

std::string_view Taxonomy::GroupName(size_t group) const {
  return group < groups_.size() ? std::string_view(groups_[group].name) : kNoGroupName;
}

StatusOr<std::vector<Taxonomy>> ParseTaxonomies(std::string_view text) {
  return TaxonomyParser(text).Parse();
}

std::string_view DefaultTaxonomyText() { return kDefaultTaxonomyText; }

}  // namespace hbbp
