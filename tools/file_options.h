// Declares the options that say where the files of a recorded machine are here.
#ifndef HBBP_TOOLS_FILE_OPTIONS_H_
#define HBBP_TOOLS_FILE_OPTIONS_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "options.h"

namespace hbbp::tools {

class FileOptions {
 public:
  // The options are valid as long as this object.
  void AddTo(Options* options);
  // Checks the options. To be called before SetTo.
  Status Read();

  // Sets the fields of hbbp_import_options or hbbp_analysis_options, which are valid as long as
  // this object.
  template <typename COptions>
  void SetTo(COptions* options) const {
    options->root = root_.empty() ? nullptr : root_.c_str();
    options->moved_files = files_.data();
    options->moved_file_count = static_cast<uint32_t>(files_.size());
  }

  // Does the same for one of several profiles: files that it does not have are for the others, and
  // CheckUsed refuses those that none of them has. Valid until the next call.
  void SetTo(const hbbp::profile_view& profile, hbbp_analysis_options* options);
  Status CheckUsed() const;

 private:
  std::string root_;
  std::vector<std::string> words_;  // RECORDED=HERE
  std::vector<std::pair<std::string, std::string>> moved_;
  std::vector<hbbp_moved_file> files_;
  std::vector<hbbp_moved_file> files_of_profile_;
  std::set<std::string> used_;  // of the recorded names
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_FILE_OPTIONS_H_
