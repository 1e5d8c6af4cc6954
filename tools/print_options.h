// Declares the options of commands that print a table with names of functions.
#ifndef HBBP_TOOLS_PRINT_OPTIONS_H_
#define HBBP_TOOLS_PRINT_OPTIONS_H_

#include <string>
#include <string_view>

#include "options.h"
#include "table.h"

namespace hbbp::tools {

class PrintOptions {
 public:
  // The options are valid as long as this object.
  void AddTo(Options* options) {
    options->Choice("--format", &format_, FormatNames(), "how to print (table)");
    options->Flag("--full-names", &has_full_names_, "whole names of functions in tables");
  }

  Format format() const { return FormatFromName(format_); }
  // Returns whether people read what is printed.
  bool is_table() const { return format() == Format::kTable; }
  NameStyle names() const { return has_full_names_ ? NameStyle::kFull : NameStyle::kShort; }
  // Returns whether to shorten names that are only a part of a cell.
  bool has_short_names() const { return is_table() && !has_full_names_; }

  // Returns the exit status of the process.
  int Print(std::string_view command, const Table& table,
            const std::string& output = kStandardOutput) const {
    return table.Print(command, format(), names(), output);
  }

 private:
  std::string format_ = "table";
  bool has_full_names_ = false;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PRINT_OPTIONS_H_
