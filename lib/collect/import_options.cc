#include "collect/import_options.h"

#include <algorithm>
#include <string_view>

namespace hbbp {
namespace {

// Returns the absolute path without "." and "..". The parent of the root is the root.
std::string WithoutDots(std::string_view path) {
  std::string plain;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (part == "..") {
      plain.erase(std::min(plain.rfind('/'), plain.size()));
    } else if (!part.empty() && part != ".") {
      plain.append("/").append(part);
    }
  }
  return plain.empty() ? "/" : plain;
}

}  // namespace

std::map<std::string, std::string>::const_iterator FindMovedFile(const ImportOptions& options,
                                                                 const std::string& path) {
  const auto file = options.files.find(path);
  if (file != options.files.end()) return file;
  return options.files.find(path.substr(path.rfind('/') + 1));
}

std::string LocalPath(const ImportOptions& options, const std::string& path) {
  const auto file = FindMovedFile(options, path);
  if (file != options.files.end()) return file->second;
  return options.root.empty() ? path : options.root + WithoutDots(path);
}

}  // namespace hbbp
