#include "attach/attach_check.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/proc_path.h"
#include "base/proc_stat.h"
#include "base/unique_fd.h"
#include "image/process_maps.h"

namespace hbbp {
namespace {

// Returns what follows the name in /proc/PID/status.
std::string FindField(const std::string& status, const char* name) {
  const size_t at = status.find(name);
  if (at == std::string::npos) return "";
  const size_t begin = status.find_first_not_of(" \t", at + std::strlen(name));
  return begin == std::string::npos ? "" : status.substr(begin, status.find('\n', begin) - begin);
}

bool IsOf32Bit(pid_t pid) {
  const std::string path = ProcPath(pid, "exe");
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  unsigned char head[EI_NIDENT] = {};
  if (!file.valid() || ::pread(file.get(), head, sizeof(head), 0) != sizeof(head)) return false;
  return std::memcmp(head, ELFMAG, SELFMAG) == 0 && head[EI_CLASS] == ELFCLASS32;
}

// Returns 0, or the errno of reading memory of the process, which needs what ptrace needs.
int TryToRead(pid_t pid, uint64_t address) {
  char byte;
  const iovec local = {&byte, 1};
  const iovec remote = {reinterpret_cast<void*>(address), 1};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1 ? 0 : errno;
}

Status NotPermitted(pid_t pid, const std::string& status) {
  std::string advice = "it belongs to user " + FindField(status, "\nUid:") +
                       ": be that user or root, or have CAP_SYS_PTRACE";
  const StatusOr<std::string> scope = ReadTextFile("/proc/sys/kernel/yama/ptrace_scope");
  const int level = scope.ok() ? std::atoi(scope->c_str()) : 0;
  const bool is_own = std::strtoul(FindField(status, "\nUid:").c_str(), nullptr, 10) == ::geteuid();
  if (is_own && level != 0) {
    advice = "kernel.yama.ptrace_scope is " + std::to_string(level) +
             (level == 3 ? ", which forbids it to everybody until the next boot"
                         : ": set it to 0, be root, or start the program under hbbp record");
  } else if (is_own) {
    advice = "it has changed its rights or forbids it (PR_SET_DUMPABLE): be root";
  }
  return MakeStatus(StatusCode::kPermission, "ptrace: process %d may not be traced; %s", pid,
                    advice.c_str());
}

StatusOr<std::string> ReadStatus(pid_t pid) { return ReadTextFile(ProcPath(pid, "status")); }

}  // namespace

pid_t ParentOf(pid_t pid) {
  const StatusOr<std::string> status = ReadStatus(pid);
  return status.ok() ? std::atoi(FindField(*status, "\nPPid:").c_str()) : 0;
}

Status CheckAttach(pid_t pid) {
  if (pid == ::getpid()) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "a process cannot stop itself: trace the calling process with pid 0");
  }
  const StatusOr<std::string> status = ReadStatus(pid);
  if (!status.ok()) {
    return MakeStatus(StatusCode::kNotFound, "there is no process %d, or /proc does not show it",
                      pid);
  }
  const std::string state = FindField(*status, "\nState:");
  if (state.starts_with("Z") || state.starts_with("X")) {
    return MakeStatus(StatusCode::kUnsupported, "process %d has ended (it is a zombie)", pid);
  }
  const std::string tracer = FindField(*status, "\nTracerPid:");
  if (!tracer.empty() && tracer != "0") {
    return MakeStatus(StatusCode::kBusy,
                      "process %d is traced by process %s, a debugger or strace, and can have one "
                      "tracer only: end that, or sample with --source ebs",
                      pid, tracer.c_str());
  }
  if (FindField(*status, "\nVmSize:").empty()) {
    const std::optional<ProcStat> stat = ReadProcStat(pid);
    if (!stat || !stat->is_of_kernel) {
      return MakeStatus(StatusCode::kNotFound, "process %d ends just now", pid);
    }
    return MakeStatus(StatusCode::kUnsupported,
                      "process %d is a thread of the kernel, which has no code of a user", pid);
  }
  const StatusOr<std::vector<Mapping>> mappings = ReadProcessMaps(pid);
  if (!mappings.ok() && mappings.status().code() == StatusCode::kPermission) {
    return NotPermitted(pid, *status);
  }
  HBBP_RETURN_IF_ERROR(mappings.status());
  for (const Mapping& mapping : *mappings) {
    if (!mapping.readable || !mapping.executable || mapping.path.starts_with("[")) continue;
    const int error_number = TryToRead(pid, mapping.start.value);
    if (error_number == EPERM) return NotPermitted(pid, *status);
    if (error_number == 0) break;
  }
  if (IsOf32Bit(pid)) {
    return MakeStatus(StatusCode::kUnsupported,
                      "process %d is a 32-bit program, and only code of x86-64 is interpreted: "
                      "sample it with --source ebs",
                      pid);
  }
  return OkStatus();
}

}  // namespace hbbp
