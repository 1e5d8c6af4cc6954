#include "backends/mapping_watch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "support/catch.h"

namespace hbbp {
namespace {

struct Mappings : EventSink {
  void OnMapping(MappingEvent mapping) override { found.push_back(std::move(mapping)); }

  const MappingEvent* At(const void* address) const {
    for (const MappingEvent& mapping : found) {
      if (mapping.start.value == reinterpret_cast<uint64_t>(address)) return &mapping;
    }
    return nullptr;
  }

  std::vector<MappingEvent> found;
};

constexpr size_t kBytes = 4096;

void* MapCode(const std::string& path, off_t offset, void* address = nullptr) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file.valid());
  const int fixed = address != nullptr ? MAP_FIXED : 0;
  void* const code =
      ::mmap(address, kBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | fixed, file.get(), offset);
  REQUIRE(code != MAP_FAILED);
  return code;
}

TEST_CASE("what was mapped since the last comparison is dated back to it") {
  MappingWatch watch(0);
  Mappings mappings;
  watch.Compare(&mappings);
  CHECK(mappings.found.empty());
  const uint64_t compared_ns = ClockNs(CLOCK_MONOTONIC);
  void* const code = MapCode("/proc/self/exe", 0);
  watch.Compare(&mappings);
  const MappingEvent* const found = mappings.At(code);
  REQUIRE(found != nullptr);
  // A burst that began right after it was mapped was not in front of it.
  CHECK(found->time_ns <= compared_ns);
  CHECK(watch.Covers(reinterpret_cast<uint64_t>(code)));
  CHECK(::munmap(code, kBytes) == 0);
}

TEST_CASE("what replaced other code is found, and dated when it is found") {
  MappingWatch watch(0);
  Mappings mappings;
  void* const code = MapCode("/proc/self/exe", 0);
  watch.Compare(&mappings);
  const uint64_t compared_ns = ClockNs(CLOCK_MONOTONIC);
  MapCode("/proc/self/exe", kBytes, code);
  watch.Compare(&mappings);
  const MappingEvent* const found = mappings.At(code);
  REQUIRE(found != nullptr);
  CHECK(found->offset.value == kBytes);
  CHECK(found->time_ns >= compared_ns);
  mappings.found.clear();
  watch.Compare(&mappings);
  CHECK(mappings.At(code) == nullptr);
  CHECK(::munmap(code, kBytes) == 0);
}

}  // namespace
}  // namespace hbbp
