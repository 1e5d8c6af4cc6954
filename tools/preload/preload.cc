// libhbbp-preload.so profiles the program that LD_PRELOAD loads it into. Its constructor starts the
// profile of the image, handlers of pthread_atfork start one in each child, and interpose.cc calls
// the functions at the end of this file, which save it before the image ends.
//
// It contains only the collecting half of libhbbp, for two reasons: loading the other half with
// its libraries would cost milliseconds at every exec, and the program may use libhbbp itself.

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/shared_start.h"
#include "base/unique_fd.h"
#include "collect/data_attribution.h"
#include "collect/first_bursts.h"
#include "preload/image_profile.h"
#include "preload/machine_facts.h"
#include "preload/options.h"
#include "preload/own_memory.h"
#include "preload/seccomp_filter.h"
#include "preload/signals.h"
#include "session/session_registry.h"

namespace hbbp::preload {
namespace {

// It is never freed: other threads may still use it while the process ends.
ImageProfile* current = nullptr;

// A server that forks a process for each connection would otherwise pay for a start each time.
// nullptr where there was no memory. It is never freed either.
SharedStart* start_of_forked = nullptr;

// Maps it in memory that forked processes share. By the name it is not taken for memory of the
// program (backends/swbt.cc).
SharedStart* MapSharedStart() {
  constexpr size_t kBytes = sizeof(SharedStart);
  rlimit limit;
  // Beyond it, a file that grows ends the program by SIGXFSZ.
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < kBytes) return nullptr;
  const UniqueFd file(static_cast<int>(::syscall(SYS_memfd_create, "hbbp-start", MFD_CLOEXEC)));
  if (!file.valid() || ::ftruncate(file.get(), kBytes) != 0) return nullptr;
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  return memory == MAP_FAILED ? nullptr : new (memory) SharedStart();
}

std::string ImageName() {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  const uint64_t now_ns = ClockNs(CLOCK_MONOTONIC);
  char name[64];
  std::snprintf(name, sizeof(name), "%d.%012lld%09ld", ::getpid(),
                static_cast<long long>(now_ns / kSecondNs), static_cast<long>(now_ns % kSecondNs));
  return name;
}

ImageSettings SettingsFromEnvironment() {
  ImageSettings settings;
  const char* text = std::getenv(kSessionVariable);
  int event = 0, period_mode = 0, kernel = 0, source = 0, trace_mode = 0, ebs_method = 0,
      imprecise = 0;
  unsigned burst = 0, recorded_kinds = 0;
  unsigned long long period = 0, frequency = 0, deadline = 0, branch_period = 0, expected = 0;
  unsigned long long event_config = 0, slice = 0, realtime_offset = 0;
  unsigned long long max_overhead = 0, max_memory = 0, kept_burst_bytes = 0;
  unsigned event_type = 0;
  char event_name[256] = "";
  if (text == nullptr ||
      std::sscanf(text,
                  "%d %d %llu %llu %d %llu %d %d %u %llu %llu %u %llu %d %d %llu %llu %llu "
                  "%llu %llu %u %255s",
                  &event, &period_mode, &period, &frequency, &kernel, &deadline, &source,
                  &trace_mode, &burst, &branch_period, &expected, &event_type, &event_config,
                  &ebs_method, &imprecise, &slice, &realtime_offset, &max_overhead, &max_memory,
                  &kept_burst_bytes, &recorded_kinds, event_name) < 21) {
    return settings;
  }
  if (source != 0) settings.source = static_cast<SourceKind>(source);
  BackendConfig& backend = settings.session.backend;
  backend.event = static_cast<EventKind>(event);
  backend.event_name = event_name;
  backend.event_type = event_type;
  backend.event_config = event_config;
  backend.ebs_method = static_cast<EbsMethod>(ebs_method);
  backend.imprecise = imprecise != 0;
  backend.period_mode = static_cast<PeriodMode>(period_mode);
  backend.period = period;
  backend.branch_period = branch_period;
  backend.frequency_hz = frequency;
  backend.expected_seconds = expected;
  backend.include_kernel = kernel != 0;
  backend.trace_mode = static_cast<TraceMode>(trace_mode);
  backend.burst_branches = burst;
  backend.recorded_kinds = static_cast<RecordedKinds>(recorded_kinds);
  backend.max_overhead = static_cast<double>(max_overhead) / kOverheadUnit;
  backend.max_buffer_bytes = max_memory / kBuffersInMemory;
  settings.session.max_memory = max_memory;
  settings.session.deadline_ns = deadline;
  settings.session.slice_ns = slice;
  KeepBursts(kept_burst_bytes, &settings.session);
  KeepData(&settings.session);
  settings.session.memory_nodes = &NodesOfThisMachine;
  settings.session.kept_kinds = backend.recorded_kinds;
  settings.session.realtime_offset_ns = realtime_offset;
  return settings;
}

// They stay, as ReadCpuid and handlers use them.
const MachineFacts* FactsFromEnvironment() {
  const char* const text = std::getenv(kMachineVariable);
  if (text == nullptr) return nullptr;
  const std::optional<MachineFacts> read = ReadMachineFacts(text);
  if (!read) return nullptr;
  static const MachineFacts facts = *read;
  SetKnownCpuid(&facts.cpuid);
  return &facts;
}

bool IsRoot() {
  const char* root = std::getenv(kRootVariable);
  return root != nullptr && std::atoi(root) == ::getpid();
}

// The files by which `hbbp record` knows whether the requested program has run.
class RootMarks {
 public:
  explicit RootMarks(const std::string& directory)
      : probe_(directory + "/" + kProbeFile),
        starting_(directory + "/" + std::to_string(::getpid()) + kStartingSuffix),
        started_(directory + "/" + std::to_string(::getpid()) + kStartedSuffix) {}

  bool HasStarted() const { return ::access(started_.c_str(), F_OK) == 0; }
  void SetStarting() const {
    if (::link(probe_.c_str(), starting_.c_str()) == 0) return;
    ::close(::open(starting_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  void SetStarted() const { ::rename(starting_.c_str(), started_.c_str()); }

 private:
  const std::string probe_;
  const std::string starting_;
  const std::string started_;
};

// Exits only in the first image; a later one (exec) can no longer be refused.
void StartRoot(const std::string& directory) {
  constexpr int kExitNotRun = 2;
  const RootMarks marks(directory);
  if (marks.HasStarted()) {
    current->Start();
    return;
  }
  marks.SetStarting();
  if (!current->Start()) ::_exit(kExitNotRun);
  marks.SetStarted();
}

sigset_t mask_of_main_thread;
std::atomic<bool> has_stand_in{false};  // for ExitAfterLastThread

// Acts as the last thread of the program, which would run the exit handlers if there were no
// worker. The worker itself cannot: it has none of the program's descriptors.
void* ExitAfterLastThread(void*) {
  constexpr useconds_t kPollMicroseconds = 20'000;
  SessionRegistry::Get().AddWorker(::gettid());
  while (!SessionRegistry::Get().ProgramHasEnded()) ::usleep(kPollMicroseconds);
  const int status = SessionRegistry::Get().StatusOfLastThread();
  // No exit handlers run then, and the worker saves the profile.
  if (status >= 0) ::syscall(SYS_exit, status);
  ::pthread_sigmask(SIG_SETMASK, &mask_of_main_thread, nullptr);
  std::exit(0);
}

// Runs in the main thread where that ends by pthread_exit, thrd_exit or cancellation. A program
// continues then until its last thread ends, and the worker is one.
void EndProgramAfterItsThreads(void*) {
  if (current == nullptr || HasFilter()) return;
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &mask_of_main_thread);
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, &ExitAfterLastThread, nullptr) == 0) {
    ::pthread_detach(thread);
    has_stand_in = true;
  }
  ::pthread_sigmask(SIG_SETMASK, &mask_of_main_thread, nullptr);
}

pthread_key_t end_of_main_thread;
bool has_end_of_main_thread = false;

// The calling thread is the main thread, in a child of fork too.
void WatchEndOfMainThread() {
  if (!has_end_of_main_thread) {
    has_end_of_main_thread =
        ::pthread_key_create(&end_of_main_thread, &EndProgramAfterItsThreads) == 0;
  }
  if (has_end_of_main_thread) ::pthread_setspecific(end_of_main_thread, &end_of_main_thread);
}

void StartImage() {
  const char* directory = std::getenv(kDirectoryVariable);
  if (directory == nullptr || *directory == '\0') return;
  if (HasFilterFromTheStart()) return;
  const bool is_root = IsRoot();
  ImageSettings settings = SettingsFromEnvironment();
  settings.session.has_checkpoint_at_start = is_root;
  if (start_of_forked == nullptr) start_of_forked = MapSharedStart();
  settings.session.backend.shared_start = start_of_forked;
  settings.session.backend.may_be_brief = true;
  const MachineFacts* const facts = FactsFromEnvironment();
  if (facts != nullptr && facts->timing) settings.session.backend.processor = &*facts->timing;
  WatchEndOfMainThread();
  current = new ImageProfile(directory, ImageName(), settings);
  if (is_root) {
    StartRoot(directory);
  } else {
    current->Start();
  }
}

// It runs in constructors and after fork, where an exception would end the program.
void StartImageIfMemoryAllows() try { StartImage(); } catch (const std::bad_alloc&) {
  current = nullptr;
  char path[PATH_MAX];
  const char* const directory = std::getenv(kDirectoryVariable);
  const int length = std::snprintf(path, sizeof(path), "%s/%d.0",
                                   directory == nullptr ? "" : directory, ::getpid());
  if (length > 0 && static_cast<size_t>(length) < sizeof(path)) WriteNoMemory(path);
}

void StartInForkedChild() {
  // The parent's profile belongs to the parent; its session has released it already.
  current = nullptr;
  if (SessionRegistry::Get().IsBareFork() || HasFilter()) return;
  StartImageIfMemoryAllows();
}

__attribute__((constructor)) void OnLoad() {
  StartImageIfMemoryAllows();
  if (current != nullptr) ::pthread_atfork(nullptr, &SetImageHasForked, &StartInForkedChild);
}

void SetSignalMask(uint64_t mask) {
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, sizeof(mask));
}

// Blocks signals of the calling thread. A timer that the program keeps must not end it while its
// profile is saved, which takes longer than everything after its last instruction. Returns what was
// blocked.
uint64_t BlockSignals() {
  // These are faults, signals of samples and breakpoints, and those of the C library itself.
  constexpr int kNeverBlocked[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
                                   SIGSYS,  32,     33,     61,     62};
  uint64_t mask = ~uint64_t{0};
  for (const int signal : kNeverBlocked) mask &= ~(uint64_t{1} << (signal - 1));
  uint64_t previous = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, &previous, sizeof(mask));
  return previous;
}

__attribute__((destructor)) void OnExit() { SaveImageAtEnd(); }

}  // namespace

void PrepareForEndOfThread(int status) {
  if (current == nullptr || HasFilter()) return;
  const size_t threads = current->ThreadsOfProgram();
  if (threads == 0) return;
  const bool is_main = ::gettid() == ::getpid();
  if (is_main && threads > 1) SessionRegistry::Get().SetOthersOutliveMainThread();
  const size_t main_and_stand_in = has_stand_in ? 2 : 1;
  const bool is_last_but_main = !is_main && threads == main_and_stand_in + 1;
  if (is_last_but_main) SessionRegistry::Get().SetStatusOfLastThread(status);
  if (is_last_but_main || threads == 1) {
    SessionRegistry::Get().SetProgramEndsNow();
    current->WakeWorker();
  }
}

void EndImage(const char* note) {
  if (current != nullptr && !HasFilter()) current->End(note);
}

void PrepareForTracer() {
  if (current == nullptr || HasFilter() || !current->MayTraceBranches()) return;
  EndImage("sampling ended early: the process asked for a tracer (PTRACE_TRACEME)");
}

void PrepareForFilter(bool is_of_all_threads, const char* note) {
  if (current == nullptr || HasFilter() || !current->IsOwner()) return;
  if (is_of_all_threads || current->MayTraceBranches()) {
    const bool has_ended = current->End(note);
    // A handler that still runs needs its own faults.
    if (has_ended) ReleaseSignals();
  } else {
    // The worker continues. It saves each second, and cannot be asked to save at the end.
    SaveImage();
  }
  SetHasFilter();
}

void SaveImage() {
  if (current == nullptr || HasFilter()) return;
  // This is the child of a vfork, which shares memory with its parent.
  if (!current->IsOwner()) return current->SetHasForked();
  const uint64_t mask = BlockSignals();
  current->Save();
  SetSignalMask(mask);
}

void SetImageHasForked() {
  if (current != nullptr) current->SetHasForked();
}

void SaveImageAtEnd() {
  if (current == nullptr || HasFilter()) return;
  BlockSignals();
  current->Save();
}

bool HasOneThreadBesidesWorker() {
  const int saved_errno = errno;
  const bool result = current != nullptr && !HasFilter() && current->HasOneThreadBesidesWorker();
  errno = saved_errno;
  return result;
}

bool ProgramHasOneThread() {
  const int saved_errno = errno;
  const bool result = current != nullptr && !HasFilter() && current->ProgramHasOneThread();
  errno = saved_errno;
  return result;
}

bool IsImageHere() { return current != nullptr && current->IsOwner(); }

void AbandonImageInChild() {
  StartOwnMemoryAnew();
  current = nullptr;
  SessionRegistry::Get().AbandonInChild();
}

bool SuspendImage() { return current != nullptr && current->Suspend(); }

void ResumeImage() {
  if (current != nullptr) current->Resume();
}

}  // namespace hbbp::preload
