// Wraps CLI11: Options declares options by its face in options.h, and Parse reads the command line,
// prints --help within 100 columns, and reports what is wrong of a line with the option that was
// probably meant. A command that runs another one gets the words of that one untouched.
#include "options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "base/nearest_name.h"
#include "command.h"

namespace hbbp::tools {

namespace {

constexpr size_t kHelpWidth = 100;
constexpr size_t kTermWidth = 34;  // of the column with the names of options

// Breaks lines between words, so that none is longer unless a word is.
std::string Wrapped(std::string_view text, size_t width) {
  std::string wrapped;
  size_t line_start = 0;
  while (!text.empty()) {
    const size_t word_end = std::min(text.find_first_of(" \n"), text.size());
    const bool is_first = wrapped.size() == line_start;
    if (!is_first && wrapped.size() - line_start + word_end > width) {
      wrapped.erase(wrapped.find_last_not_of(' ') + 1);
      wrapped += '\n';
      line_start = wrapped.size();
    }
    wrapped += text.substr(0, word_end);
    text.remove_prefix(word_end);
    if (text.empty()) break;
    wrapped += text.front();
    if (text.front() == '\n') line_start = wrapped.size();
    text.remove_prefix(1);
  }
  return wrapped;
}

// CLI11 writes "FILE(1x)" where people expect "FILE...", and does not break lines.
class UsageFormatter : public CLI::Formatter {
 public:
  std::string make_option_usage(const CLI::Option* option) const override {
    return option->get_name() + (option->get_expected_max() > 1 ? "..." : "");
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return Wrapped(CLI::Formatter::make_option_desc(option), kHelpWidth - kTermWidth);
  }
};

// Returns "unknown option --tpo; did you mean '--top'?" for the first word that looks like an
// option and is not one; empty if there is none.
std::string UnknownOption(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    const bool is_known = std::find(names.begin(), names.end(), name) != names.end();
    if (!word.starts_with("--") || is_known) continue;
    return "unknown option " + name + DidYouMean(name, {names.begin(), names.end()});
  }
  return {};
}

// Without this check, -1 would be a very large number.
std::string NegativeProblem(const std::string& text) {
  return text.starts_with('-') ? text + " is negative" : "";
}

}  // namespace

struct Options::Impl {
  explicit Impl(const std::string& name, const std::string& summary)
      : app(summary, "hbbp " + name), command(name) {
    app.formatter(std::make_shared<UsageFormatter>());
    app.get_formatter()->column_width(kTermWidth);
  }

  CLI::App app;
  std::string command;
  std::vector<std::string>* rest = nullptr;
  const uint64_t* instead_of_rest = nullptr;
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
  impl_->app.add_option(names, *value, help)->check(NegativeProblem)->option_text(placeholder);
}

void Options::Count(const std::string& names, uint64_t* value, const std::string& help) {
  const auto zero_problem = [](const std::string& text) {
    const bool is_zero = text.find_first_not_of('0') == std::string::npos;
    return std::string(is_zero ? text + " is none: give 1 or more" : "");
  };
  impl_->app.add_option(names, *value, help)
      ->check(NegativeProblem)
      ->check(zero_problem)
      ->option_text("N");
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
                      const std::string& help, const uint64_t* instead) {
  impl_->rest = words;
  impl_->instead_of_rest = instead;
  impl_->rest_placeholder = placeholder;
  impl_->app.prefix_command();
  // CLI11 does not show what follows the options in its usage line.
  impl_->app.description(impl_->app.get_description() + "\nhbbp " + impl_->command +
                         " [OPTIONS] [--] " + placeholder + ": " + help);
}

void Options::Footer(const std::string& text) { impl_->app.footer(Wrapped(text, kHelpWidth)); }

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
    return WriteOutput(impl_->command, impl_->app.help());
  } catch (const CLI::ParseError& error) {
    // CLI11 may complain about the value of an option that it does not know.
    const std::string unknown =
        impl_->rest == nullptr ? UnknownOption(impl_->app, words) : std::string();
    return Fail(impl_->command, (unknown.empty() ? error.what() : unknown) + see_help);
  }
  if (impl_->rest == nullptr) return std::nullopt;

  std::vector<std::string> rest = impl_->app.remaining();
  if (!rest.empty() && rest.front().starts_with('-')) {
    const std::string unknown = UnknownOption(impl_->app, rest);
    return Fail(impl_->command,
                (unknown.empty() ? "unknown option " + rest.front() : unknown) + see_help);
  }
  // In `hbbp record make -- x` the dashes belong to make.
  if (!rest.empty() && has_dashes) rest.push_back("--");
  rest.insert(rest.end(), after_dashes.begin(), after_dashes.end());
  const bool may_be_empty = impl_->instead_of_rest != nullptr && *impl_->instead_of_rest != 0;
  if (rest.empty() && !may_be_empty) {
    return Fail(impl_->command, impl_->rest_placeholder + " is missing" + see_help);
  }
  *impl_->rest = std::move(rest);
  return std::nullopt;
}

}  // namespace hbbp::tools
