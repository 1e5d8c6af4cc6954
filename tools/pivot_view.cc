#include "pivot_view.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "format.h"

namespace hbbp::tools {
namespace {

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

constexpr std::string_view kSpace = " \t\r\n";

std::string_view Trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// Turns `function=f(int, char)` into the same with quotes around the value. Returns nothing for
// other forms, and for what looks like more than one comparison.
std::optional<std::string> WithQuotes(std::string_view where) {
  const size_t equals = where.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view key = Trimmed(where.substr(0, equals));
  const bool is_word = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '-';
  });
  const std::string_view value = Trimmed(where.substr(equals + 1));
  const bool is_compound =
      value.find(" and ") != std::string_view::npos || value.find(" or ") != std::string_view::npos;
  if (!is_word || is_compound) return std::nullopt;
  std::string quoted = std::string(key) + "=\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

bool IsOfLines(std::string_view key) { return key == "file" || key == "line" || key == "inlined"; }

// Returns whether one of its keys needs lines. Keys are words outside of quotes, before a
// comparison.
bool ComparesLines(std::string_view condition) {
  constexpr std::string_view kBetweenWords = " \t\r\n()=!~<>,";
  while (!condition.empty()) {
    if (const char quote = condition.front(); quote == '"' || quote == '\'') {
      size_t end = 1;
      while (end < condition.size() && condition[end] != quote) {
        end += condition[end] == '\\' ? 2 : 1;
      }
      condition.remove_prefix(std::min(end + 1, condition.size()));
      continue;
    }
    const size_t end = std::min(condition.find_first_of(kBetweenWords), condition.size());
    const std::string_view word = condition.substr(0, end);
    condition.remove_prefix(std::max<size_t>(end, 1));
    const std::string_view after = Trimmed(condition);
    const std::string_view next = after.substr(0, after.find_first_of(kBetweenWords));
    const bool is_compared = after.find_first_of("=!~<>") == 0 || next == "in";
    if (IsOfLines(word) && is_compared) return true;
  }
  return false;
}

// Calls `make` with the condition, and once more with quotes if that cannot be read.
template <typename Make>
auto WithCondition(const std::string& where, Make&& make) {
  try {
    return make(where);
  } catch (const hbbp::error& error) {
    const bool is_of_condition = std::string_view(error.what()).starts_with("condition: ");
    const std::optional<std::string> quoted =
        is_of_condition ? WithQuotes(where) : std::optional<std::string>();
    if (!quoted) throw;
    try {
      return make(*quoted);
    } catch (const hbbp::error&) {
      // The message must refer to what the user wrote.
    }
    throw;
  }
}

}  // namespace

StatusOr<std::vector<std::string>> SplitLists(const char* option,
                                              const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const std::string& list : lists) {
    for (size_t start = 0; start <= list.size();) {
      const size_t end = std::min(list.find(',', start), list.size());
      const size_t first = list.find_first_not_of(' ', start);
      const size_t last = list.find_last_not_of(' ', end == 0 ? 0 : end - 1);
      const bool is_empty = first == std::string::npos || first >= end;
      if (is_empty) {
        return MakeStatus(StatusCode::kInvalidArgument, "%s: '%s' has an empty name", option,
                          list.c_str());
      }
      std::string name = list.substr(first, last - first + 1);
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        return MakeStatus(StatusCode::kInvalidArgument, "%s: '%s' is there twice", option,
                          name.c_str());
      }
      names.push_back(std::move(name));
      start = end + 1;
    }
  }
  return names;
}

void AddModuleOfAddresses(std::vector<std::string>* keys) {
  const auto has = [&](const char* name) {
    return std::find(keys->begin(), keys->end(), name) != keys->end();
  };
  if ((has("address") || has("block") || has("loop")) && !has("module"))
    keys->insert(keys->begin(), "module");
}

bool NeedsLines(const PivotRequest& request) {
  return std::any_of(request.rows.begin(), request.rows.end(), IsOfLines) ||
         std::any_of(request.columns.begin(), request.columns.end(), IsOfLines) ||
         ComparesLines(request.where);
}

std::optional<hbbp::taxonomy> LoadGroups(const std::string& path) {
  if (path.empty()) return std::nullopt;
  return hbbp::taxonomy::load(path);
}

hbbp::pivot MakePivot(const hbbp::analysis& analysis, const PivotRequest& request) {
  const std::string rows = Joined(request.rows);
  const std::string columns = Joined(request.columns);
  const std::string values = Joined(request.values);
  return WithCondition(request.where, [&](const std::string& where) {
    hbbp_pivot_query query = {};
    query.rows = rows.c_str();
    query.columns = columns.c_str();
    query.values = values.c_str();
    query.where = where.empty() ? nullptr : where.c_str();
    query.sort = request.sort.empty() ? nullptr : request.sort.c_str();
    query.top = request.top;
    query.join_names = request.join_names ? 1 : 0;
    query.taxonomy = request.taxonomy != nullptr ? request.taxonomy->get() : nullptr;
    return analysis.pivot_by(query);
  });
}

std::string ReadableCondition(const hbbp::analysis& analysis, const std::string& where,
                              const hbbp::taxonomy* taxonomy) {
  return WithCondition(where, [&](const std::string& readable) {
    hbbp_pivot_query query = {};
    query.rows = "";
    query.where = readable.c_str();
    query.taxonomy = taxonomy != nullptr ? taxonomy->get() : nullptr;
    analysis.pivot_by(query);
    return readable;
  });
}

hbbp::ratios MakeRatios(const hbbp::analysis& analysis, const std::string& where,
                        const hbbp::taxonomy* taxonomy) {
  return WithCondition(where, [&](const std::string& condition) {
    return analysis.ratios_of(condition.empty() ? nullptr : condition.c_str(), taxonomy);
  });
}

Column::Kind KindOfKey(std::string_view key) {
  if (key == "module" || key == "file" || key == "line") return Column::kPath;
  if (key == "function" || key == "inlined") return Column::kFunction;
  if (key == "address" || key == "block" || key == "loop") return Column::kAddress;
  return Column::kText;
}

Cell LabelCell(std::string_view key, const hbbp_pivot_label& label) {
  if (label.kind != HBBP_LABEL_TEXT) return label.number;
  if (KindOfKey(key) == Column::kFunction) return Demangle(label.text);
  return std::string(label.text);
}

std::string LabelText(std::string_view key, const hbbp_pivot_label& label) {
  if (KindOfKey(key) == Column::kFunction) return Demangle(label.text);
  return std::string(KindOfKey(key) == Column::kPath ? BaseName(label.text) : label.text);
}

std::string JsonKey(std::string_view name) {
  std::string key(name);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

}  // namespace hbbp::tools
