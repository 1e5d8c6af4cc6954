#include "debug_info_options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "format.h"

namespace hbbp::tools {

void DebugInfoOptions::AddTo(Options* options) {
  options->Value("--debug-root", &debug_root_, "DIRECTORY",
                 "where separate debug files are (/usr/lib/debug)");
  options->Flag("--debuginfod", &may_ask_servers_,
                "get missing debug files from the servers that DEBUGINFOD_URLS names");
}

hbbp_debug_options DebugInfoOptions::Get() {
  HBBP_INIT(hbbp_debug_options, options);
  options.debug_root = debug_root_.c_str();
  if (may_ask_servers_) options.flags |= HBBP_DEBUG_USE_DEBUGINFOD;
  if (::isatty(STDERR_FILENO) == 1) {
    options.progress = ShowProgress;
    options.user_data = this;
  }
  return options;
}

std::vector<std::string> DebugInfoOptions::Problems(const hbbp::analysis& analysis) {
  constexpr size_t kMaxProblems = 3;
  const std::vector<hbbp_module> modules = analysis.get_profile().modules();
  std::vector<std::pair<uint64_t, std::string>> found;  // by samples
  for (uint32_t i = 0; i < modules.size(); ++i) {
    if (modules[i].samples == 0 || modules[i].kind == HBBP_MODULE_ANONYMOUS) continue;
    std::string problem;
    try {
      problem = analysis.debug_problem(i);
    } catch (const hbbp::error& error) {
      problem = error.what();
    }
    if (!problem.empty()) found.emplace_back(modules[i].samples, std::move(problem));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> problems;
  for (size_t i = 0; i < std::min(found.size(), kMaxProblems); ++i) {
    problems.push_back(found[i].second);
  }
  if (found.size() > kMaxProblems) {
    problems.push_back(std::to_string(found.size() - kMaxProblems) +
                       " more modules lack debug information, or parts of it");
  }
  return problems;
}

void DebugInfoOptions::EndProgress() {
  if (is_shown_) std::fputs("\r\033[K", stderr);
  is_shown_ = false;
}

void DebugInfoOptions::ShowProgress(const char* module, uint64_t done, uint64_t total,
                                    void* user_data) {
  auto* const options = static_cast<DebugInfoOptions*>(user_data);
  // Small files are read before anybody would notice.
  constexpr uint64_t kLarge = 32 << 20;
  if (total < kLarge) return;
  options->is_shown_ = true;
  std::fprintf(stderr, "\rhbbp %s: reading debug information of %s: %3.0f %%",
               options->command_.c_str(), Printable(BaseName(module)).c_str(),
               100.0 * static_cast<double>(done) / static_cast<double>(total));
}

}  // namespace hbbp::tools
