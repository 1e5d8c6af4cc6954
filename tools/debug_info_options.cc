#include "debug_info_options.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "format.h"

namespace hbbp::tools {
namespace {

constexpr size_t kMaxProblems = 3;

struct Problem {
  std::string module;  // path
  std::string text;
  bool is_missing = false;  // there is no debug information at all
  uint64_t samples = 0;
};

// Returns the problems of the busiest modules first.
std::vector<Problem> FindProblems(const hbbp::analysis& analysis) {
  const std::vector<hbbp_module> modules = analysis.get_profile().modules();
  std::vector<Problem> problems;
  for (uint32_t i = 0; i < modules.size(); ++i) {
    if (modules[i].samples == 0 || modules[i].kind == HBBP_MODULE_ANONYMOUS) continue;
    Problem problem = {modules[i].path, {}, false, modules[i].samples};
    try {
      problem.text = analysis.debug_problem(i);
    } catch (const hbbp::error& error) {
      problem.text = error.what();
      problem.is_missing = error.status() == HBBP_ERROR_NOT_FOUND;
    }
    if (!problem.text.empty()) problems.push_back(std::move(problem));
  }
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.samples > b.samples; });
  return problems;
}

std::vector<std::string> Busiest(std::vector<std::string> problems) {
  if (problems.size() <= kMaxProblems) return problems;
  const size_t others = problems.size() - kMaxProblems;
  problems.resize(kMaxProblems);
  problems.push_back(std::to_string(others) +
                     " more modules lack debug information, or parts of it");
  return problems;
}

std::string MissingInOneLine(const std::vector<std::string>& modules) {
  constexpr size_t kMaxNames = 4;
  const size_t named = std::min(modules.size(), kMaxNames);
  std::string line = modules.front() + ": no debug information, nor of ";
  for (size_t i = 1; i < named; ++i) line += (i == 1 ? "" : ", ") + modules[i];
  if (named < modules.size()) {
    const size_t others = modules.size() - named;
    line += " and " + std::to_string(others) + (others == 1 ? " more module" : " more modules");
  }
  return line +
         "; compile with -g, or install their debug packages (Debian: NAME-dbgsym), or allow "
         "debuginfod (--debuginfod)";
}

}  // namespace

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
  std::vector<std::string> problems;
  for (Problem& problem : FindProblems(analysis)) problems.push_back(std::move(problem.text));
  return Busiest(std::move(problems));
}

std::vector<std::string> DebugInfoOptions::ProblemsInShort(const hbbp::analysis& analysis) {
  std::vector<std::string> missing;  // names of modules
  std::vector<std::string> others;
  std::string first;
  for (Problem& problem : FindProblems(analysis)) {
    if (!problem.is_missing) {
      others.push_back(std::move(problem.text));
    } else if (missing.empty()) {
      first = std::move(problem.text);
      missing.push_back(std::move(problem.module));
    } else {
      missing.push_back(Printable(BaseName(problem.module)));
    }
  }
  std::vector<std::string> problems = Busiest(std::move(others));
  if (missing.size() == 1) problems.insert(problems.begin(), std::move(first));
  if (missing.size() > 1) problems.insert(problems.begin(), MissingInOneLine(missing));
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
