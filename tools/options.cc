// The command line of one sub-command, by CLI11. CLI11 sees neither "--" nor what follows the first
// word of a command to run; Parse keeps these apart. Help is wrapped after CLI11 has written it.
#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/nearest_name.h"
#include "base/quantity.h"
#include "command.h"

namespace hbbp::tools {

namespace {

constexpr size_t kHelpColumn = 34;

// CLI11 writes "FILE(1x)" where people expect "FILE...", and "--no-source{false}" for a flag that
// switches something off.
class UsageFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, is_positional);
    return CLI::detail::find_and_replace(name, "{false}", "");
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    return option->get_name() + (option->get_expected_max() > 1 ? "..." : "");
  }
};

std::vector<std::string> LongNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Returns the width of --help: COLUMNS, as shells have it, or 100.
size_t HelpColumns() {
  constexpr size_t kUsual = 100, kNarrowest = 60;
  const char* const columns = std::getenv("COLUMNS");
  const size_t given = columns == nullptr ? 0 : std::strtoul(columns, nullptr, 10);
  return given == 0 ? kUsual : std::max(given, kNarrowest);
}

// Breaks a long line of --help at spaces, and between choices. Text of options continues at
// `column`.
std::string WrapLine(std::string line, size_t column, size_t columns) {
  const size_t indent = line.starts_with("  ") ? column : 0;
  std::string wrapped;
  while (line.size() > columns) {
    size_t end = line.find_last_of(" |", columns - 1);
    const bool is_in_indent = end == std::string::npos || end < indent + 2;
    if (is_in_indent) break;
    const bool is_space = line[end] == ' ';
    wrapped += line.substr(0, is_space ? end : end + 1) + '\n';
    line = std::string(indent, ' ') + line.substr(end + 1);
  }
  return wrapped + line;
}

// Returns "unknown option --tpo; did you mean '--top'?" for the first word that looks like an
// option and is not one; empty if there is none.
std::string UnknownOption(const CLI::App& app, const std::vector<std::string>& words) {
  const std::vector<std::string> names = LongNames(app);
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    const bool is_known = std::find(names.begin(), names.end(), name) != names.end();
    if (!word.starts_with("--") || is_known) continue;
    return "unknown option " + name + DidYouMean(name, {names.begin(), names.end()});
  }
  return {};
}

// Adds an option whose value `parse` makes of its text; if it cannot, that is an error.
template <typename T>
CLI::Option* AddParsed(CLI::App* app, const std::string& names, const std::string& help,
                       StatusOr<T> (*parse)(std::string_view), T* value) {
  const auto problem = [parse, value](const std::string& text) -> std::string {
    if (text.starts_with('-')) return text + " is negative";
    const StatusOr<T> parsed = parse(text);
    if (!parsed.ok()) return parsed.status().message();
    *value = *parsed;
    return "";
  };
  return app->add_option(names, help)->expected(1)->check(problem);
}

StatusOr<uint64_t> ParsePositive(std::string_view text) {
  HBBP_ASSIGN_OR_RETURN(const uint64_t number, ParseNumber(text));
  if (number != 0) return number;
  return MakeStatus(StatusCode::kInvalidArgument, "%s is none: give 1 or more",
                    std::string(text).c_str());
}

}  // namespace

struct Options::Impl {
  explicit Impl(const std::string& name, const std::string& summary)
      : app(summary, "hbbp " + name), command(name) {
    app.formatter(std::make_shared<UsageFormatter>());
    app.get_formatter()->column_width(kHelpColumn);
  }

  CLI::App app;
  std::string command;
  std::vector<std::string>* rest = nullptr;
  std::function<bool()> may_rest_be_empty;
  std::map<std::string, std::string> refused;  // what to say of options
  std::string rest_placeholder;
};

Options::Options(const std::string& command, const std::string& summary)
    : impl_(std::make_unique<Impl>(command, summary)) {}

Options::~Options() = default;

void Options::Flag(const std::string& names, bool* value, const std::string& help) {
  impl_->app.add_flag(names, *value, help);
}

void Options::Value(const std::string& names, std::string* value, const std::string& placeholder,
                    const std::string& help) {
  impl_->app.add_option(names, *value, help)->option_text(placeholder);
}

void Options::Value(const std::string& names, uint64_t* value, const std::string& placeholder,
                    const std::string& help) {
  AddParsed(&impl_->app, names, help, ParseNumber, value)->option_text(placeholder);
}

void Options::Count(const std::string& names, uint64_t* value, const std::string& help) {
  AddParsed(&impl_->app, names, help, ParsePositive, value)->option_text("N");
}

void Options::Seconds(const std::string& names, double* value, const std::string& placeholder,
                      const std::string& help) {
  AddParsed(&impl_->app, names, help, ParseSeconds, value)->option_text(placeholder);
}

void Options::Refuse(const std::string& names, const std::string& reason) {
  for (const std::string& name : CLI::detail::split(names, ',')) {
    impl_->refused[name] = name + ": " + reason;
  }
}

void Options::Value(const std::string& names, double* value, const std::string& placeholder,
                    const std::string& help) {
  impl_->app.add_option(names, *value, help)->option_text(placeholder);
}

void Options::Values(const std::string& names, std::vector<std::string>* values,
                     const std::string& placeholder, const std::string& help) {
  impl_->app.add_option(names, *values, help)->allow_extra_args(false)->option_text(placeholder);
}

void Options::Choice(const std::string& names, std::string* value,
                     const std::vector<std::string>& choices, const std::string& help) {
  impl_->app.add_option(names, *value, help)
      ->check(CLI::IsMember(choices))
      ->option_text(CLI::detail::join(choices, "|"));
}

void Options::Choices(const std::string& names, std::vector<std::string>* values,
                      const std::vector<std::string>& choices, const std::string& help) {
  impl_->app.add_option(names, *values, help)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(choices))
      ->option_text(CLI::detail::join(choices, "|") + "[,..]");
}

void Options::Positionals(const std::string& placeholder, std::vector<std::string>* values,
                          size_t min_words, size_t max_words, const std::string& help) {
  impl_->app.add_option(placeholder, *values, help)
      ->expected(static_cast<int>(min_words), static_cast<int>(max_words))
      ->option_text(" ")
      ->required(min_words != 0);
}

void Options::Profiles(std::vector<std::string>* paths, const std::string& help) {
  *paths = {kDefaultProfile};
  Positionals("FILE", paths, 0, kAny, help + " (" + kDefaultProfile + ")");
}

void Options::Command(std::vector<std::string>* words, const std::string& placeholder,
                      const std::string& help, std::function<bool()> may_be_empty) {
  impl_->rest = words;
  impl_->may_rest_be_empty = std::move(may_be_empty);
  impl_->rest_placeholder = placeholder;
  impl_->app.prefix_command();
  // CLI11 does not show what follows the options in its usage line.
  impl_->app.description(impl_->app.get_description() + "\nhbbp " + impl_->command +
                         " [OPTIONS] [--] " + placeholder + ": " + help);
}

void Options::Footer(const std::string& text) { impl_->app.footer(text); }

std::optional<int> Options::Parse(int argc, char** argv) {
  const std::string see_help = "; see hbbp " + impl_->command + " --help";
  std::vector<std::string> words(argv + 1, argv + argc);
  // CLI11 keeps "--" among the rest in some versions and not in others; it never sees it here.
  std::vector<std::string> after_dashes;
  bool has_dashes = false;
  if (impl_->rest != nullptr) {
    const auto dashes = std::find(words.begin(), words.end(), "--");
    has_dashes = dashes != words.end();
    if (has_dashes) after_dashes.assign(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  try {
    impl_->app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    std::string help;
    for (const std::string& line : CLI::detail::split(impl_->app.help(), '\n')) {
      help += WrapLine(line, kHelpColumn, HelpColumns()) + '\n';
    }
    // The text ends with new lines itself, or with the footer.
    help.erase(help.find_last_not_of('\n') + 1) += '\n';
    return WriteOutput(impl_->command, help);
  } catch (const CLI::ParseError& error) {
    // CLI11 may complain about the value of an option that it does not know.
    const std::string unknown =
        impl_->rest == nullptr ? UnknownOption(impl_->app, words) : std::string();
    return Fail(impl_->command, (unknown.empty() ? error.what() : unknown) + see_help);
  }
  if (impl_->rest == nullptr) return std::nullopt;

  std::vector<std::string> rest = impl_->app.remaining();
  if (!rest.empty() && rest.front().starts_with('-')) {
    const std::string name = rest.front().substr(0, rest.front().find('='));
    const auto refused = impl_->refused.find(name);
    if (refused != impl_->refused.end()) return Fail(impl_->command, refused->second);
    const std::vector<std::string> names = LongNames(impl_->app);
    return Fail(impl_->command, "unknown option " + rest.front() +
                                    DidYouMean(name, {names.begin(), names.end()}) + see_help);
  }
  // In `hbbp record make -- x` the dashes belong to make.
  if (!rest.empty() && has_dashes) rest.push_back("--");
  rest.insert(rest.end(), after_dashes.begin(), after_dashes.end());
  const bool may_be_empty = impl_->may_rest_be_empty && impl_->may_rest_be_empty();
  if (rest.empty() && !may_be_empty) {
    return Fail(impl_->command, impl_->rest_placeholder + " is missing" + see_help);
  }
  *impl_->rest = std::move(rest);
  return std::nullopt;
}

}  // namespace hbbp::tools
