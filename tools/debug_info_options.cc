#include "debug_info_options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "format.h"

namespace hbbp::tools {

void DebugInfoOptions::AddTo(Options* options) {
  options->Value("--debug-root", &debug_root_, "FOLDER",
                 "where separate debug files are (/usr/lib/debug)");
  options->Flag("--debuginfod", &may_ask_servers_,
                "get missing debug files from the servers that DEBUGINFOD_URLS names");
}

Status DebugInfoOptions::Apply(hbbp_profile* profile) {
  HBBP_INIT(hbbp_source_options, options);
  options.debug_root = debug_root_.c_str();
  if (may_ask_servers_) options.flags |= HBBP_SOURCE_OPTION_DEBUGINFOD;
  if (::isatty(STDERR_FILENO) == 1) {
    options.progress = ShowProgress;
    options.user = this;
  }
  HBBP_INIT(hbbp_error, error);
  return hbbp_profile_set_source_options(profile, &options, &error) == HBBP_OK ? OkStatus()
                                                                               : ToStatus(error);
}

StatusOr<std::vector<std::string>> DebugInfoOptions::Problems(const hbbp_profile* profile) {
  constexpr size_t kMostTold = 3;
  HBBP_ASSIGN_OR_RETURN(const std::vector<hbbp_module> modules, Modules(profile));
  std::vector<std::pair<uint64_t, std::string>> found;  // by samples
  for (size_t i = 0; i < modules.size(); ++i) {
    if (modules[i].samples == 0 || modules[i].kind == HBBP_MODULE_ANONYMOUS) continue;
    char problem[1024] = "";
    HBBP_INIT(hbbp_error, error);
    const hbbp_status status = hbbp_profile_source_problem(profile, static_cast<uint32_t>(i),
                                                           problem, sizeof(problem), &error);
    const std::string text = status == HBBP_OK ? problem : error.message;
    if (!text.empty()) found.emplace_back(modules[i].samples, text);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> problems;
  for (size_t i = 0; i < std::min(found.size(), kMostTold); ++i)
    problems.push_back(found[i].second);
  if (found.size() > kMostTold) {
    problems.push_back(std::to_string(found.size() - kMostTold) +
                       " more modules lack debug information, or parts of it");
  }
  return problems;
}

void DebugInfoOptions::EndProgress() {
  if (is_shown_) std::fputs("\r\033[K", stderr);
  is_shown_ = false;
}

void DebugInfoOptions::ShowProgress(const char* module, uint64_t done, uint64_t total, void* user) {
  auto* const options = static_cast<DebugInfoOptions*>(user);
  // Small files are read before anybody would notice.
  constexpr uint64_t kLarge = 32 << 20;
  if (total < kLarge) return;
  options->is_shown_ = true;
  std::fprintf(stderr, "\rhbbp %s: reading debug information of %s: %3.0f %%",
               options->command_.c_str(), Printable(BaseName(module)).c_str(),
               100.0 * static_cast<double>(done) / static_cast<double>(total));
}

}  // namespace hbbp::tools
