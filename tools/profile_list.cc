#include "profile_list.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <hbbp/hbbp.hpp>
#include <iostream>
#include <system_error>

namespace hbbp::tools {
namespace {

namespace fs = std::filesystem;
using Visit = std::function<void(const std::string&)>;

[[noreturn]] void FailToRead(const std::string& path, const std::string& reason) {
  throw hbbp::error(HBBP_ERROR_IO, path + ": " + reason);
}

std::vector<fs::directory_entry> SortedEntries(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator next(directory, error), end; !error && next != end;
       next.increment(error)) {
    entries.push_back(*next);
  }
  if (error) FailToRead(directory, error.message());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// Links to directories are not followed, as they may lead back.
void VisitDirectory(const fs::path& directory, const std::string& output, const Visit& visit) {
  for (const fs::directory_entry& entry : SortedEntries(directory)) {
    std::error_code ignored;
    if (entry.path().filename().native().starts_with('.')) continue;
    if (entry.is_directory(ignored)) {
      if (!entry.is_symlink(ignored)) VisitDirectory(entry.path(), output, visit);
    } else if (entry.is_regular_file(ignored) && !fs::equivalent(entry.path(), output, ignored)) {
      visit(entry.path());
    }
  }
}

void VisitPath(const std::string& path, const std::string& output, const Visit& visit) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    VisitDirectory(path, output, visit);
  } else {
    visit(path);
  }
}

}  // namespace

void ProfileList::AddTo(Options* options) {
  options->Positionals("FILE", &paths_, 0, Options::kAny, "profiles, or directories of profiles");
  options->Value("--files-from", &list_, "LIST",
                 "read more names from this file, one a line; - is stdin");
  options->Flag("-0,--null", &is_null_separated_, "names in LIST end with a 0 and not with a line");
}

void ProfileList::ForEach(const std::string& output, const Visit& visit) const {
  for (const std::string& path : paths_) VisitPath(path, output, visit);
  if (list_.empty()) return;
  std::ifstream file;
  if (list_ != kStandardOutput) {
    file.open(list_);
    if (!file) FailToRead(list_, std::strerror(errno));
  }
  std::istream& names = list_ == kStandardOutput ? std::cin : file;
  const char end = is_null_separated_ ? '\0' : '\n';
  for (std::string name; std::getline(names, name, end);) {
    if (!name.empty()) VisitPath(name, output, visit);
  }
  if (names.bad()) FailToRead(list_, std::strerror(errno));
}

}  // namespace hbbp::tools
