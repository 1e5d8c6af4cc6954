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
  used_.clear();
  files_.clear();
  for (const auto& [recorded, here] : moved_) files_.push_back({recorded.c_str(), here.c_str()});
  return OkStatus();
}

void FileOptions::SetTo(const hbbp::profile_view& profile, hbbp_analysis_options* options) {
  std::set<std::string> names;
  for (const hbbp_module& module : profile.modules()) {
    if (module.kind != HBBP_MODULE_FILE) continue;
    const std::string path = module.path;
    names.insert(path);
    names.insert(path.substr(path.rfind('/') + 1));
  }
  files_of_profile_.clear();
  for (const hbbp_moved_file& file : files_) {
    if (!names.contains(file.recorded)) continue;
    files_of_profile_.push_back(file);
    used_.insert(file.recorded);
  }
  SetTo(options);
  options->moved_files = files_of_profile_.data();
  options->moved_file_count = static_cast<uint32_t>(files_of_profile_.size());
}

Status FileOptions::CheckUsed() const {
  for (const hbbp_moved_file& file : files_) {
    if (used_.contains(file.recorded)) continue;
    return MakeStatus(StatusCode::kNotFound,
                      "%s: not the path or name of any file of these profiles", file.recorded);
  }
  return OkStatus();
}

}  // namespace hbbp::tools
