#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/sanitizer.h"
#include "trace/native/native_stub.h"

namespace hbbp::testing {
namespace {

using trace::DescribeNative;
using trace::MachineState;
using trace::NativeInstruction;
using trace::NativeRegion;

constexpr size_t kBytes = 1 << 20;

struct RegionDeleter {
  void operator()(NativeRegion* region) const { NativeRegion::Destroy(region); }
};
using RegionPointer = std::unique_ptr<NativeRegion, RegionDeleter>;

// Returns the code of imul rax, rcx, factor.
NativeInstruction DescribeProduct(int32_t factor, NativeRegion* region) {
  std::array<uint8_t, 7> code = {0x48, 0x69, 0xc1};
  std::memcpy(code.data() + 3, &factor, sizeof(factor));
  NativeInstruction native;
  if (!DescribeNative(code.data(), code.size(), 0, region, &native)) native.execute = nullptr;
  return native;
}

uint64_t Product(const NativeInstruction& native, uint64_t value) {
  auto state = std::make_unique<MachineState>();
  state->gpr[trace::kRcx] = value;
  native.execute(state.get());
  return state->gpr[trace::kRax];
}

struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  std::string protection;
};

std::vector<Mapping> MappingsOfStubs() {
  std::vector<Mapping> mappings;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:hbbp-stubs") == std::string::npos) continue;
    Mapping mapping;
    char protection[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &mapping.start, &mapping.end, protection) != 3) {
      continue;
    }
    mapping.protection = protection;
    mappings.push_back(mapping);
  }
  return mappings;
}

}  // namespace

TEST_CASE("what a program writes behind the end of its memory does not change a region") {
  const RegionPointer region(NativeRegion::Create(kBytes));
  if (region == nullptr) HBBP_SKIP("the host forbids executable memory");
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], "ab", 2) == 2);
  auto* const front = reinterpret_cast<uint8_t*>(region.get()) - 1;
  CHECK(::read(ends[0], front, 2) < 0);
  CHECK(errno == EFAULT);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a region is never writable and executable at one address") {
  {
    const RegionPointer region(NativeRegion::Create(kBytes));
    if (region == nullptr) HBBP_SKIP("the host forbids executable memory");
    const NativeInstruction native = DescribeProduct(3, region.get());
    REQUIRE(native.execute != nullptr);
    CHECK(Product(native, 5) == 15);
    const std::vector<Mapping> mappings = MappingsOfStubs();
    REQUIRE(mappings.size() == 2);
    for (const Mapping& mapping : mappings) {
      CHECK(mapping.end - mapping.start == kBytes);
      const bool is_executable = mapping.protection == "r-xs";
      CHECK((is_executable || mapping.protection == "rw-s"));
      CHECK(region->Contains(mapping.start) == is_executable);
      CHECK(region->Contains(mapping.end - 1) == is_executable);
    }
  }
  CHECK(MappingsOfStubs().empty());
}

TEST_CASE("sizes of regions that make no sense give none") {
  CHECK(NativeRegion::Create(0) == nullptr);
  CHECK(NativeRegion::Create(SIZE_MAX) == nullptr);
  NativeRegion::Destroy(nullptr);
}

TEST_CASE("threads fill one region") {
  const RegionPointer region(NativeRegion::Create(kBytes));
  if (region == nullptr) HBBP_SKIP("the host forbids executable memory");
  constexpr int kThreads = 4;
  constexpr int kFactors = 2000;
  std::vector<std::vector<void (*)(MachineState*)>> stubs(kThreads);
  std::atomic<int> wrong{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      while (!go.load()) {
      }
      for (int32_t factor = 1; factor <= kFactors; ++factor) {
        const NativeInstruction native = DescribeProduct(factor, region.get());
        stubs[thread].push_back(native.execute);
        if (native.execute == nullptr || Product(native, 7) != 7u * factor) ++wrong;
      }
    });
  }
  go.store(true);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong.load() == 0);
  for (int thread = 1; thread < kThreads; ++thread) CHECK(stubs[thread] == stubs[0]);
}

TEST_CASE("a child and its parent do not write over each other's stubs") {
  const RegionPointer region(NativeRegion::Create(kBytes));
  if (region == nullptr) HBBP_SKIP("the host forbids executable memory");
  constexpr int32_t kCount = 500;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  const int32_t first = child == 0 ? 1 : 100'000;
  bool good = true;
  for (int32_t factor = first; factor < first + kCount; ++factor) {
    const NativeInstruction native = DescribeProduct(factor, region.get());
    good = good && native.execute != nullptr && Product(native, 3) == 3u * factor;
  }
  if (child == 0) _exit(good ? 0 : 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(good);
  CHECK(status == 0);
  for (int32_t factor = first; factor < first + kCount; ++factor) {
    good = good && Product(DescribeProduct(factor, region.get()), 3) == 3u * factor;
  }
  CHECK(good);
}

TEST_CASE("where a limit forbids a region there is none") {
  struct Limit {
    int resource;
    rlim_t value;
  };
  for (const Limit limit :
       {Limit{RLIMIT_NOFILE, 0}, Limit{RLIMIT_FSIZE, 4096}, Limit{RLIMIT_AS, 4096}}) {
    // The thread sanitizer needs more address space than there is here.
    if (kHasThreadSanitizer && limit.resource == RLIMIT_AS) continue;
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const rlimit both = {limit.value, limit.value};
      if (setrlimit(limit.resource, &both) != 0) _exit(2);
      _exit(NativeRegion::Create(kBytes) == nullptr ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    INFO("resource " << limit.resource);
    CHECK(status == 0);
  }
}

}  // namespace hbbp::testing
