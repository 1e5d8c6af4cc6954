// Collects the source files and lines of a report, and their text, as far as the files exist here.
//
// A page may go to others, and debug information may name any file. So the text is that of lines
// that listed functions have, of files that are named like source files.
#ifndef HBBP_TOOLS_EXPORT_REPORT_SOURCE_H_
#define HBBP_TOOLS_EXPORT_REPORT_SOURCE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "annotate/source_text.h"
#include "report.h"

namespace hbbp::tools {

// Returns true for "a.c" and for headers without an extension below a directory "include".
bool IsNamedLikeSource(const std::string& path);

class ReportSourceFiles {
 public:
  // Adds files to the report, which must outlive this object.
  ReportSourceFiles(bool with_text, Report* report) : with_text_(with_text), report_(*report) {}

  // Returns the index of a file that the debug information of `module` names.
  uint32_t Add(uint32_t module, const std::string& path);
  // Adds the text of a line that has instructions of a listed function.
  void AddLine(uint32_t function, uint32_t file, uint32_t line);
  // Widens the lines of the function itself, without what was inlined into it.
  void AddFunctionLine(uint32_t function, uint32_t file, uint32_t line);

  // Adds the text around the lines of functions, the busiest first, and says what is missing.
  void Finish();

 private:
  // Returns false if there is no room for the text.
  bool AddText(uint32_t file, uint32_t line);
  // Returns how many functions have less than all of their text.
  uint64_t AddFunctionText();
  void AddGaps();
  void AddProblems(uint64_t cut);
  std::string FindState(uint32_t module, const std::string& path) const;

  const bool with_text_;
  Report& report_;
  SourceText text_;
  uint64_t bytes_ = 0;
  std::unordered_map<std::string, uint32_t> index_;                    // by path
  std::map<std::pair<uint32_t, uint32_t>, std::set<uint32_t>> lines_;  // by function and file
  // First and last line by function and file.
  std::map<std::pair<uint32_t, uint32_t>, std::pair<uint32_t, uint32_t>> ranges_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> instructions_;  // by function and file
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_SOURCE_H_
