#include "report_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>

#include "format.h"

namespace hbbp::tools {
namespace {

// The longest lines are in generated files.
constexpr size_t kMaxLineBytes = 200;
constexpr uint64_t kMaxTextBytes = 1 << 20;
// Functions that seem to be longer have lines of other ones.
constexpr uint64_t kMaxFunctionLines = 1500;
constexpr uint32_t kContextLines = 2;
// Lines between two that have instructions, as inlined functions have them.
constexpr uint32_t kMaxGap = 8;
constexpr uint64_t kNsPerSecond = 1'000'000'000;

constexpr std::array kExtensions = {
    "adb", "ads", "asm", "c",   "c++",   "cc",  "cp",  "cpp",  "cu",  "cuh", "cxx",
    "d",   "def", "f",   "f03", "f08",   "f90", "f95", "for",  "go",  "h",   "h++",
    "hh",  "hpp", "hs",  "hxx", "i",     "ii",  "inc", "inl",  "ipp", "ixx", "jl",
    "l",   "ll",  "m",   "ml",  "mli",   "mm",  "nim", "odin", "pas", "pyx", "re",
    "rl",  "rs",  "s",   "sx",  "swift", "tcc", "tpp", "y",    "yy",  "zig"};

// Returns when the file was changed, 0 if it is not here.
uint64_t ChangeTimeNs(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return 0;
  return static_cast<uint64_t>(status.st_mtim.tv_sec) * kNsPerSecond +
         static_cast<uint64_t>(status.st_mtim.tv_nsec);
}

// Returns "PATH and 2 others".
std::string FirstOf(const std::vector<std::string>& paths) {
  const size_t others = paths.size() - 1;
  if (others == 0) return paths.front();
  return paths.front() + " and " + FormatCount(others) + (others == 1 ? " other" : " others");
}

}  // namespace

bool IsNamedLikeSource(const std::string& path) {
  const std::filesystem::path name(path);
  std::string extension = name.extension().string();
  if (extension.empty()) {
    return std::find(name.begin(), name.end(), "include") != name.end() &&
           !name.filename().empty() && name.filename().string().front() != '.';
  }
  extension.erase(0, 1);
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
}

std::string ReportSourceFiles::FindState(uint32_t module, const std::string& path) const {
  if (!with_text_) return kSourceLeftOut;
  const uint64_t changed = ChangeTimeNs(path);
  if (changed == 0) return kSourceMissing;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error || !IsNamedLikeSource(path) || !IsNamedLikeSource(real.string())) return kSourceRefused;
  const uint64_t built = ChangeTimeNs(report_.modules[module].path);
  return changed > (built != 0 ? built : report_.start_time_ns) ? kSourceNewer : kSourceRead;
}

uint32_t ReportSourceFiles::Add(uint32_t module, const std::string& path) {
  const auto [it, is_new] = index_.try_emplace(path, report_.source_files.size());
  if (is_new) {
    report_.source_files.push_back(path);
    report_.source_text.emplace_back();
    report_.source_states.push_back(FindState(module, path));
  }
  return it->second;
}

bool ReportSourceFiles::AddText(uint32_t file, uint32_t line) {
  const std::string& state = report_.source_states[file];
  if (state != kSourceRead && state != kSourceNewer) return true;
  if (report_.source_text[file].contains(line)) return true;
  if (bytes_ >= kMaxTextBytes) return false;
  std::string text = text_.Line(report_.source_files[file], line).substr(0, kMaxLineBytes);
  bytes_ += text.size();
  report_.source_text[file].emplace(line, std::move(text));
  return true;
}

void ReportSourceFiles::AddLine(uint32_t function, uint32_t file, uint32_t line) {
  AddText(file, line);
  lines_[{function, file}].insert(line);
}

void ReportSourceFiles::AddFunctionLine(uint32_t function, uint32_t file, uint32_t line) {
  const std::pair key(function, file);
  const auto [it, is_new] = ranges_.try_emplace(key, line, line);
  it->second.first = std::min(it->second.first, line);
  it->second.second = std::max(it->second.second, line);
  ++instructions_[key];
}

void ReportSourceFiles::Finish() {
  const uint64_t cut = AddFunctionText();
  AddGaps();
  AddProblems(cut);
}

uint64_t ReportSourceFiles::AddFunctionText() {
  uint64_t cut = 0;
  for (uint32_t function = 0; function < report_.functions.size(); ++function) {
    // A function may have parts of files that it includes; it is in the one with the largest part.
    uint32_t largest = 0;
    ReportFunction& out = report_.functions[function];
    for (auto it = ranges_.lower_bound({function, 0});
         it != ranges_.end() && it->first.first == function; ++it) {
      if (instructions_[it->first] <= largest) continue;
      largest = instructions_[it->first];
      out.file = it->first.second;
      std::tie(out.first_line, out.last_line) = it->second;
    }
    if (largest == 0) continue;
    bool is_whole = out.last_line - out.first_line < kMaxFunctionLines;
    if (!is_whole) {
      out.file = kNotListed;
    } else {
      out.first_line -= std::min(out.first_line - 1, kContextLines);
      out.last_line += kContextLines;
      for (uint32_t line = out.first_line; line <= out.last_line && is_whole; ++line) {
        is_whole = AddText(out.file, line);
      }
    }
    if (!is_whole) ++cut;
  }
  return cut;
}

void ReportSourceFiles::AddGaps() {
  for (const auto& [key, lines] : lines_) {
    uint32_t last = 0;
    for (const uint32_t line : lines) {
      while (last != 0 && line - last <= kMaxGap && last < line) AddText(key.second, last++);
      last = line;
    }
  }
}

void ReportSourceFiles::AddProblems(uint64_t cut) {
  std::map<std::string, std::vector<std::string>> paths;  // by state
  for (size_t i = 0; i < report_.source_files.size(); ++i) {
    paths[report_.source_states[i]].push_back(report_.source_files[i]);
  }
  const auto say = [&](const char* state, const char* what) {
    if (!paths[state].empty()) report_.source_problems.push_back(what + FirstOf(paths[state]));
  };
  say(kSourceMissing, "source files are not here, so that only their lines are named: ");
  say(kSourceNewer, "source files are newer than what ran, so that their lines may be others: ");
  say(kSourceRefused, "files are not named like source files, so that no text is copied: ");
  if (cut != 0) {
    report_.source_problems.push_back("source text is limited to " +
                                      FormatCount(kMaxTextBytes >> 10) +
                                      " KiB and to functions of " + FormatCount(kMaxFunctionLines) +
                                      " lines; " + FormatCount(cut) + " have less of it");
  }
}

}  // namespace hbbp::tools
