// Tests RingBuffer with rings of real perf events: records that wrap, peeking, losses, sizes and
// moves. Most tests cause records by changing the name of the thread (Rename()); the last one
// samples the task clock. Observe() opens an event and maps its ring.
#include "perf/ring_buffer.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "perf/perf_event.h"
#include "perf/records.h"
#include "perf/sample_record.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint64_t kSampleType = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
constexpr RecordFormat kFormat = {.sample_type = kSampleType};
constexpr uint64_t kClockSampleType = kSampleType | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;

// An event that never counts. Its records are those that the test causes: each change of the
// thread's name leaves a COMM record.
perf_event_attr NamesAttr() {
  perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
  attr.sample_type = kSampleType;
  attr.sample_id_all = 1;
  attr.comm = 1;
  attr.exclude_kernel = 1;
  attr.watermark = 1;
  attr.wakeup_watermark = UINT32_MAX;
  return attr;
}

perf_event_attr ClockAttr() {
  perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  attr.sample_type = kClockSampleType;
  attr.sample_period = 100'000;
  attr.exclude_kernel = 1;
  attr.watermark = 1;
  attr.wakeup_watermark = UINT32_MAX;
  return attr;
}

size_t PageSize() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

// Lengths differ, so that records of several sizes meet the end of the ring.
std::string NameOf(int i) {
  return std::string(static_cast<size_t>(i % 3) * 5, 'n') + std::to_string(i % 1000);
}

void Rename(int i) { ::prctl(PR_SET_NAME, NameOf(i).c_str()); }

// Gives the thread its name back.
class KeepName {
 public:
  KeepName() { ::prctl(PR_GET_NAME, name_); }
  ~KeepName() { ::prctl(PR_SET_NAME, name_); }

 private:
  char name_[16] = {};
};

struct Observed {
  UniqueFd fd;
  RingBuffer ring;
};

StatusOr<Observed> Observe(const perf_event_attr& attr, size_t bytes) {
  HBBP_ASSIGN_OR_RETURN(UniqueFd fd, OpenPerfEvent(attr, 0, -1, "test"));
  HBBP_ASSIGN_OR_RETURN(RingBuffer ring, RingBuffer::Map(fd.get(), bytes));
  return Observed{std::move(fd), std::move(ring)};
}

std::vector<std::string> ConsumeNames(RingBuffer* ring) {
  std::vector<std::string> names;
  ring->Consume([&](std::span<const uint8_t> record) {
    if (auto comm = ParseComm(record, kFormat)) names.push_back(comm->name);
  });
  return names;
}

#define HBBP_OBSERVE_OR_SKIP(name, attr, bytes)                        \
  StatusOr<Observed> name = Observe(attr, bytes);                      \
  if (!name.ok() && name.status().code() == StatusCode::kPermission) { \
    HBBP_SKIP(name.status().message());                                \
  }                                                                    \
  REQUIRE(name.ok())

TEST_CASE("records arrive whole and in order however often the ring of one page wraps") {
  const KeepName keep_name;
  HBBP_OBSERVE_OR_SKIP(observed, NamesAttr(), 1);
  RingBuffer& ring = observed->ring;
  REQUIRE(ring.data_bytes() == PageSize());
  int sent = 0;
  int received = 0;
  // A COMM record has 40 or 48 bytes: 500 rounds of 17 fill the page some 80 times.
  for (int round = 0; round < 500; ++round) {
    for (int i = 0; i < 17; ++i) Rename(sent++);
    for (const std::string& name : ConsumeNames(&ring)) {
      if (name != NameOf(received)) {
        CAPTURE(received);
        REQUIRE(name == NameOf(received));
      }
      ++received;
    }
  }
  CHECK(received == sent);
}

TEST_CASE("a peek leaves everything for the next one and for the consumer") {
  const KeepName keep_name;
  HBBP_OBSERVE_OR_SKIP(observed, NamesAttr(), 1);
  RingBuffer& ring = observed->ring;
  for (int i = 0; i < 3; ++i) Rename(i);
  for (int time = 0; time < 2; ++time) {
    int peeked = 0;
    ring.Peek([&](std::span<const uint8_t> record) {
      if (auto comm = ParseComm(record, kFormat)) CHECK(comm->name == NameOf(peeked++));
    });
    CHECK(peeked == 3);
  }
  CHECK(ConsumeNames(&ring).size() == 3);
  CHECK(ConsumeNames(&ring).empty());
  Rename(7);
  CHECK(ConsumeNames(&ring) == std::vector<std::string>{NameOf(7)});
}

TEST_CASE("a full ring counts what it had no room for, and goes on after it was emptied") {
  const KeepName keep_name;
  HBBP_OBSERVE_OR_SKIP(observed, NamesAttr(), 1);
  RingBuffer& ring = observed->ring;
  constexpr int kSent = 500;
  for (int i = 0; i < kSent; ++i) Rename(i);
  const size_t kept = ConsumeNames(&ring).size();
  CHECK(kept > 50);
  CHECK(kept < kSent);
  // The kernel says of the loss with the next record that fits.
  Rename(1);
  uint64_t lost = 0;
  size_t names = 0;
  ring.Consume([&](std::span<const uint8_t> record) {
    if (const auto some = ParseLost(record, kFormat)) lost += some->count;
    names += ParseComm(record, kFormat).has_value();
  });
  CHECK(lost + kept == kSent);
  CHECK(names == 1);
}

TEST_CASE("sizes are rounded up to a power of two of pages") {
  for (size_t pages : {size_t{1}, size_t{2}, size_t{4}, size_t{8}}) {
    HBBP_OBSERVE_OR_SKIP(exact, NamesAttr(), pages * PageSize());
    CHECK(exact->ring.data_bytes() == pages * PageSize());
    HBBP_OBSERVE_OR_SKIP(more, NamesAttr(), pages * PageSize() + 1);
    CHECK(more->ring.data_bytes() == 2 * pages * PageSize());
  }
  HBBP_OBSERVE_OR_SKIP(zero, NamesAttr(), 0);
  CHECK(zero->ring.data_bytes() == PageSize());
}

TEST_CASE("mapping something that is not a perf event fails") {
  CHECK_FALSE(RingBuffer::Map(-1, 4096).ok());
  int pipe_fds[2];
  REQUIRE(::pipe(pipe_fds) == 0);
  CHECK_FALSE(RingBuffer::Map(pipe_fds[0], 4096).ok());
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
}

TEST_CASE("a moved ring goes on where it was") {
  const KeepName keep_name;
  HBBP_OBSERVE_OR_SKIP(observed, NamesAttr(), 1);
  HBBP_OBSERVE_OR_SKIP(other, NamesAttr(), PageSize() * 2);
  Rename(1);
  RingBuffer moved = std::move(observed->ring);
  Rename(2);
  CHECK(ConsumeNames(&moved) == std::vector<std::string>{NameOf(1), NameOf(2)});
  moved = std::move(other->ring);
  CHECK(moved.data_bytes() == PageSize() * 2);
  CHECK(ConsumeNames(&moved) == std::vector<std::string>{NameOf(1), NameOf(2)});
}

TEST_CASE("samples of the task clock come with ids, rising times and the period") {
  HBBP_OBSERVE_OR_SKIP(observed, ClockAttr(), PageSize());
  RingBuffer& ring = observed->ring;
  uint64_t samples = 0;
  uint64_t last_time = 0;
  uint64_t period_sum = 0;
  volatile uint64_t work = 0;
  while (samples < 200) {
    for (int i = 0; i < 100'000; ++i) work = work + 1;
    ring.Consume([&](std::span<const uint8_t> record) {
      const auto sample = ParseSampleHead(record, kClockSampleType);
      if (!sample) return;
      ++samples;
      CHECK(sample->pid == static_cast<uint32_t>(::getpid()));
      CHECK(sample->tid == static_cast<uint32_t>(::gettid()));
      CHECK(sample->time >= last_time);
      last_time = sample->time;
      period_sum += sample->period;
    });
  }
  CHECK(period_sum >= samples * 100'000);
}

}  // namespace
}  // namespace hbbp
