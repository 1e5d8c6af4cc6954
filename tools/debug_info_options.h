// Declares the options for the location of debug information, and shows a progress bar while much
// of it is read.
#ifndef HBBP_TOOLS_DEBUG_INFO_OPTIONS_H_
#define HBBP_TOOLS_DEBUG_INFO_OPTIONS_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <string>
#include <utility>
#include <vector>

#include "options.h"

namespace hbbp::tools {

class DebugInfoOptions {
 public:
  explicit DebugInfoOptions(std::string command) : command_(std::move(command)) {}
  DebugInfoOptions(const DebugInfoOptions&) = delete;
  DebugInfoOptions& operator=(const DebugInfoOptions&) = delete;
  ~DebugInfoOptions() { EndProgress(); }

  // The options are valid as long as this object.
  void AddTo(Options* options);
  // Returns the options of an analysis, which must not outlive this object.
  hbbp_debug_options Get();
  // Returns why code of modules with samples has no lines, or not all: for the three busiest such
  // modules, and how many more there are.
  static std::vector<std::string> Problems(const hbbp::analysis& analysis);
  // Like Problems, but one line names all modules without debug information, and says what to do.
  static std::vector<std::string> ProblemsInShort(const hbbp::analysis& analysis);
  // Removes the bar, before anything else is printed.
  void EndProgress();

 private:
  static void ShowProgress(const char* module, uint64_t done, uint64_t total, void* user_data);

  const std::string command_;
  std::string debug_root_ = "/usr/lib/debug";
  bool may_ask_servers_ = false;
  bool is_shown_ = false;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_DEBUG_INFO_OPTIONS_H_
