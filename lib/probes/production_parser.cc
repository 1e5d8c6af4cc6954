// ProductionParser reads a file of productions; the grammar is in production_set.h. Parse splits
// the text into statements (a line with the indented lines after it), ReadStatement recognizes a
// setting, "use" or a production, and ReadAction and ReadStep read what stands after "=>". A
// built-in set is parsed in turn, with errors that name it. ProductionSet::Parse is at the end.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/nearest_name.h"
#include "probes/builtin_productions.h"
#include "probes/production_set.h"
#include "probes/satisfiable.h"

namespace hbbp {
namespace {

constexpr std::string_view kSettings[] = {"sample_freq", "burst_length", "max_patterns",
                                          "max_replacements"};
constexpr std::string_view kSteps[] = {"count_sample", "count_burst", "reset", "stop_burst",
                                       "extend_burst"};
// In the order of TableKind.
constexpr std::string_view kActions[] = {"count", "trace", "call"};
constexpr size_t kMaxQuoted = 64;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

std::string Quote(std::string_view text) {
  if (text.empty()) return "the end";
  if (text.size() <= kMaxQuoted) return "'" + std::string(text) + "'";
  return "'" + std::string(text.substr(0, kMaxQuoted)) + "...'";
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Returns the offset of the first "=>" outside of quotes, or npos.
size_t FindArrow(std::string_view text) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '=' && text.substr(i, 2) == "=>") {
      return i;
    }
  }
  return text.npos;
}

}  // namespace

class ProductionParser {
 public:
  ProductionParser(std::string_view text, ProductionSet* set)
      : text_(text), set_(*set), keys_(*set->taxonomies_) {
    std::ranges::replace(text_, '\0', '?');
    BlankComments();
  }

  Status Parse() {
    size_t begin = 0;
    while (begin < text_.size()) {
      size_t end = LineEnd(begin);
      if (Trimmed(Slice(begin, end)).empty()) {
        begin = end + 1;
        continue;
      }
      if (IsSpace(text_[begin])) {
        return Error(begin, "an indented line continues a production, and there is none before it");
      }
      while (end + 1 < text_.size() && (IsSpace(text_[end + 1]))) end = LineEnd(end + 1);
      HBBP_RETURN_IF_ERROR(ReadStatement(begin, std::min(end, text_.size())));
      begin = end + 1;
    }
    return OkStatus();
  }

  // Checks what only the whole set shows.
  Status CheckWhole() {
    if (set_.productions_.empty()) {
      return Error(0, "no production: 'NAME: condition => replacement, control' makes one");
    }
    const bool sets_flag = std::ranges::any_of(set_.productions_, &Production::counts_sample);
    for (size_t i = 0; i < set_.productions_.size(); ++i) {
      const std::vector<uint32_t> ids = set_.productions_[i].condition.KeyIds();
      const bool uses_flag = std::ranges::count(ids, IdOf(ProbeKey::kSampleFlag)) != 0;
      if (uses_flag && !sets_flag) {
        return Error(offsets_[i], "'" + set_.productions_[i].name +
                                      "' depends on sample_flag, which no production sets by "
                                      "count_sample; 'use framework' adds those that do");
      }
    }
    const ProductionSettings& settings = set_.settings_;
    if (set_.productions_.size() > settings.max_patterns) {
      return Error(offsets_[settings.max_patterns],
                   "more productions than max_patterns, " + std::to_string(settings.max_patterns) +
                       "; it can be up to " + std::to_string(kMaxPatterns));
    }
    if (actions_ > settings.max_replacements) {
      return Error(0, std::to_string(actions_) + " actions are more than max_replacements, " +
                          std::to_string(settings.max_replacements) + "; it can be up to " +
                          std::to_string(kMaxReplacements));
    }
    return OkStatus();
  }

 private:
  std::string_view Slice(size_t begin, size_t end) const {
    return std::string_view(text_).substr(begin, end - begin);
  }

  size_t LineEnd(size_t offset) const {
    const size_t end = text_.find('\n', offset);
    return end == text_.npos ? text_.size() : end;
  }

  // Overwrites comments with spaces, so that offsets in messages remain valid.
  void BlankComments() {
    for (size_t begin = 0; begin < text_.size();) {
      const size_t end = LineEnd(begin);
      if (Trimmed(Slice(begin, end)).starts_with('#'))
        text_.replace(begin, end - begin, end - begin, ' ');
      begin = end + 1;
    }
  }

  Status Error(size_t offset, const std::string& what) const {
    const std::string_view before = Slice(0, offset);
    const auto line = std::ranges::count(before, '\n') + 1;
    const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return Status(StatusCode::kInvalidArgument, "line " + std::to_string(line) + ", column " +
                                                    std::to_string(offset - line_begin + 1) + ": " +
                                                    what);
  }

  void SkipSpace() {
    while (position_ < end_ && IsSpace(text_[position_])) ++position_;
  }

  // Reads a word or one other character; empty at the end.
  std::string_view Next() {
    SkipSpace();
    token_offset_ = position_;
    if (position_ == end_) return {};
    const size_t begin = position_++;
    if (!IsWordCharacter(text_[begin])) return Slice(begin, position_);
    while (position_ < end_ && IsWordCharacter(text_[position_])) ++position_;
    return Slice(begin, position_);
  }

  std::string_view Peek() {
    const size_t position = position_;
    const std::string_view token = Next();
    position_ = position;
    return token;
  }

  bool IsAtWord() {
    const std::string_view token = Peek();
    return !token.empty() && IsWordCharacter(token[0]);
  }

  Status Expect(std::string_view symbol) {
    const std::string_view token = Next();
    if (token == symbol) return OkStatus();
    return Error(token_offset_,
                 "'" + std::string(symbol) + "' must stand here, not " + Quote(token));
  }

  StatusOr<uint64_t> ReadNumber(uint64_t max) {
    const std::string_view token = Next();
    uint64_t number = 0;
    const char* const end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data(), end, number);
    if (token.empty() || error == std::errc::invalid_argument || stop != end) {
      return Error(token_offset_, "a number must stand here, not " + Quote(token));
    }
    if (error == std::errc::result_out_of_range || number > max) {
      return Error(token_offset_,
                   Quote(token) + " is more than the maximum, " + std::to_string(max));
    }
    return uint64_t{number};
  }

  Status ReadStatement(size_t begin, size_t end) {
    position_ = begin;
    end_ = end;
    const std::string name(Next());
    const size_t name_offset = token_offset_;
    if (name == "use" && Peek() != ":") return ReadUse();
    const std::string_view separator = Next();
    if (separator == "=") return ReadSetting(name, name_offset);
    if (separator != ":" || !IsWordCharacter(name[0])) {
      return Error(name_offset,
                   "'NAME: condition => replacement, control', 'SETTING = NUMBER' or 'use NAME' "
                   "must stand here");
    }
    return ReadProduction(name, name_offset);
  }

  Status ReadUse() {
    const std::string name(Next());
    const size_t name_offset = token_offset_;
    const BuiltinProductions* const builtin = FindBuiltinProductions(name);
    if (builtin == nullptr) {
      return Error(name_offset, "no built-in productions " + Quote(name) +
                                    DidYouMeanOneOf(name, BuiltinProductionNames()));
    }
    HBBP_RETURN_IF_ERROR(ReadEnd());
    // Several profiles use the framework.
    if (std::ranges::count(used_, name) != 0) return OkStatus();
    ProductionParser parser(builtin->text, &set_);
    parser.used_ = used_;
    parser.used_.push_back(name);
    parser.actions_ = actions_;
    const Status status = parser.Parse();
    if (!status.ok()) return Error(name_offset, "use " + name + ": " + status.message());
    used_ = parser.used_;
    actions_ = parser.actions_;
    offsets_.resize(set_.productions_.size(), name_offset);
    return OkStatus();
  }

  Status ReadEnd() {
    const std::string_view token = Next();
    if (token.empty()) return OkStatus();
    return Error(token_offset_, Quote(token) + " after the end of the statement");
  }

  Status ReadSetting(const std::string& name, size_t name_offset) {
    ProductionSettings& settings = set_.settings_;
    const std::pair<uint64_t*, uint64_t> limits[] = {
        {&settings.sample_freq, kMaxCounter},
        {&settings.burst_length, kMaxCounter},
        {&settings.max_patterns, kMaxPatterns},
        {&settings.max_replacements, kMaxReplacements},
    };
    const auto found = std::ranges::find(kSettings, name);
    if (found == std::end(kSettings)) {
      return Error(name_offset,
                   "no setting " + Quote(name) +
                       DidYouMeanOneOf(name, {std::begin(kSettings), std::end(kSettings)}));
    }
    const auto& [value, max] = limits[found - std::begin(kSettings)];
    const size_t value_offset = position_;
    HBBP_ASSIGN_OR_RETURN(*value, ReadNumber(max));
    if (*value == 0) {
      return Error(value_offset, name + " must not be 0");
    }
    return ReadEnd();
  }

  Status ReadProduction(const std::string& name, size_t name_offset) {
    if (name.size() > kMaxProductionNameBytes) {
      return Error(name_offset,
                   "a name of more than " + std::to_string(kMaxProductionNameBytes) + " bytes");
    }
    if (std::ranges::find(set_.productions_, name, &Production::name) != set_.productions_.end()) {
      return Error(name_offset, "a second production '" + name + "'");
    }
    if (set_.productions_.size() == kMaxPatterns) {
      return Error(name_offset, "more than " + std::to_string(kMaxPatterns) + " productions");
    }
    const size_t condition_begin = position_;
    const size_t arrow = FindArrow(Slice(condition_begin, end_));
    if (arrow == std::string_view::npos) {
      return Error(name_offset, "no '=>' between the condition of '" + name + "' and what it does");
    }
    Production production;
    production.name = name;
    HBBP_RETURN_IF_ERROR(
        ReadCondition(condition_begin, condition_begin + arrow, &production.condition));
    position_ = condition_begin + arrow + 2;
    HBBP_RETURN_IF_ERROR(ReadActions(&production));
    HBBP_RETURN_IF_ERROR(Expect(","));
    HBBP_RETURN_IF_ERROR(ReadSteps(&production));
    set_.productions_.push_back(std::move(production));
    offsets_.push_back(name_offset);
    return OkStatus();
  }

  Status ReadCondition(size_t begin, size_t end, Expression* condition) {
    size_t error_offset = 0;
    StatusOr<Expression> parsed = Expression::Parse(Slice(begin, end), keys_, &error_offset);
    if (!parsed.ok()) return Error(begin + error_offset, parsed.status().message());
    *condition = *std::move(parsed);
    if (!IsSatisfiable(*condition)) {
      while (begin < end && IsSpace(text_[begin])) ++begin;
      return Error(begin, "the condition contradicts itself: no instruction can fulfil it");
    }
    for (const uint32_t id : condition->KeyIds()) {
      if (IsProbeKeyId(id)) set_.keys_ |= SetOf(ProbeKeyFromId(id));
    }
    return OkStatus();
  }

  Status ReadActions(Production* production) {
    if (Peek() == "null") {
      Next();
      return OkStatus();
    }
    while (true) {
      HBBP_RETURN_IF_ERROR(ReadAction(production));
      if (Peek() != ";") return OkStatus();
      Next();
    }
  }

  Status ReadAction(Production* production) {
    const std::string_view verb = Next();
    const size_t verb_offset = token_offset_;
    const auto kind = std::ranges::find(kActions, verb);
    if (kind == std::end(kActions)) {
      return Error(verb_offset,
                   "'null', 'count', 'trace' or 'call' must follow '=>', not " + Quote(verb));
    }
    ProbeTable table;
    table.kind = static_cast<TableKind>(kind - std::begin(kActions));
    table.name = production->name;
    size_t name_offset = verb_offset;
    const bool needs_fields = table.kind != TableKind::kCall;
    if (Peek() != "(" && (needs_fields || IsAtWord())) {
      table.name = Next();
      name_offset = token_offset_;
      if (table.name.empty() || !IsWordCharacter(table.name[0])) {
        return Error(name_offset,
                     "'(' or the name of a table must stand here, not " + Quote(table.name));
      }
      if (table.name.size() > kMaxProductionNameBytes) {
        return Error(name_offset,
                     "a name of more than " + std::to_string(kMaxProductionNameBytes) + " bytes");
      }
    }
    if (needs_fields || Peek() == "(") {
      HBBP_RETURN_IF_ERROR(Expect("("));
      HBBP_RETURN_IF_ERROR(ReadFields(&table));
    }
    ++actions_;
    const auto same = std::ranges::find(set_.tables_, table.name, &ProbeTable::name);
    const auto index = static_cast<uint32_t>(same - set_.tables_.begin());
    production->actions.push_back({index, table.fields});
    if (same == set_.tables_.end()) {
      set_.tables_.push_back(std::move(table));
    } else if (same->kind != table.kind || same->fields.size() != table.fields.size()) {
      return Error(name_offset, "table '" + table.name +
                                    "' has another kind, or another number of fields, above");
    } else {
      for (size_t i = 0; i < table.fields.size(); ++i) {
        if (IsCodeAddress(table.fields[i]) == IsCodeAddress(same->fields[i])) continue;
        return Error(name_offset, "'" + std::string(NameOf(table.fields[i])) + "', and '" +
                                      std::string(NameOf(same->fields[i])) + "' of table '" +
                                      table.name + "' above, must both be addresses of code");
      }
    }
    return OkStatus();
  }

  Status ReadFields(ProbeTable* table) {
    while (true) {
      const std::string_view name = Next();
      const std::optional<ProbeKey> field = FindProbeKey(name);
      if (!field || *field >= ProbeKey::kInsn) {
        std::vector<std::string_view> names;
        for (int key = 0; key < static_cast<int>(ProbeKey::kInsn); ++key) {
          names.push_back(NameOf(static_cast<ProbeKey>(key)));
        }
        return Error(token_offset_, "no field " + Quote(name) + DidYouMeanOneOf(name, names));
      }
      if (table->fields.size() == kMaxFields) {
        return Error(token_offset_, "more than " + std::to_string(kMaxFields) + " fields");
      }
      table->fields.push_back(*field);
      set_.keys_ |= SetOf(*field);
      const std::string_view separator = Next();
      if (separator == ")") return OkStatus();
      if (separator != ",") {
        return Error(token_offset_, "',' or ')' must follow a field, not " + Quote(separator));
      }
    }
  }

  Status ReadSteps(Production* production) {
    if (Peek() == "null") {
      Next();
      return ReadEnd();
    }
    while (true) {
      HBBP_RETURN_IF_ERROR(ReadStep(production));
      if (Peek() != ";") return ReadEnd();
      Next();
    }
  }

  Status ReadStep(Production* production) {
    const std::string_view step = Next();
    if (step == "count_sample") {
      production->counts_sample = true;
    } else if (step == "count_burst") {
      production->counts_burst = true;
    } else if (step == "reset") {
      production->resets = true;
    } else if (step == "stop_burst") {
      production->stops_burst = true;
    } else if (step == "extend_burst") {
      HBBP_ASSIGN_OR_RETURN(production->burst_extension, ReadNumber(kMaxCounter));
    } else {
      return Error(token_offset_,
                   "no control " + Quote(step) +
                       DidYouMeanOneOf(step, {std::begin(kSteps), std::end(kSteps)}));
    }
    return OkStatus();
  }

  std::string text_;
  ProductionSet& set_;
  ProductionKeys keys_;
  size_t position_ = 0;
  size_t end_ = 0;  // of the statement
  size_t token_offset_ = 0;
  uint64_t actions_ = 0;
  std::vector<std::string> used_;  // built-ins
  std::vector<size_t> offsets_;    // of productions
};

StatusOr<ProductionSet> ProductionSet::Parse(std::string_view text,
                                             std::vector<Taxonomy> taxonomies,
                                             const ProductionSettings& settings) {
  if (text.size() > kMaxProductionBytes) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%zu bytes of productions are more than the %zu that are allowed",
                      text.size(), kMaxProductionBytes);
  }
  ProductionSet set;
  set.settings_ = settings;
  set.taxonomies_ = std::make_unique<const std::vector<Taxonomy>>(std::move(taxonomies));
  ProductionParser parser(text, &set);
  HBBP_RETURN_IF_ERROR(parser.Parse());
  HBBP_RETURN_IF_ERROR(parser.CheckWhole());
  return set;
}

}  // namespace hbbp
