#include "preload/image_profile.h"

#include <linux/close_range.h>
#include <sched.h>
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

constexpr int kExitNotProfiled = 2;

// A program that ends must not hang because its profile cannot be written.
constexpr int kSaveTimeoutMs = 5000;

void WriteError(const std::string& path, const Status& status) {
  const std::string& message = status.message();
  (void)WriteFileAtomically(path + kErrorSuffix,
                            {reinterpret_cast<const uint8_t*>(message.data()), message.size()});
}

}  // namespace

ImageProfile::ImageProfile(std::string folder, std::string name, const ImageSettings& settings,
                           bool is_root)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      path_(folder_ + "/" + name_),
      is_root_(is_root),
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

void ImageProfile::Start() {
  const Status status = StartSession();
  if (status.ok()) return;
  // Not path_, which belongs to the worker.
  WriteError(folder_ + "/" + name_, status);
  if (is_root_) ::_exit(kExitNotProfiled);
}

void ImageProfile::Save() {
  if (!IsOwner() || session_ == nullptr) return;
  const int saved_errno = errno;
  session_->CheckpointNow(kSaveTimeoutMs);
  errno = saved_errno;
}

bool ImageProfile::IsOwner() const { return ::getpid() == owner_; }

// The worker leaves what threads share, so that the program cannot tell that there is one: it finds
// the descriptor numbers that it expects to be free, may close or overwrite all of them, and a
// pipe that it closes is closed. And whatever it does by chroot or setuid, the folder stays in
// reach.
void ImageProfile::OnWorkerStarted() {
  if (::unshare(CLONE_FS) == 0 && ::chdir(folder_.c_str()) == 0) path_ = name_;
  (void)::syscall(SYS_close_range, 0u, UINT_MAX, CLOSE_RANGE_UNSHARE);
}

void ImageProfile::OnCheckpoint(ProfileData data) {
  for (ModuleRecord& module : data.modules) EmbedIfUnreachable(&module);
  const Status status = SaveProfile(data, path_ + kProfileSuffix);
  if (!status.ok()) WriteError(path_, status);
}

}  // namespace hbbp::preload
