// Parses files of callgrind. Parser::Run reads the text line by line: headers start a part and
// define its columns, object lines select the object, and lines of costs add to the count of an
// address. Finish checks that the file is complete and sorts the counts by address. ReadTruth calls
// ParseCallgrind.
#include "truth/callgrind.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/files.h"
#include "truth/fields.h"

namespace hbbp::tools {
namespace {

constexpr char kHowToMake[] = "make one with valgrind --tool=callgrind --dump-instr=yes";

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  StatusOr<Truth> Run();

 private:
  Status Line(std::string_view line);
  Status Header(std::string_view key, std::string_view value);
  Status Description(std::string_view value);
  Status Positions(std::string_view names);
  Status Events(std::string_view names);
  Status Totals(std::string_view costs);
  Status Body(std::string_view key, std::string_view value);
  Status Object(std::string_view value, bool is_current);
  Status Call(std::string_view value);
  void AddCallToUnknown();
  Status Cost(std::string_view line);
  Status Finish();

  Status EventCost(Fields* costs, uint64_t* cost) const;
  size_t ObjectIndex(std::string_view path);
  Status Malformed(std::string_view what) const;
  // Call it when the first line of costs follows.
  Status NotInstructionLevel() const;

  std::string_view text_;
  const std::string& name_;
  Truth truth_;
  uint64_t line_number_ = 0;

  // The header of a part sets these.
  size_t instruction_column_ = 0;
  size_t position_count_ = 0;
  size_t event_column_ = 0;
  bool has_instructions_ = false;
  bool has_events_ = false;
  bool promises_totals_ = false;

  // These are the state of the body.
  uint64_t address_ = 0;
  bool costs_without_totals_ = false;
  bool inclusive_next_ = false;
  size_t current_ = SIZE_MAX;
  size_t callee_ = SIZE_MAX;                // of the next call; SIZE_MAX: the current object
  std::optional<uint64_t> unknown_target_;  // of the call whose caller is in the next line
  std::set<std::pair<size_t, uint64_t>> unknown_targets_;  // with the object of the caller
  std::unordered_map<uint64_t, size_t> object_by_id_;
  std::unordered_map<std::string, size_t> object_by_path_;
  std::unordered_map<std::string, std::string> build_ids_;
};

Status Parser::Malformed(std::string_view what) const {
  const std::string line = std::to_string(line_number_);
  if (!has_events_) {
    return MakeStatus(StatusCode::kBadFormat, "%s: not a callgrind file (line %s: %.*s); %s",
                      name_.c_str(), line.c_str(), static_cast<int>(what.size()), what.data(),
                      kHowToMake);
  }
  return MakeStatus(StatusCode::kBadFormat, "%s: line %s: %.*s; the file is damaged, %s",
                    name_.c_str(), line.c_str(), static_cast<int>(what.size()), what.data(),
                    kHowToMake);
}

Status Parser::NotInstructionLevel() const {
  return MakeStatus(StatusCode::kBadFormat,
                    "%s: line %s: counts source lines and not instructions; run callgrind again "
                    "with --dump-instr=yes",
                    name_.c_str(), std::to_string(line_number_).c_str());
}

size_t Parser::ObjectIndex(std::string_view path) {
  const auto [entry, is_new] = object_by_path_.try_emplace(std::string(path), 0);
  if (is_new) {
    entry->second = truth_.objects.size();
    truth_.objects.emplace_back().path = path;
  }
  return entry->second;
}

Status Parser::Positions(std::string_view names) {
  has_instructions_ = false;
  position_count_ = 0;
  Fields fields(names);
  while (!fields.AtEnd()) {
    const std::string_view name = fields.Word();
    if (name == "instr") {
      has_instructions_ = true;
      instruction_column_ = position_count_;
    } else if (name != "line") {
      return Malformed("unknown kind of position");
    }
    ++position_count_;
  }
  address_ = 0;
  if (!has_instructions_) return NotInstructionLevel();
  return OkStatus();
}

Status Parser::Events(std::string_view names) {
  Fields fields(names);
  for (size_t column = 0; !fields.AtEnd(); ++column) {
    if (fields.Word() == "Ir") {
      event_column_ = column;
      has_events_ = true;
      ++truth_.parts;
      return OkStatus();
    }
  }
  return Malformed("the event Ir is missing");
}

// Fields after the last may be missing, which means 0.
Status Parser::EventCost(Fields* costs, uint64_t* cost) const {
  *cost = 0;
  for (size_t column = 0; !costs->AtEnd(); ++column) {
    uint64_t value;
    const std::string_view word = costs->Word();
    if (!ReadCount(word, &value)) return CountFromWord(word, &value);
    if (column == event_column_) *cost = value;
  }
  return OkStatus();
}

Status Parser::Totals(std::string_view costs) {
  Fields fields(costs);
  uint64_t total;
  if (const Status read = EventCost(&fields, &total); !read.ok()) return Malformed(read.message());
  uint64_t sum = truth_.declared_total.value_or(0);
  if (!AddCount(total, &sum)) return Malformed("totals above 2^63");
  truth_.declared_total = sum;
  costs_without_totals_ = false;
  return OkStatus();
}

Status Parser::Header(std::string_view key, std::string_view value) {
  if (key == "positions") return Positions(value);
  if (key == "events") return Events(value);
  if (key == "totals") return Totals(value);
  if (key == "creator") {
    const std::string_view creator = Fields(value).Word();
    promises_totals_ = creator.starts_with("callgrind") || creator == "hbbp";
  } else if (key == "desc") {
    return Description(value);
  } else if (key == "version") {
    uint64_t version;
    if (!Fields(value).Number(&version)) return Malformed("malformed version");
    if (version != 1) return Malformed("version of the format is not 1");
  }
  return OkStatus();
}

// hbbp count writes " Build ID: HEXADECIMAL PATH". All other descriptions are for people.
Status Parser::Description(std::string_view value) {
  static constexpr std::string_view kBuildId = " Build ID: ";
  if (!value.starts_with(kBuildId)) return OkStatus();
  value.remove_prefix(kBuildId.size());
  const size_t blank = value.find(' ');
  if (blank == std::string_view::npos) return Malformed("a build ID without a path");
  build_ids_[std::string(value.substr(blank + 1))] = value.substr(0, blank);
  return OkStatus();
}

// Parses "(id) path", "(id)" or "path".
Status Parser::Object(std::string_view value, bool is_current) {
  size_t index;
  const size_t close = value.starts_with('(') ? value.find(')') : std::string_view::npos;
  uint64_t id = 0;
  if (close == std::string_view::npos || !Fields(value.substr(1, close - 1)).Number(&id)) {
    index = ObjectIndex(value);
  } else {
    std::string_view path = value.substr(close + 1);
    while (!path.empty() && IsBlank(path.front())) path.remove_prefix(1);
    if (path.empty()) {
      const auto known = object_by_id_.find(id);
      if (known == object_by_id_.end()) return Malformed("an object that was never named");
      index = known->second;
    } else {
      index = ObjectIndex(path);
      object_by_id_[id] = index;
    }
  }
  (is_current ? current_ : callee_) = index;
  return OkStatus();
}

Status Parser::Body(std::string_view key, std::string_view value) {
  if (key == "ob") return Object(value, true);
  if (key == "cob" || key == "job") return Object(value, false);
  if (key == "calls") return Call(value);
  // The line after a jump has the position of the jump and no costs, so Cost can read it.
  static constexpr std::string_view kIgnored[] = {"fn",  "fl",  "fi",  "fe",   "cfn",  "cfl",
                                                  "cfi", "jfi", "jfn", "jump", "jcnd", "frfn"};
  if (std::find(std::begin(kIgnored), std::end(kIgnored), key) == std::end(kIgnored)) {
    return Malformed("unknown kind of line");
  }
  return OkStatus();
}

// Parses the number of calls and the position of the target.
Status Parser::Call(std::string_view value) {
  Fields fields(value);
  uint64_t calls, target;
  if (!fields.Number(&calls)) return Malformed("malformed calls=");
  inclusive_next_ = true;
  const size_t callee = std::exchange(callee_, SIZE_MAX);
  const bool is_unknown = callee != SIZE_MAX && truth_.objects[callee].path == kUnknownObject;
  if (is_unknown && instruction_column_ == 0 && fields.Number(&target)) unknown_target_ = target;
  return OkStatus();
}

// The caller is at address_.
void Parser::AddCallToUnknown() {
  const uint64_t target = *std::exchange(unknown_target_, std::nullopt);
  if (current_ == SIZE_MAX || truth_.objects[current_].path == kUnknownObject) return;
  if (!unknown_targets_.emplace(current_, target).second) return;
  truth_.objects[current_].calls_to_unknown.push_back({address_, target});
}

Status Parser::Cost(std::string_view line) {
  if (!has_events_) return Malformed("costs before the line \"events:\"");
  if (!has_instructions_) return NotInstructionLevel();
  Fields fields(line);
  for (size_t column = 0; column < position_count_; ++column) {
    if (column == instruction_column_) {
      if (!fields.SubPosition(&address_)) return Malformed("malformed address");
    } else if (fields.Word().empty()) {
      return Malformed("a position is missing");
    }
  }
  uint64_t cost;
  if (const Status read = EventCost(&fields, &cost); !read.ok()) return Malformed(read.message());
  if (unknown_target_) AddCallToUnknown();
  if (std::exchange(inclusive_next_, false) || cost == 0) return OkStatus();

  if (current_ == SIZE_MAX) current_ = ObjectIndex(kUnknownObject);
  if (!AddCount(cost, &truth_.total)) return Malformed("counts above 2^63 in total");
  costs_without_totals_ = true;
  std::vector<InstructionCount>& instructions = truth_.objects[current_].instructions;
  if (!instructions.empty() && instructions.back().address == address_) {
    instructions.back().count += cost;
  } else {
    instructions.push_back({address_, cost});
  }
  return OkStatus();
}

Status Parser::Line(std::string_view line) {
  const char first = line.front();
  if (IsDigit(first) || first == '+' || first == '-' || first == '*') return Cost(line);
  if (first == '#') return OkStatus();
  if (inclusive_next_) return Malformed("calls= without the line of its costs");
  const size_t separator = line.find_first_of("=:");
  if (separator == std::string_view::npos || separator == 0) {
    return Malformed("unknown kind of line");
  }
  const std::string_view key = line.substr(0, separator);
  const std::string_view value = line.substr(separator + 1);
  return line[separator] == '=' ? Body(key, value) : Header(key, value);
}

Status Parser::Finish() {
  if (!has_events_) return Malformed("the line \"events:\" is missing");
  if (inclusive_next_ || (promises_totals_ && costs_without_totals_)) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: truncated after line %s: the line \"totals:\" is missing; %s",
                      name_.c_str(), std::to_string(line_number_).c_str(), kHowToMake);
  }
  for (TruthObject& object : truth_.objects) {
    if (const auto id = build_ids_.find(object.path); id != build_ids_.end()) {
      object.build_id = id->second;
    }
    std::vector<InstructionCount>& instructions = object.instructions;
    std::sort(instructions.begin(), instructions.end(),
              [](const auto& a, const auto& b) { return a.address < b.address; });
    size_t kept = 0;
    for (const InstructionCount& instruction : instructions) {
      object.total += instruction.count;
      if (kept != 0 && instructions[kept - 1].address == instruction.address) {
        instructions[kept - 1].count += instruction.count;
      } else {
        instructions[kept++] = instruction;
      }
    }
    instructions.resize(kept);
  }
  // Objects that were only called into from others have no instructions of their own here.
  std::erase_if(truth_.objects, [](const TruthObject& object) { return object.total == 0; });
  return OkStatus();
}

StatusOr<Truth> Parser::Run() {
  if (text_.empty()) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: empty; callgrind writes its file when the program ends", name_.c_str());
  }
  HBBP_RETURN_IF_ERROR(ForEachLine(text_, [&](uint64_t number, std::string_view line) {
    line_number_ = number;
    return Line(line);
  }));
  HBBP_RETURN_IF_ERROR(Finish());
  return std::move(truth_);
}

}  // namespace

StatusOr<Truth> ParseCallgrind(std::string_view text, const std::string& name) {
  return Parser(text, name).Run();
}

StatusOr<Truth> ReadCallgrindFile(const std::string& path) {
  HBBP_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseCallgrind(text, path);
}

}  // namespace hbbp::tools
