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
#include "perf/perf_event.h"
#include "preload/options.h"
#include "profile/module_capture.h"
#include "profile/profile_file.h"

namespace hbbp::preload {
namespace {

constexpr int kExitNotProfiled = 2;

// A program that ends must not hang because its profile cannot be written.
constexpr int kSaveTimeoutMs = 5000;

// Opening the first event of a machine takes some milliseconds, a refusal none: an event in a
// group that does not exist gets as far as EBADF if the caller may use perf_event_open at all.
Status CheckPermission(const BackendConfig& config) {
  perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  attr.exclude_kernel = config.include_kernel ? 0 : 1;
  attr.exclude_hv = 1;
  if (MayOpenPerfEvent(attr)) return OkStatus();
  return PerfEventOpenStatus(errno, EventName(EventKind::kTaskClock));
}

void WriteError(const std::string& path, const Status& status) {
  const std::string& message = status.message();
  (void)WriteFileAtomically(path + kErrorSuffix,
                            {reinterpret_cast<const uint8_t*>(message.data()), message.size()});
}

// Hardware that was asked for by name.
bool MayBeMissing(SourceKind source, EventKind event) {
  const bool is_hardware = source == SourceKind::kLbr || source == SourceKind::kIbs;
  return is_hardware || event == EventKind::kInstructions || event == EventKind::kCycles;
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
  // Software branch tracing knows ways without perf events.
  const SourceKind source = settings_.source;
  if (source == SourceKind::kEbs || source == SourceKind::kLbr ||
      source == SourceKind::kEbsAndSwbt) {
    HBBP_RETURN_IF_ERROR(CheckPermission(settings_.session.backend));
  }
  if (MayBeMissing(settings_.source, settings_.session.backend.event)) return session_->Start();
  HBBP_RETURN_IF_ERROR(session_->StartInBackground());
  // A program may drop its privileges, or change its root folder, as the first thing it does.
  worker_is_in_folder_.wait(false);
  return OkStatus();
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
  worker_is_in_folder_ = true;
  worker_is_in_folder_.notify_one();
}

void ImageProfile::OnCheckpoint(ProfileData data) {
  for (ModuleRecord& module : data.modules) EmbedIfUnreachable(&module);
  const Status status = SaveProfile(data, path_ + kProfileSuffix);
  if (!status.ok()) OnAttachFailed(status);
}

void ImageProfile::OnAttachFailed(const Status& status) { WriteError(path_, status); }

}  // namespace hbbp::preload
