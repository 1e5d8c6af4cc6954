// ProfileList is the profiles that a command was asked to read: files, directories, and lists of
// both. It holds one path at a time, however many there are.
#ifndef HBBP_TOOLS_PROFILE_LIST_H_
#define HBBP_TOOLS_PROFILE_LIST_H_

#include <functional>
#include <string>
#include <vector>

#include "options.h"

namespace hbbp::tools {

class ProfileList {
 public:
  // The options are valid as long as this object.
  void AddTo(Options* options);

  // Returns whether there is nothing to read.
  bool is_empty() const { return paths_.empty() && list_.empty(); }

  // Calls `visit` with the path of each file: of those on the command line, then of those in the
  // list. Of a directory these are its regular files and those of its directories, by name, without
  // hidden ones and without `output`, which may be there from the last time. Throws hbbp::error if
  // the list or a directory cannot be read.
  void ForEach(const std::string& output,
               const std::function<void(const std::string& path)>& visit) const;

 private:
  std::vector<std::string> paths_;
  std::string list_;
  bool is_null_separated_ = false;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROFILE_LIST_H_
