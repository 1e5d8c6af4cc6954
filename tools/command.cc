#include "command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "format.h"

namespace hbbp::tools {

int Fail(std::string_view command, std::string_view message) {
  std::fprintf(stderr, "hbbp%s%.*s: %s\n", command.empty() ? "" : " ",
               static_cast<int>(command.size()), command.data(), Printable(message).c_str());
  return kExitFailure;
}

void Note(std::string_view command, std::string_view message) {
  std::fprintf(stderr, "hbbp %.*s: note: %s\n", static_cast<int>(command.size()), command.data(),
               Printable(message).c_str());
}

int WriteOutput(std::string_view command, std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((written && std::fflush(stdout) == 0) || errno == EPIPE) return kExitSuccess;
  return Fail(command, std::string("standard output: ") + std::strerror(errno));
}

}  // namespace hbbp::tools
