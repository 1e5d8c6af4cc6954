#include "preload/image_profile.h"

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <span>
#include <utility>

#include "backends/ebs.h"
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
  return PerfEventOpenStatus(errno, EventName(config.event));
}

bool MayBeMissing(EventKind event) {
  return event == EventKind::kInstructions || event == EventKind::kCycles;
}

}  // namespace

ImageProfile::ImageProfile(std::string path, SessionSettings settings, bool is_root)
    : path_(std::move(path)),
      is_root_(is_root),
      settings_([&] {
        settings.observer = this;
        return settings;
      }()),
      owner_(::getpid()),
      session_(std::make_unique<EbsBackend>(), SourceKind::kEbs, settings_) {}

void ImageProfile::Start() {
  Status status = CheckPermission(settings_.backend);
  if (!status.ok()) {
    OnAttachFailed(status);
  } else if (MayBeMissing(settings_.backend.event)) {
    status = session_.Start();
  } else {
    status = session_.StartInBackground();
  }
  if (!status.ok() && is_root_) ::_exit(kExitNotProfiled);
}

void ImageProfile::Save() {
  if (!IsOwner()) return;
  const int saved_errno = errno;
  session_.CheckpointNow(kSaveTimeoutMs);
  errno = saved_errno;
}

bool ImageProfile::IsOwner() const { return ::getpid() == owner_; }

void ImageProfile::OnCheckpoint(ProfileData data) {
  for (ModuleRecord& module : data.modules) EmbedIfUnreachable(&module);
  const Status status = SaveProfile(data, path_ + kProfileSuffix);
  if (!status.ok()) OnAttachFailed(status);
}

void ImageProfile::OnAttachFailed(const Status& status) {
  const std::string& message = status.message();
  (void)WriteFileAtomically(path_ + kErrorSuffix,
                            {reinterpret_cast<const uint8_t*>(message.data()), message.size()});
}

}  // namespace hbbp::preload
