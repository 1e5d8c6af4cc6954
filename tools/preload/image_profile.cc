#include "preload/image_profile.h"

#include <linux/close_range.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <memory>
#include <span>
#include <utility>

#include "backends/backend.h"
#include "base/files.h"
#include "preload/options.h"
#include "profile/module_capture.h"
#include "profile/profile_file.h"

namespace hbbp::preload {
namespace {

// A program that ends must not hang because its profile cannot be written.
constexpr int kSaveTimeoutMs = 5000;

void WriteError(const std::string& path, const Status& status) {
  const std::string& message = status.message();
  (void)WriteFileAtomically(path + kErrorSuffix,
                            {reinterpret_cast<const uint8_t*>(message.data()), message.size()});
}

// 0: not known.
size_t ThreadCount() {
  constexpr size_t kOtherLinks = 2;
  struct stat threads;
  if (::stat("/proc/self/task", &threads) != 0 || threads.st_nlink < kOtherLinks) return 0;
  return threads.st_nlink - kOtherLinks;
}

}  // namespace

ImageProfile::ImageProfile(std::string folder, std::string name, const ImageSettings& settings)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      path_(folder_ + "/" + name_),
      settings_([&] {
        ImageSettings observed = settings;
        observed.session.observer = this;
        return observed;
      }()),
      owner_(::getpid()) {
  if (std::unique_ptr<Backend> backend = MakeBackend(settings_.source)) {
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

bool ImageProfile::Start() {
  const Status status = StartSession();
  // Not path_, which belongs to the worker.
  if (!status.ok()) WriteError(folder_ + "/" + name_, status);
  return status.ok();
}

void ImageProfile::Save() {
  if (!IsOwner() || session_ == nullptr) return;
  const int saved_errno = errno;
  session_->CheckpointNow(kSaveTimeoutMs);
  errno = saved_errno;
}

bool ImageProfile::HasOneThreadBesidesWorker() const {
  return IsOwner() && session_ != nullptr && ThreadCount() == 2;
}

size_t ImageProfile::ThreadsOfProgram() const {
  const size_t threads = IsOwner() && session_ != nullptr ? ThreadCount() : 0;
  return threads > 0 ? threads - 1 : 0;
}

bool ImageProfile::Suspend() {
  if (!HasOneThreadBesidesWorker()) return false;
  Save();
  if (!session_->Stop().ok()) return false;
  // A thread that was joined is in the kernel for a little longer.
  constexpr int kMaxPolls = 1000;
  constexpr useconds_t kPollMicroseconds = 1000;
  for (int i = 0; i < kMaxPolls && ThreadCount() != 1; ++i) ::usleep(kPollMicroseconds);
  return true;
}

void ImageProfile::Resume() { (void)Start(); }

void ImageProfile::End(const char* note) {
  if (IsOwner() && session_ != nullptr) session_->EndForGood(note, kSaveTimeoutMs);
}

bool ImageProfile::MayTraceBranches() const {
  return settings_.source == SourceKind::kSwbt || settings_.source == SourceKind::kEbsAndSwbt ||
         settings_.source == SourceKind::kAuto;
}

bool ImageProfile::IsOwner() const { return ::getpid() == owner_; }

// The worker leaves what threads share, so that the program cannot tell that there is one: it finds
// the descriptor numbers that it expects to be free, may close or overwrite all of them, and a
// pipe that it closes is closed. And whatever it does by chroot or setuid, the folder stays in
// reach.
void ImageProfile::OnWorkerStarted() {
  const bool is_there = ::syscall(SYS_unshare, CLONE_FS) == 0 && ::chdir(folder_.c_str()) == 0;
  path_ = is_there ? name_ : folder_ + "/" + name_;
  (void)::syscall(SYS_close_range, 0u, UINT_MAX, CLOSE_RANGE_UNSHARE);
}

void ImageProfile::OnCheckpoint(ProfileData data, CheckpointKind kind) {
  for (ModuleRecord& module : data.modules) EmbedIfUnreachable(&module);
  const bool is_last = kind == CheckpointKind::kLast;
  const Status status = SaveProfile(data, path_ + (is_last ? kProfileSuffix : kPartialSuffix));
  if (status.ok()) {
    ::unlink((path_ + (is_last ? kPartialSuffix : kProfileSuffix)).c_str());
  } else {
    WriteError(path_, status);
  }
}

}  // namespace hbbp::preload
