#include "file_options.h"

namespace hbbp::tools {

void FileOptions::AddTo(Options* options) {
  options->Value("--symfs", &root_, "DIR",
                 "the files of the recorded machine, at their paths or by build ID");
  options->Values("--file", &words_, "RECORDED=HERE",
                  "a file that is elsewhere here; may be repeated");
}

Status FileOptions::Read() {
  moved_.clear();
  for (const std::string& word : words_) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "--file %s: give RECORDED=HERE, where RECORDED is the path or the name of "
                        "a file when it was recorded",
                        word.c_str());
    }
    moved_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  files_.clear();
  for (const auto& [recorded, here] : moved_) files_.push_back({recorded.c_str(), here.c_str()});
  return OkStatus();
}

}  // namespace hbbp::tools
