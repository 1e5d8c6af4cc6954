#include "record/target.h"

#include <limits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "preload/exec_target.h"
#include "record/leak_detection.h"

namespace hbbp::tools {
namespace {

using preload::ExecTarget;

bool IsScript(const char* path) {
  char begin[2] = {};
  std::ifstream(path).read(begin, sizeof(begin));
  return begin[0] == '#' && begin[1] == '!';
}

// The kernel then hides it from the user, and its loader ignores LD_PRELOAD.
bool GainsPrivileges(const char* path) {
  struct stat file;
  struct statvfs mount;
  if (::stat(path, &file) != 0 || IsScript(path)) return false;
  if (::statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0) return false;
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return false;
  const bool is_setuid = (file.st_mode & S_ISUID) != 0 && file.st_uid != ::getuid();
  const bool is_setgid =
      (file.st_mode & S_ISGID) != 0 && (file.st_mode & S_IXGRP) != 0 && file.st_gid != ::getgid();
  const bool has_capabilities =
      ::geteuid() != 0 && ::getxattr(path, "security.capability", nullptr, 0) > 0;
  return is_setuid || is_setgid || has_capabilities;
}

// The user may load a sanitizer into all programs.
bool PreloadsSanitizer() {
  const char* const text = std::getenv("LD_PRELOAD");
  if (text == nullptr) return false;
  std::string libraries(text);
  std::replace(libraries.begin(), libraries.end(), ':', ' ');  // either separates libraries
  std::istringstream words(libraries);
  for (std::string path; words >> path;) {
    if (preload::IsSanitizerLibrary(path.substr(path.rfind('/') + 1).c_str())) return true;
  }
  return false;
}

}  // namespace

Status ChooseSide(RecordOptions* record, std::string* note) {
  if (record->command.empty()) return OkStatus();
  const std::string& name = record->command[0];
  char path[PATH_MAX];
  if (!preload::FindProgram(name.c_str(), path, sizeof(path))) return OkStatus();
  if (!record->is_outside && GainsPrivileges(path)) {
    return MakeStatus(StatusCode::kPermission,
                      "%s: it is setuid, setgid or has capabilities, so nothing can be loaded into "
                      "it, nor may you observe it: record it as the user whose rights it takes",
                      path);
  }
  ExecTarget target = preload::ClassifyProgram(path);
  if (target == ExecTarget::kOrdinary && PreloadsSanitizer()) target = ExecTarget::kSanitizer;
  if (TracesBranches(*record) && target == ExecTarget::kSanitizer) {
    HBBP_RETURN_IF_ERROR(CheckLeakDetectionOfProgram(name));
  }
  if (record->is_outside || target == ExecTarget::kOrdinary) return OkStatus();
  const std::string why = name + " is " + preload::Describe(target) +
                          ", so that libhbbp-preload.so cannot be loaded into it";
  if (TracesBranches(*record) && target == ExecTarget::kOtherMachine) {
    return MakeStatus(StatusCode::kUnsupported,
                      "%s, and --source %s cannot observe it from outside: take --source ebs",
                      why.c_str(), record->source.c_str());
  }
  record->is_outside = true;
  *note = why + ": observed from outside (--outside), without its children (--children)";
  return OkStatus();
}

}  // namespace hbbp::tools
