#include "perf/perf_event.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("why an event could not be opened is reported with a code and with what to do") {
  const std::pair<int, StatusCode> cases[] = {
      {EACCES, StatusCode::kPermission},
      {EPERM, StatusCode::kPermission},
      {ENOENT, StatusCode::kUnsupported},
      {ENODEV, StatusCode::kUnsupported},
      {EOPNOTSUPP, StatusCode::kUnsupported},
      {ENXIO, StatusCode::kUnsupported},
      {ENOSYS, StatusCode::kUnsupported},
      {EINVAL, StatusCode::kUnsupported},
      {EMFILE, StatusCode::kBusy},
      {ENFILE, StatusCode::kBusy},
      {EBUSY, StatusCode::kBusy},
      {ENOMEM, StatusCode::kNoMemory},
  };
  for (const auto& [error_number, code] : cases) {
    CAPTURE(error_number);
    const Status status = PerfEventOpenStatus(error_number, "cycles");
    CHECK(status.code() == code);
    CHECK(status.message().starts_with("perf_event_open(cycles): "));
    CHECK(status.message().size() > sizeof("perf_event_open(cycles): "));
  }
}

TEST_CASE("a number that the program uses for another file is not that of an event") {
  const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(IsPerfEvent(file.get()));
  CHECK_FALSE(IsPerfEvent(-1));
  const perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  const UniqueFd event(RawPerfEventOpen(attr, 0, -1));
  if (!event.valid()) HBBP_SKIP("perf events are refused here");
  CHECK(IsPerfEvent(event.get()));
}

TEST_CASE("an event can be reported from other descriptors") {
  const perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
  StatusOr<UniqueFd> fd = OpenPerfEvent(attr, 0, -1, "dummy");
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  CHECK_FALSE(IsPerfEvent(file));
  ::close(file);
  CHECK_FALSE(IsPerfEvent(file));
  CHECK_FALSE(IsPerfEvent(-1));
  if (!fd.ok()) HBBP_SKIP(fd.status().message());
  CHECK(IsPerfEvent(fd->get()));
  CHECK((::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC) != 0);
}

}  // namespace
}  // namespace hbbp
