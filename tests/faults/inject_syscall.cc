// Runs a command and makes one system call of hbbp fail in it: in `hbbp record` itself, or in the
// library that it loads into a program. Calls of the program itself are never changed.
//
// usage: inject_syscall [--report FILE] [--time-limit SECONDS]
//          [--context NAME --call CALL --nth N (--error NUMBER | --short)] -- COMMAND ARG...
//
// It traces the command and all processes that it starts with ptrace. At the entry of each system
// call it decides whose call it is: hbbp's, if the instruction or a return address on the stack is
// in the code of hbbp or of libhbbp-preload. Each call of hbbp's has a context:
//   command   the process `hbbp`
//   launch    its child, before it becomes the program
//   worker    the worker thread in the program
//   program   a thread of the program that is in our constructors, destructors or interposed
//             functions
//   handler   a thread of the program in a system call instruction of our own (signal handlers)
// Without --call it only lists. The report has a line for each context and call: "call CONTEXT
// CALL COUNT", and where one was made to fail, "injected FILE+OFFSET ...", the innermost
// addresses in our code. "hang" if the time limit was reached, "stray N" if N processes
// outlived the command. The exit status is that of the command.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
                         PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
constexpr int kExitFailed = 125;

// Names of calls that hbbp may make; others are shown by number.
constexpr std::pair<long, const char*> kNames[] = {
    {SYS_access, "access"},
    {SYS_arch_prctl, "arch_prctl"},
    {SYS_brk, "brk"},
    {SYS_capget, "capget"},
    {SYS_chdir, "chdir"},
    {SYS_chmod, "chmod"},
    {SYS_clock_gettime, "clock_gettime"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_clone, "clone"},
    {SYS_clone3, "clone3"},
    {SYS_close_range, "close_range"},
    {SYS_dup, "dup"},
    {SYS_execve, "execve"},
    {SYS_faccessat, "faccessat"},
    {SYS_faccessat2, "faccessat2"},
    {SYS_fcntl, "fcntl"},
    {SYS_fork, "fork"},
    {SYS_fstat, "fstat"},
    {SYS_fsync, "fsync"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_futex, "futex"},
    {SYS_getcwd, "getcwd"},
    {SYS_getdents64, "getdents64"},
    {SYS_getegid, "getegid"},
    {SYS_geteuid, "geteuid"},
    {SYS_getgid, "getgid"},
    {SYS_getppid, "getppid"},
    {SYS_getrandom, "getrandom"},
    {SYS_getrlimit, "getrlimit"},
    {SYS_getuid, "getuid"},
    {SYS_ioctl, "ioctl"},
    {SYS_kill, "kill"},
    {SYS_lseek, "lseek"},
    {SYS_madvise, "madvise"},
    {SYS_memfd_create, "memfd_create"},
    {SYS_mkdir, "mkdir"},
    {SYS_mkdirat, "mkdirat"},
    {SYS_mlock, "mlock"},
    {SYS_mmap, "mmap"},
    {SYS_mprotect, "mprotect"},
    {SYS_mremap, "mremap"},
    {SYS_msync, "msync"},
    {SYS_newfstatat, "newfstatat"},
    {SYS_open, "open"},
    {SYS_openat, "openat"},
    {SYS_perf_event_open, "perf_event_open"},
    {SYS_pidfd_open, "pidfd_open"},
    {SYS_pipe2, "pipe2"},
    {SYS_poll, "poll"},
    {SYS_ppoll, "ppoll"},
    {SYS_prctl, "prctl"},
    {SYS_pread64, "pread64"},
    {SYS_prlimit64, "prlimit64"},
    {SYS_process_vm_readv, "process_vm_readv"},
    {SYS_read, "read"},
    {SYS_readlink, "readlink"},
    {SYS_readlinkat, "readlinkat"},
    {SYS_rename, "rename"},
    {SYS_renameat, "renameat"},
    {SYS_rmdir, "rmdir"},
    {SYS_rt_sigaction, "rt_sigaction"},
    {SYS_rt_sigprocmask, "rt_sigprocmask"},
    {SYS_rt_tgsigqueueinfo, "rt_tgsigqueueinfo"},
    {SYS_sched_getaffinity, "sched_getaffinity"},
    {SYS_sched_setaffinity, "sched_setaffinity"},
    {SYS_select, "select"},
    {SYS_set_tid_address, "set_tid_address"},
    {SYS_sigaltstack, "sigaltstack"},
    {SYS_stat, "stat"},
    {SYS_statfs, "statfs"},
    {SYS_statx, "statx"},
    {SYS_symlink, "symlink"},
    {SYS_sysinfo, "sysinfo"},
    {SYS_tgkill, "tgkill"},
    {SYS_timer_create, "timer_create"},
    {SYS_timer_delete, "timer_delete"},
    {SYS_timer_settime, "timer_settime"},
    {SYS_uname, "uname"},
    {SYS_unlink, "unlink"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_unshare, "unshare"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_write, "write"},
    {SYS_writev, "writev"},
};

std::string CallName(long call) {
  for (const auto& [number, name] : kNames) {
    if (number == call) return name;
  }
  return std::to_string(call);
}

struct Settings {
  const char* report = "/dev/stderr";
  unsigned time_limit_s = 20;
  std::string context;
  std::string call;
  int nth = 1;
  int error = 0;
  bool is_short = false;
};

struct CodeRange {
  uint64_t start, end, offset;
  std::string file;  // its name without directories
};

struct Process {
  std::vector<CodeRange> code;  // code of hbbp
  bool is_complete = false;     // `code` will not grow
  bool is_hbbp = false;         // whether the executable is hbbp
  uint64_t entry = 0;           // also in the auxiliary vector on the stack
};

struct Thread {
  pid_t process = 0;
  bool is_worker = false;
  std::optional<long> result;    // the result that its system call will have
  uint64_t original_length = 0;  // of a shortened call
  bool is_shortened = false;
};

Settings settings;
std::string hbbp_path;
pid_t command_pid = 0;
std::map<pid_t, Process> processes;
std::map<pid_t, Thread> threads;
std::map<std::pair<std::string, long>, int> counts;
std::string injected;

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::exit(kExitFailed);
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string LinkTarget(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof(target));
  return length < 0 ? "" : std::string(target, static_cast<size_t>(length));
}

pid_t ProcessOf(pid_t tid) {
  FILE* file = std::fopen(("/proc/" + std::to_string(tid) + "/status").c_str(), "r");
  if (file == nullptr) return tid;
  char line[256];
  int process = tid;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "Tgid: %d", &process) == 1) break;
  }
  std::fclose(file);
  return process;
}

uint64_t EntryAddress(pid_t pid) {
  FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/auxv").c_str(), "r");
  if (file == nullptr) return 0;
  uint64_t pair[2] = {}, entry = 0;
  while (std::fread(pair, sizeof(pair), 1, file) == 1) {
    if (pair[0] == AT_ENTRY) entry = pair[1];
  }
  std::fclose(file);
  return entry;
}

void FindCode(pid_t pid, Process* process) {
  if (process->is_complete) return;
  process->entry = EntryAddress(pid);
  process->is_hbbp = LinkTarget("/proc/" + std::to_string(pid) + "/exe") == hbbp_path;
  process->code.clear();
  FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/maps").c_str(), "r");
  if (file == nullptr) return;
  char line[PATH_MAX + 128];
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    unsigned long start, end, offset;
    char rights[8];
    int path_at = 0;
    if (std::sscanf(line, "%lx-%lx %7s %lx %*s %*s %n", &start, &end, rights, &offset, &path_at) <
            4 ||
        rights[2] != 'x') {
      continue;
    }
    std::string path = line + path_at;
    while (!path.empty() && path.back() == '\n') path.pop_back();
    const std::string name = BaseName(path);
    const bool is_ours =
        process->is_hbbp ? path == hbbp_path : name.rfind("libhbbp-preload", 0) == 0;
    if (is_ours) process->code.push_back({start, end, offset, name});
  }
  std::fclose(file);
  process->is_complete = !process->code.empty();
}

const CodeRange* FindRange(const Process& process, uint64_t address) {
  for (const CodeRange& range : process.code) {
    if (address >= range.start && address < range.end) return &range;
  }
  return nullptr;
}

// Returns addresses in our code on the stack, innermost first. Some may remain from earlier calls.
std::vector<uint64_t> OurAddresses(pid_t tid, const Process& process, uint64_t stack_pointer) {
  constexpr uint64_t kPage = 4096, kPages = 32;
  static std::vector<uint64_t> words(kPage * kPages / sizeof(uint64_t));
  std::vector<iovec> remote;
  uint64_t at = stack_pointer & ~7ull;
  for (uint64_t i = 0; i < kPages; ++i) {
    const uint64_t end = (at / kPage + 1) * kPage;
    remote.push_back({reinterpret_cast<void*>(at), end - at});
    at = end;
  }
  iovec local = {words.data(), words.size() * sizeof(uint64_t)};
  const ssize_t got = ::process_vm_readv(tid, &local, 1, remote.data(), remote.size(), 0);
  std::vector<uint64_t> found;
  for (size_t i = 0; got > 0 && i < static_cast<size_t>(got) / sizeof(uint64_t); ++i) {
    // No call returns to the start of code, but the dynamic linker has that address in its frames.
    const CodeRange* range = FindRange(process, words[i]);
    if (range == nullptr || words[i] == range->start || words[i] == process.entry) continue;
    found.push_back(words[i]);
  }
  return found;
}

std::string Describe(const Process& process, const std::vector<uint64_t>& addresses) {
  constexpr size_t kMaxShown = 6;
  std::string text;
  for (size_t i = 0; i < addresses.size() && i < kMaxShown; ++i) {
    const CodeRange* range = FindRange(process, addresses[i]);
    char offset[32];
    std::snprintf(offset, sizeof(offset), "+0x%llx ",
                  static_cast<unsigned long long>(addresses[i] - range->start + range->offset));
    text += range->file + offset;
  }
  return text;
}

// Calls that cannot fail, that end something, or that the program makes through an interposed
// function: their failure is the program's.
bool IsExempt(const std::string& context, const __ptrace_syscall_info& info) {
  const long call = static_cast<long>(info.entry.nr);
  static const std::set<long> kNever = {
      SYS_exit,   SYS_exit_group,    SYS_rt_sigreturn,   SYS_getpid,          SYS_gettid,
      SYS_munmap, SYS_close,         SYS_sched_yield,    SYS_restart_syscall, SYS_set_robust_list,
      SYS_rseq,   SYS_clock_gettime, SYS_set_tid_address};
  static const std::set<long> kOfProgram = {SYS_execve, SYS_rt_sigaction, SYS_rt_sigprocmask,
                                            SYS_sigaltstack};
  if (kNever.contains(call)) return true;
  // libc aborts if a wake-up fails, which cannot happen.
  if (call == SYS_futex && (info.entry.args[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) return true;
  return context == "program" && kOfProgram.contains(call);
}

// Returns an empty string if it is not a call of hbbp's.
std::string DescribeContext(pid_t tid, Thread* thread, const __ptrace_syscall_info& info,
                            std::vector<uint64_t>* addresses) {
  Process& process = processes[thread->process];
  FindCode(thread->process, &process);
  if (process.code.empty()) return "";
  const bool is_own_instruction = FindRange(process, info.instruction_pointer) != nullptr;
  *addresses = is_own_instruction ? std::vector{info.instruction_pointer}
                                  : OurAddresses(tid, process, info.stack_pointer);
  if (addresses->empty()) return "";
  if (process.is_hbbp) return thread->process == command_pid ? "command" : "launch";
  if (thread->is_worker) return "worker";
  return is_own_instruction ? "handler" : "program";
}

void SetRegisters(pid_t tid, void (*change)(user_regs_struct*, Thread*), Thread* thread) {
  user_regs_struct registers;
  if (::ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0) return;
  change(&registers, thread);
  ::ptrace(PTRACE_SETREGS, tid, nullptr, &registers);
}

void OnEntry(pid_t tid, Thread* thread, const __ptrace_syscall_info& info) {
  std::vector<uint64_t> addresses;
  const std::string context = DescribeContext(tid, thread, info, &addresses);
  const long call = static_cast<long>(info.entry.nr);
  if (context.empty() || IsExempt(context, info)) return;
  const int count = ++counts[{context, call}];
  if (CallName(call) != settings.call || context != settings.context || count != settings.nth)
    return;
  injected = Describe(processes[thread->process], addresses);
  if (settings.is_short) {
    thread->is_shortened = true;
    SetRegisters(
        tid,
        [](user_regs_struct* registers, Thread* changed) {
          changed->original_length = registers->rdx;
          // Transfers as short as this pass through pipes, which do not split them.
          constexpr uint64_t kMaxWhole = 16;
          if (registers->rdx > kMaxWhole) registers->rdx /= 2;
        },
        thread);
    return;
  }
  // A break that cannot move keeps its address.
  thread->result = call == SYS_brk ? 0 : -settings.error;
  SetRegisters(
      tid, [](user_regs_struct* registers, Thread*) { registers->orig_rax = ~0ull; }, thread);
}

void OnExit(pid_t tid, Thread* thread) {
  if (thread->result) {
    SetRegisters(
        tid,
        [](user_regs_struct* registers, Thread* changed) {
          registers->rax = static_cast<uint64_t>(*changed->result);
        },
        thread);
    thread->result.reset();
  }
  if (thread->is_shortened) {
    SetRegisters(
        tid,
        [](user_regs_struct* registers, Thread* changed) {
          registers->rdx = changed->original_length;
        },
        thread);
    thread->is_shortened = false;
  }
}

void OnSyscall(pid_t tid, Thread* thread) {
  __ptrace_syscall_info info;
  std::memset(&info, 0, sizeof(info));
  if (::ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0) return;
  if (info.op == PTRACE_SYSCALL_INFO_ENTRY) OnEntry(tid, thread, info);
  if (info.op == PTRACE_SYSCALL_INFO_EXIT) OnExit(tid, thread);
}

// The worker is the thread that our code starts.
void OnChild(pid_t tid, const Thread& parent, int event) {
  unsigned long message = 0;
  if (::ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &message) != 0) return;
  const auto child = static_cast<pid_t>(message);
  Thread& thread = threads[child];
  thread.process = event == PTRACE_EVENT_CLONE ? ProcessOf(child) : child;
  if (thread.process != parent.process) {
    processes[thread.process] = processes[parent.process];
    return;
  }
  user_regs_struct registers;
  const Process& process = processes[parent.process];
  if (process.is_hbbp || ::ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0) return;
  thread.is_worker = !OurAddresses(tid, process, registers.rsp).empty();
}

int OnStop(pid_t tid, int status) {
  if (!threads.contains(tid)) threads[tid].process = ProcessOf(tid);
  Thread& thread = threads[tid];
  const int signal_number = WSTOPSIG(status);
  const int event = status >> 16;
  if (signal_number == (SIGTRAP | 0x80)) {
    OnSyscall(tid, &thread);
    return 0;
  }
  switch (event) {
    case 0:
      return signal_number;
    case PTRACE_EVENT_CLONE:
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
      OnChild(tid, thread, event);
      return 0;
    case PTRACE_EVENT_EXEC:
      processes[thread.process] = Process();
      return 0;
    default:
      return 0;
  }
}

bool IsGroupStop(int status) {
  const int signal_number = WSTOPSIG(status);
  return status >> 16 == PTRACE_EVENT_STOP && signal_number != SIGTRAP;
}

volatile sig_atomic_t time_is_over = 0;

void OnAlarm(int) { time_is_over = 1; }

// System calls need not be traced any longer.
bool IsDone(const Thread& thread) {
  return !injected.empty() && !thread.result && !thread.is_shortened;
}

void KillAll() {
  for (const auto& [pid, process] : processes) {
    if (threads.contains(pid)) ::kill(pid, SIGKILL);
  }
}

// Runs until all have ended. Returns the wait status of the command.
int Trace(FILE* report) {
  constexpr unsigned kSecondsForStrays = 2;
  struct sigaction action = {};
  action.sa_handler = &OnAlarm;
  ::sigaction(SIGALRM, &action, nullptr);
  ::alarm(settings.time_limit_s);
  int command_status = SIGKILL;
  bool has_ended = false;
  for (;;) {
    int status = 0;
    const pid_t tid = ::waitpid(-1, &status, __WALL);
    if (tid < 0 && errno == ECHILD) return command_status;
    if (time_is_over != 0) {
      if (has_ended) std::fprintf(report, "stray %zu\n", threads.size());
      if (!has_ended) std::fprintf(report, "hang\n");
      KillAll();
      return command_status;
    }
    if (tid < 0 && errno == EINTR) continue;
    if (tid < 0) Fail("waitpid");
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      threads.erase(tid);
      if (tid == command_pid) {
        command_status = status;
        has_ended = true;
        time_is_over = 0;
        ::alarm(kSecondsForStrays);
      }
      continue;
    }
    const int signal_number = OnStop(tid, status);
    if (IsGroupStop(status)) {
      ::ptrace(PTRACE_LISTEN, tid, nullptr, nullptr);
    } else {
      ::ptrace(IsDone(threads[tid]) ? PTRACE_CONT : PTRACE_SYSCALL, tid, nullptr, signal_number);
    }
  }
}

pid_t StartTraced(char** command) {
  const pid_t pid = ::fork();
  if (pid < 0) Fail("fork");
  if (pid == 0) {
    ::raise(SIGSTOP);
    ::execvp(command[0], command);
    std::perror(command[0]);
    ::_exit(kExitFailed);
  }
  int status;
  if (::waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status)) Fail("waitpid");
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, kOptions) != 0) Fail("ptrace");
  threads[pid].process = pid;
  ::kill(pid, SIGCONT);
  return pid;
}

char** ParseArguments(char** argument) {
  for (++argument; *argument != nullptr; ++argument) {
    const std::string name = *argument;
    if (name == "--") return argument + 1;
    if (name == "--short") {
      settings.is_short = true;
      continue;
    }
    if (argument[1] == nullptr) break;
    const char* value = *++argument;
    if (name == "--report") settings.report = value;
    if (name == "--time-limit") settings.time_limit_s = static_cast<unsigned>(std::atoi(value));
    if (name == "--context") settings.context = value;
    if (name == "--call") settings.call = value;
    if (name == "--nth") settings.nth = std::atoi(value);
    if (name == "--error") settings.error = std::atoi(value);
  }
  std::fprintf(stderr, "usage: inject_syscall [OPTION VALUE]... -- COMMAND ARG...\n");
  std::exit(kExitFailed);
}

}  // namespace

int main(int, char** argv) {
  char** command = ParseArguments(argv);
  if (*command == nullptr) return kExitFailed;
  char path[PATH_MAX];
  if (::realpath(command[0], path) == nullptr) Fail(command[0]);
  hbbp_path = path;
  FILE* report = std::fopen(settings.report, "we");
  if (report == nullptr) Fail(settings.report);
  command_pid = StartTraced(command);
  const int status = Trace(report);
  for (const auto& [key, count] : counts) {
    std::fprintf(report, "call %s %s %d\n", key.first.c_str(), CallName(key.second).c_str(), count);
  }
  if (!injected.empty()) std::fprintf(report, "injected %s\n", injected.c_str());
  std::fclose(report);
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  return WEXITSTATUS(status);
}
