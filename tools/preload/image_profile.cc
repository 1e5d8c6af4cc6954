// The worker writes checkpoints to a file of its own in the directory of the recording, and the
// last one under another name. Who waits for it waits for a limited time, as a program that ends
// must not hang. What the worker shares with the program, and the program could notice, it unshares
// first.
#include "preload/image_profile.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "backends/backend.h"
#include "base/files.h"
#include "base/raw_syscall.h"
#include "collect/module_capture.h"
#include "preload/libc_threads.h"
#include "preload/options.h"
#include "preload/user_ids.h"
#include "profile/profile_file.h"

namespace hbbp::preload {
namespace {

// A program that ends must not hang because its profile cannot be written.
constexpr int kSaveTimeoutMs = 5000;

void WriteError(const std::string& path, const Status& status) try {
  const std::string& message = status.message();
  (void)WriteFileAtomically(path + kErrorSuffix,
                            {reinterpret_cast<const uint8_t*>(message.data()), message.size()});
} catch (const std::bad_alloc&) {
  WriteNoMemory(path.c_str());
}

// Returns 0 if it is unknown.
size_t ThreadCount() {
  constexpr size_t kOtherLinks = 2;
  struct stat threads;
  if (::stat("/proc/self/task", &threads) != 0 || threads.st_nlink < kOtherLinks) return 0;
  return threads.st_nlink - kOtherLinks;
}

// Returns false once the children of this process are to be in another PID namespace.
bool MayHaveThreads() {
  struct stat own, of_children;
  if (::stat("/proc/self/ns/pid", &own) != 0) return true;
  return ::stat("/proc/self/ns/pid_for_children", &of_children) == 0 &&
         own.st_ino == of_children.st_ino;
}

// Returns whether who runs hbbp record finds the file where it was mapped from. A program that has
// given up its user may not look for it any more.
bool IsWhereItWas(const ModuleRecord& module) {
  if (module.pinned_file == nullptr) return false;
  struct stat found, pinned;
  if (::stat(module.path.c_str(), &found) == 0) {
    return found.st_ino == module.inode && found.st_dev == module.device;
  }
  const bool is_hidden = errno == EACCES;
  return is_hidden && ::fstat(module.pinned_file->get(), &pinned) == 0 && pinned.st_nlink != 0;
}

}  // namespace

void WriteNoMemory(const char* path) {
  constexpr char kText[] = "no memory for a profile, or for all of it";
  char file[PATH_MAX];
  const int length = std::snprintf(file, sizeof(file), "%s%s", path, kErrorSuffix);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(file)) return;
  const int fd = ::open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  (void)!::write(fd, kText, sizeof(kText) - 1);
  ::close(fd);
}

ImageProfile::ImageProfile(std::string directory, std::string name, const ImageSettings& settings)
    : directory_(std::move(directory)),
      name_(std::move(name)),
      error_path_(directory_ + "/" + name_),
      path_(error_path_),
      settings_([&] {
        ImageSettings observed = settings;
        observed.session.observer = this;
        return observed;
      }()),
      owner_(::getpid()) {
  if (std::unique_ptr<Backend> backend = MakeBackend(settings_.source, 0)) {
    session_ = std::make_unique<Session>(std::move(backend), settings_.session);
  }
}

Status ImageProfile::StartSession() {
  if (session_ == nullptr) {
    return MakeStatus(StatusCode::kUnsupported, "libhbbp-preload.so has no live source %d",
                      static_cast<int>(settings_.source));
  }
  return session_->Start();
}

// It does not use path_, which belongs to the worker.
bool ImageProfile::Start() try {
  const ScopedThreadBelief belief;
  Status status = StartSession();
  if (status.ok()) return true;
  if (!MayHaveThreads()) {
    status = MakeStatus(StatusCode::kUnsupported,
                        "its children are to be in another PID namespace, and Linux refuses it "
                        "threads from then on: what it does itself is no longer profiled");
  }
  WriteError(error_path_, status);
  return false;
} catch (const std::bad_alloc&) {
  WriteNoMemory(error_path_.c_str());
  return false;
}

void ImageProfile::Save() {
  if (!IsOwner() || session_ == nullptr) return;
  const int saved_errno = errno;
  session_->CheckpointNow(kSaveTimeoutMs);
  errno = saved_errno;
}

bool ImageProfile::HasWorker() const {
  return IsOwner() && session_ != nullptr && session_->HasLiveWorker();
}

bool ImageProfile::HasOneThreadBesidesWorker() const { return HasWorker() && ThreadCount() == 2; }

bool ImageProfile::ProgramHasOneThread() const {
  return IsOwner() && ThreadCount() == (HasWorker() ? 2 : 1);
}

size_t ImageProfile::ThreadsOfProgram() const {
  const size_t threads = IsOwner() && session_ != nullptr ? ThreadCount() : 0;
  return threads > 0 ? threads - 1 : 0;
}

bool ImageProfile::Suspend() try {
  if (!HasOneThreadBesidesWorker()) return false;
  Save();
  if (!session_->Stop().ok()) return false;
  // A thread that was joined stays in the kernel for a little longer.
  constexpr int kMaxPolls = 1000;
  constexpr useconds_t kPollMicroseconds = 1000;
  for (int i = 0; i < kMaxPolls && ThreadCount() != 1; ++i) ::usleep(kPollMicroseconds);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void ImageProfile::Resume() { (void)Start(); }

bool ImageProfile::End(const char* note) {
  return IsOwner() && session_ != nullptr && session_->EndForGood(note, kSaveTimeoutMs);
}

bool ImageProfile::MayTraceBranches() const {
  return settings_.source == SourceKind::kSwbt || settings_.source == SourceKind::kEbsAndSwbt ||
         settings_.source == SourceKind::kAuto;
}

bool ImageProfile::IsOwner() const { return ::getpid() == owner_; }

// The worker unshares what threads share, so that the program cannot notice it: the program finds
// the descriptor numbers free that it expects to be free, may close or overwrite all of them, and a
// pipe that it closes is closed. And whatever the program does by chroot or setuid, the directory
// remains reachable.
void ImageProfile::OnWorkerStarted() {
  // The function by which it was blocked leaves SIGTRAP out (signals.cc). A signal to the process
  // must not come to this thread. But the C library changes the user of all threads by a signal to
  // each, and waits until all have handled it.
  constexpr int kSignalToChangeUser = 33;  // SIGSETXID
  constexpr uint64_t kBlockedSignals = ~(uint64_t{1} << (kSignalToChangeUser - 1));
  trace::RawSyscall(SYS_rt_sigprocmask, SIG_SETMASK, &kBlockedSignals, nullptr,
                    sizeof(kBlockedSignals));
  // What it takes of a semaphore of System V in a function that another library interposes, as that
  // of fakeroot does, is given back when it ends, and not when the process does.
  trace::RawSyscall(SYS_unshare, CLONE_SYSVSEM);
  const bool is_there =
      trace::RawSyscall(SYS_unshare, CLONE_FS) == 0 && ::chdir(directory_.c_str()) == 0;
  if (is_there) path_ = name_;
  const bool has_own_files = ::syscall(SYS_close_range, 0u, UINT_MAX, CLOSE_RANGE_UNSHARE) == 0;
  if (is_there && has_own_files) HoldLiveFifo();
}

// The descriptor is closed when the worker ends, which no end of a process comes before.
void ImageProfile::HoldLiveFifo() const {
  const int fifo = ::open(kLiveFifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  if (fifo >= 0) (void)!::write(fifo, &owner_, sizeof(owner_));
}

void ImageProfile::OnNoMemory() { WriteNoMemory(path_.c_str()); }

void ImageProfile::OnCheckpoint(ProfileData data, CheckpointKind kind) {
  if (has_forked_ && !is_fork_marked_) {
    is_fork_marked_ = true;
    const std::string mark = path_.substr(0, path_.size() - name_.size()) + kForkedMark;
    ::close(::open(mark.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  FollowUserOfProgram();
  for (ModuleRecord& module : data.modules) {
    if (!IsWhereItWas(module)) EmbedIfUnreachable(&module);
  }
  const bool is_last = kind == CheckpointKind::kLast;
  constexpr mode_t kOfOwnerOnly = 0600;
  const Status status = WriteBriefFile(path_ + (is_last ? kProfileSuffix : kPartialSuffix),
                                       SerializeProfile(data), kOfOwnerOnly);
  if (status.ok()) {
    ::unlink((path_ + (is_last ? kPartialSuffix : kProfileSuffix)).c_str());
  } else {
    WriteError(path_, status);
  }
}

}  // namespace hbbp::preload
