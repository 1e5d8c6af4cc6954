// Reads lines of source files, as far as the files exist here.
#ifndef HBBP_TOOLS_ANNOTATE_SOURCE_TEXT_H_
#define HBBP_TOOLS_ANNOTATE_SOURCE_TEXT_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hbbp::tools {

class SourceText {
 public:
  // Returns the line without control characters that would move the cursor of a terminal, or an
  // empty string if the file or the line does not exist here.
  std::string Line(const std::string& file, uint32_t line);

  // Returns the files that were requested and do not exist here.
  const std::vector<std::string>& missing() const { return missing_; }

 private:
  const std::vector<std::string>& Lines(const std::string& file);

  std::map<std::string, std::vector<std::string>> files_;
  std::vector<std::string> missing_;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_ANNOTATE_SOURCE_TEXT_H_
