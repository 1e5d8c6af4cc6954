// Tests Recorder, which counts the events of one process: samples that wait for mappings, modules
// and files that change, thread names, lost samples, and code that is copied because it is
// generated or its file disappears. Most events are synthetic (SampleAt(), MakeMapping()); the
// tests of files, names and generated code use real libraries, threads and memory.
#include "collect/recorder.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.h"
#include "support/event_builders.h"
#include "support/jit_memory.h"
#include "support/loaded_library.h"
#include "support/temporary_folder.h"
#include "support/tiny_library.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

constexpr uint32_t kPid = 500;
constexpr uint32_t kTid = 501;

SourceRecord Source(uint64_t period) {
  SourceRecord source;
  source.kind = SourceKind::kEbs;
  source.event = EventKind::kTaskClock;
  source.period = period;
  return source;
}

IpSample SampleAt(uint64_t ip, uint64_t time, uint32_t tid = kTid, uint64_t period = 100) {
  IpSample sample;
  sample.ip = {ip};
  sample.pid = kPid;
  sample.tid = tid;
  sample.time_ns = time;
  sample.period = period;
  return sample;
}

MappingEvent MakeMapping(const std::string& path, uint64_t start, uint64_t end, uint64_t time,
                         uint64_t offset = 0) {
  MappingEvent event;
  event.start = {start};
  event.end = {end};
  event.offset = {offset};
  event.inode = 7;
  event.path = path;
  event.time_ns = time;
  return event;
}

TEST_CASE("samples are counted by address in the file, with sums and sums of squares") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10, 0x3000));
  recorder.OnSample(SampleAt(0x10020, 20, kTid, 3));
  recorder.OnSample(SampleAt(0x10020, 21, kTid, 4));
  recorder.OnSample(SampleAt(0x10010, 22));
  recorder.OnSample(SampleAt(0x10020, 23, kTid + 1));
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  IpCount twice = MakeCount(0, 0, 0, 0x3020, 2, 0);
  twice.period_sum = 7;
  twice.period_squares = 25;
  CHECK(Describe(data.counts) == Describe(std::vector{MakeCount(0, 0, 0, 0x3010, 1, 100), twice,
                                                      MakeCount(0, 0, 1, 0x3020, 1, 100)}));
  REQUIRE(data.modules.size() == 1);
  CHECK(data.modules[0].kind == ModuleKind::kFile);
  CHECK(data.modules[0].path == "/no/lib.so");
  REQUIRE(data.threads.size() == 2);
  CHECK(data.threads[0].pid == kPid);
  CHECK(data.threads[0].tid == kTid);
}

TEST_CASE("functions that the kernel generates during the run are kept") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  constexpr uint64_t kProgram = 0xffffffffc0100000;
  const NamedRange function = {{{kProgram}, {kProgram + 64}}, "bpf_prog_1"};
  recorder.OnKernelFunction(function);
  recorder.OnSample(SampleAt(kProgram + 16, 20));
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.counts.size() == 1);
  CHECK(data.counts[0].offset == kProgram + 16);
  const ModuleRecord& module = data.modules[data.counts[0].module];
  CHECK(module.kind == ModuleKind::kKernel);
  CHECK(module.kernel.functions == std::vector{function});
}

TEST_CASE("samples where nothing was mapped yet are counted as unmapped") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10));
  recorder.OnSample(SampleAt(0x10020, 9));
  recorder.OnSample(SampleAt(0x20000, 20));
  recorder.OnSample(SampleAt(0x10020, 10));
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  CHECK(data.sources[0].unmapped == 2);
  REQUIRE(data.counts.size() == 1);
  CHECK(data.counts[0].samples == 1);
  CHECK(recorder.samples() == 3);
}

TEST_CASE("samples wait for mappings before them that are reported later") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnSample(SampleAt(0x10020, 20));
  recorder.OnSample(SampleAt(0x10020, 40));
  recorder.Commit(19);
  CHECK(recorder.Snapshot().counts.empty());
  CHECK(recorder.samples() == 2);
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10));
  recorder.Commit(20);
  REQUIRE(recorder.Snapshot().counts.size() == 1);
  CHECK(recorder.Snapshot().counts[0].samples == 1);
  recorder.Commit(UINT64_MAX);
  CHECK(recorder.Snapshot().counts[0].samples == 2);
  CHECK(recorder.Snapshot().sources[0].unmapped == 0);
  recorder.Commit(UINT64_MAX);
  CHECK(recorder.Snapshot().counts[0].samples == 2);
  CHECK(recorder.samples() == 2);
}

TEST_CASE("two libraries one after the other at the same address are distinguished by time") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("/no/first.so", 0x10000, 0x20000, 10));
  recorder.OnMapping(MakeMapping("/no/second.so", 0x10000, 0x20000, 30, 0x5000));
  for (uint64_t time : {40, 20, 15}) recorder.OnSample(SampleAt(0x10020, time));
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.modules.size() == 2);
  CHECK(data.modules[0].path == "/no/first.so");
  CHECK(Describe(data.counts) == Describe(std::vector{MakeCount(0, 0, 0, 0x20, 2, 100),
                                                      MakeCount(1, 0, 0, 0x5020, 1, 100)}));
}

TEST_CASE("a path that leads to another file later is another module") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10));
  MappingEvent replaced = MakeMapping("/no/lib.so", 0x30000, 0x40000, 10);
  replaced.inode = 8;
  recorder.OnMapping(replaced);
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x50000, 0x60000, 10));
  for (uint64_t ip : {0x10000, 0x30000, 0x50000}) recorder.OnSample(SampleAt(ip, 20));
  recorder.Commit(100);
  CHECK(recorder.Snapshot().modules.size() == 2);
  CHECK(recorder.Snapshot().counts.size() == 2);
}

TEST_CASE("the kernel's suffix of a deleted file is not part of its name") {
  Recorder recorder;
  recorder.OnMapping(MakeMapping("/no/lib.so (deleted)", 0x10000, 0x20000, 10));
  CHECK(recorder.Snapshot().modules[0].path == "/no/lib.so");
}

TEST_CASE("samples of ignored threads are dropped, also if they came before IgnoreThread") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10));
  recorder.OnSample(SampleAt(0x10020, 20));
  recorder.OnSample(SampleAt(0x10020, 20, 99));
  recorder.IgnoreThread(99);
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.threads.size() == 1);
  CHECK(data.threads[0].tid == kTid);
  CHECK(data.counts[0].samples == 1);
  CHECK(recorder.samples() == 1);
}

TEST_CASE("kernel samples keep their address and need no mapping") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  IpSample sample = SampleAt(0xffffffff81000010, 5);
  recorder.OnSample(sample);
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.modules.size() == 1);
  CHECK(data.modules[0].kind == ModuleKind::kKernel);
  CHECK(data.modules[0].path == "[kernel]");
  // It must not be taken for the kernel of another boot or machine.
  CHECK(data.modules[0].kernel == DescribeRunningKernel());
  CHECK(data.modules[0].build_id == RunningKernelBuildId());
  REQUIRE(data.counts.size() == 1);
  CHECK(data.counts[0].offset == 0xffffffff81000010);
}

TEST_CASE("sources of two owners, or of one run, are not the same") {
  Recorder recorder;
  CHECK(recorder.AddSource(Source(100)) == 0);
  CHECK(recorder.AddSource(Source(100)) == 1);
  CHECK(recorder.AddSource(Source(100), 1) == 2);
  recorder.BeginRun(1);
  CHECK(recorder.AddSource(Source(100), 1) == 2);
  CHECK(recorder.AddSource(Source(100), 1) == 3);
}

TEST_CASE("lost and throttled samples belong to the source that runs") {
  Recorder recorder;
  CHECK(recorder.AddSource(Source(100)) == 0);
  recorder.OnLost(0, 5);
  recorder.OnThrottled(0);
  CHECK(recorder.AddSources({Source(200)}) == std::vector<uint32_t>{1});
  recorder.OnLost(1, 7);
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 0));
  recorder.OnSample(OfSource(1, SampleAt(0x10000, 1)));
  recorder.Commit(1);
  CHECK(recorder.AddSources({Source(100)}) == std::vector<uint32_t>{0});
  recorder.OnLost(0, 1);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.sources.size() == 2);
  CHECK(data.sources[0].lost == 6);
  CHECK(data.sources[0].throttled == 1);
  CHECK(data.sources[1].lost == 7);
  CHECK(data.sources[1].throttled == 0);
  CHECK(data.counts[0].source == 1);
}

TEST_CASE("threads have the name that was reported last") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 0));
  recorder.OnThreadName(kPid, kTid, "before");
  recorder.OnSample(SampleAt(0x10000, 1));
  recorder.OnSample(SampleAt(0x10000, 1, kTid + 1));
  recorder.Commit(1);
  recorder.OnThreadName(kPid, kTid + 1, "after");
  const ProfileData data = recorder.Snapshot();
  CHECK(data.threads[0].name == "before");
  CHECK(data.threads[1].name == "after");
}

TEST_CASE("a thread without a reported name has the name that it has now") {
  char name[16] = {};
  REQUIRE(::pthread_getname_np(::pthread_self(), name, sizeof(name)) == 0);
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 0));
  recorder.OnSample(SampleAt(0x10000, 1, static_cast<uint32_t>(::gettid())));
  recorder.Commit(1);
  CHECK(recorder.Snapshot().threads[0].name == name);
}

TEST_CASE("the own program is found in the current mappings and pinned") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  REQUIRE(recorder.locator().AddCurrentMappings(10).ok());
  const auto ip = reinterpret_cast<uint64_t>(&SampleAt);
  recorder.OnSample(SampleAt(ip, 20));
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.counts.size() == 1);
  const ModuleRecord& module = data.modules[data.counts[0].module];
  CHECK(module.path == std::filesystem::read_symlink("/proc/self/exe"));
  CHECK(module.pinned_file != nullptr);
  const std::vector<uint8_t> program = BytesOfFile("/proc/self/exe");
  REQUIRE(data.counts[0].offset + 32 < program.size());
  CHECK(std::memcmp(program.data() + data.counts[0].offset, reinterpret_cast<const void*>(ip),
                    32) == 0);
}

TEST_CASE("what was mapped before exec, and not counted in, is not in a profile") {
  const auto ip = reinterpret_cast<uint64_t>(&SampleAt);
  const bool is_counted_before = GENERATE(false, true);
  Recorder recorder(::getpid());
  recorder.AddSource(Source(100));
  REQUIRE(recorder.locator().AddCurrentMappings(10).ok());
  if (is_counted_before) {
    recorder.OnSample(SampleAt(ip, 20));
    recorder.Commit(25);
  }
  recorder.OnMapping(MakeMapping("/another/program", 0x10000, 0x20000, 40));
  recorder.OnExec(static_cast<uint32_t>(::getpid()));
  recorder.OnSample(SampleAt(0x10100, 50));
  recorder.OnSample(SampleAt(ip, 60));
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  if (is_counted_before) {
    CHECK(data.modules.size() > 1);
  } else {
    REQUIRE(data.modules.size() == 1);
    CHECK(data.modules[0].path == "/another/program");
    CHECK(data.sources[0].unmapped == 1);
  }
}

TEST_CASE("what waits when the process becomes another program is counted where it was") {
  const auto ip = reinterpret_cast<uint64_t>(&SampleAt);
  const bool is_burst = GENERATE(false, true);
  Recorder recorder(::getpid());
  recorder.AddSource(Source(100));
  REQUIRE(recorder.locator().AddCurrentMappings(10).ok());
  const std::vector<TakenBranch> branches = {{ip + 4, ip}, {ip + 2, ip}};
  if (is_burst) {
    BurstSample burst;
    burst.pid = kPid;
    burst.tid = kTid;
    burst.time_ns = 20;
    burst.period = 100;
    burst.extent = 1;
    burst.branches = branches;
    recorder.OnBurst(burst);
  } else {
    recorder.OnSample(SampleAt(ip, 20));
  }
  recorder.OnExec(static_cast<uint32_t>(::getpid()));
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  CHECK(data.sources[0].unmapped == 0);
  CHECK(data.branches.size() == (is_burst ? 2 : 0));
  for (const BranchCount& branch : data.branches) CHECK(branch.to_module != kNoModule);
}

TEST_CASE("the vdso is stored with its first sample") {
  const uint64_t vdso = ::getauxval(AT_SYSINFO_EHDR);
  if (vdso == 0) HBBP_SKIP("this kernel gives no vdso");
  Recorder recorder;
  recorder.AddSource(Source(100));
  REQUIRE(recorder.locator().AddCurrentMappings(10).ok());
  recorder.OnSample(SampleAt(vdso + 0x500, 20));
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.counts.size() == 1);
  const ModuleRecord& module = data.modules[data.counts[0].module];
  CHECK(module.kind == ModuleKind::kVdso);
  CHECK(data.counts[0].offset == 0x500);
  REQUIRE(module.chunks.size() == 1);
  CHECK(module.chunks[0].offset == 0);
  CHECK(std::memcmp(module.chunks[0].bytes.data(), reinterpret_cast<const void*>(vdso), 4096) == 0);
}

TEST_CASE("generated code is stored around its samples, once") {
  constexpr size_t kPage = 4096;
  constexpr size_t kPages = 8;
  auto* const code = static_cast<uint8_t*>(
      ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(code != MAP_FAILED);
  std::memset(code, 0x90, kPages * kPage);
  const auto start = reinterpret_cast<uint64_t>(code);
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("//anon", start, start + kPages * kPage, 10));
  recorder.OnSample(SampleAt(start + 3 * kPage + 5, 20));
  recorder.OnSample(SampleAt(start + 3 * kPage + 6, 20));
  recorder.Commit(100);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.counts.size() == 2);
  const ModuleRecord& module = data.modules[data.counts[0].module];
  CHECK(module.kind == ModuleKind::kAnonymous);
  CHECK(data.counts[0].offset == start + 3 * kPage + 5);
  REQUIRE(module.chunks.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(module.chunks[i].offset == start + (2 + i) * kPage);
    CHECK(module.chunks[i].bytes == std::vector<uint8_t>(kPage, 0x90));
  }
  ::munmap(code, kPages * kPage);
}

TEST_CASE("a library keeps its code after it was unloaded and deleted") {
  const TemporaryFolder directory;
  const std::string path = directory.File("lib.so");
  if (!BuildTinyLibrary(path)) HBBP_SKIP("there is no compiler");
  LoadedLibrary library(path);
  REQUIRE(library.ok());
  const uint64_t work = library.AddressOf("tiny_work");
  Recorder recorder;
  recorder.AddSource(Source(100));
  REQUIRE(recorder.locator().AddCurrentMappings(10).ok());
  recorder.OnSample(SampleAt(work, 20));
  recorder.Commit(100);
  library.Close();
  std::filesystem::remove(path);
  ProfileData data = recorder.Snapshot();
  REQUIRE(data.counts.size() == 1);
  CHECK(data.counts[0].offset ==
        TinyWorkOffset("/proc/self/fd/" +
                       std::to_string(data.modules[data.counts[0].module].pinned_file->get())));
}

TEST_CASE("a cleared recorder knows nothing") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 0));
  recorder.IgnoreThread(kTid);
  recorder.OnSample(SampleAt(0x10000, 1));
  recorder.Clear();
  CHECK(Describe(recorder.Snapshot()) == Describe(ProfileData()));
  CHECK(recorder.samples() == 0);
  recorder.AddSource(Source(100));
  recorder.OnSample(SampleAt(0x10000, 1));
  recorder.Commit(1);
  CHECK(recorder.Snapshot().sources[0].unmapped == 1);
}

TEST_CASE("a snapshot does not change any more") {
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 0));
  recorder.OnSample(SampleAt(0x10000, 1));
  recorder.Commit(1);
  const ProfileData snapshot = recorder.Snapshot();
  const std::string before = Describe(snapshot);
  recorder.OnSample(SampleAt(0x10000, 1));
  recorder.Commit(1);
  CHECK(Describe(snapshot) == before);
  CHECK(recorder.Snapshot().counts[0].samples == 2);
}

TEST_CASE("a thread that ends before its first sample is counted keeps its name") {
  std::atomic<pid_t> tid{0};
  std::atomic<bool> may_end{false};
  std::thread thread([&] {
    ::prctl(PR_SET_NAME, "short-lived");
    tid = ::gettid();
    while (!may_end) std::this_thread::yield();
  });
  while (tid == 0) std::this_thread::yield();
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("/no/lib.so", 0x10000, 0x20000, 10));
  const auto id = static_cast<uint32_t>(tid.load());
  recorder.RecordThread(id);
  may_end = true;
  thread.join();
  recorder.OnSample(SampleAt(0x10000, 20, id));
  recorder.Commit(30);
  CHECK(recorder.Snapshot().threads.at(0).name == "short-lived");
  recorder.OnThreadName(kPid, id, "renamed");
  recorder.RecordThread(id);
  CHECK(recorder.Snapshot().threads.at(0).name == "renamed");
}

TEST_CASE("code that replaces sampled code has samples of its own") {
  JitMemory memory(3);
  const uint64_t code = memory.address() + JitMemory::kPage;
  memory.Put(JitMemory::kPage, {0x31, 0xc0, 0xc3});
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(
      MakeMapping("//anon", memory.address(), memory.address() + 3 * JitMemory::kPage, 10));
  recorder.OnSample(SampleAt(code, 20));
  recorder.Commit(30);
  memory.Put(JitMemory::kPage, {0x31, 0xdb, 0xc3});
  recorder.OnSample(SampleAt(code, 40));
  recorder.OnSample(SampleAt(code + 2, 50));
  recorder.Commit(60);
  // A JIT that makes its memory writable and executable again causes such mappings.
  recorder.OnMapping(
      MakeMapping("//anon", memory.address(), memory.address() + 3 * JitMemory::kPage, 70));
  recorder.OnSample(SampleAt(code, 80));
  recorder.Commit(90);

  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.modules.size() == 2);
  CHECK(data.modules[0].path == "[anonymous]");
  CHECK(data.modules[1].path == "[anonymous, generation 2]");
  const auto second_byte = [&](size_t module) {
    for (const CodeChunk& chunk : data.modules[module].chunks) {
      if (chunk.offset == code) return chunk.bytes[1];
    }
    return uint8_t{0};
  };
  CHECK(second_byte(0) == 0xc0);
  CHECK(second_byte(1) == 0xdb);
  REQUIRE(data.counts.size() == 3);
  CHECK((data.counts[0].module == 0 && data.counts[0].samples == 1));
  CHECK((data.counts[1].module == 1 && data.counts[1].samples == 2));
  CHECK((data.counts[2].module == 1 && data.counts[2].offset == code + 2));
}

TEST_CASE("code that the host reports has its samples by time, and is not copied again") {
  JitMemory memory(1);
  const uint64_t code = memory.address();
  Recorder recorder;
  recorder.AddSource(Source(100));
  recorder.OnMapping(MakeMapping("//anon", code, code + JitMemory::kPage, 10));
  const std::vector<uint8_t> older = {0x90, 0xc3}, newer = {0xc3};
  CHECK(recorder.locator().AddCode({code}, older, "older", 20));
  CHECK(recorder.locator().AddCode({code}, newer, "newer", 40));
  recorder.OnSample(SampleAt(code, 30));
  recorder.OnSample(SampleAt(code, 50));
  recorder.OnSample(SampleAt(code + 100, 50));
  recorder.Commit(60);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.counts.size() == 3);
  std::vector<std::string> names;
  for (const IpCount& count : data.counts) {
    const std::vector<CodeChunk>& chunks = data.modules[count.module].chunks;
    REQUIRE_FALSE(chunks.empty());
    names.push_back(chunks[0].name);
  }
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"", "newer", "older"});
}

TEST_CASE("code that is too much to keep does not count as what was there before") {
  JitMemory memory(1);
  const uint64_t code = memory.address();
  Recorder recorder;
  recorder.AddSource(Source(100));
  for (uint64_t i = 0; i < GeneratedCode::kMaxLayers; ++i) {
    const std::vector<uint8_t> bytes = {static_cast<uint8_t>(i), 0xc3};
    CHECK(recorder.locator().AddCode({code}, bytes, "reported", 10 + i));
  }
  CHECK_FALSE(
      recorder.locator().AddCode({code}, std::vector<uint8_t>{0xcc, 0xc3}, "too much", 1000));
  recorder.OnSample(SampleAt(code, 500));
  recorder.OnSample(SampleAt(code, 2000));
  recorder.Commit(3000);
  const ProfileData data = recorder.Snapshot();
  REQUIRE(data.counts.size() == 2);
  size_t anonymous = 0, reported = 0;
  for (const IpCount& count : data.counts) {
    const ModuleRecord& module = data.modules[count.module];
    anonymous += module.path == "[anonymous]";
    reported += module.chunks.at(0).name == "reported";
  }
  CHECK(anonymous == 1);
  CHECK(reported == 1);
}

TEST_CASE("shared memory that holds no library is generated code, also if it was reported before") {
  JitMemory memory(1);
  memory.Put(0, {0x90, 0xc3});
  const uint64_t code = memory.address();
  const auto kind_of = [&](const std::string& path) {
    Recorder recorder;
    recorder.AddSource(Source(100));
    CHECK(recorder.locator().AddCode({code}, std::vector<uint8_t>{0x90, 0xc3}, "reported", 5));
    recorder.OnMapping(MakeMapping(path, code, code + JitMemory::kPage, 10));
    recorder.OnSample(SampleAt(code, 20));
    recorder.OnSample(SampleAt(code + 100, 20));
    recorder.Commit(30);
    const ProfileData data = recorder.Snapshot();
    REQUIRE(data.counts.size() == 2);
    const std::vector<CodeChunk>& chunks = data.modules[data.counts[0].module].chunks;
    const bool is_kept = !chunks.empty() && chunks[0].name == "reported";
    const ModuleKind kind = data.modules[data.counts[1].module].kind;
    CHECK(is_kept == (kind == ModuleKind::kAnonymous));
    return kind;
  };
  CHECK(kind_of("/dev/zero") == ModuleKind::kAnonymous);
  CHECK(kind_of("/memfd:doublemapper") == ModuleKind::kAnonymous);
  memory.Put(0, {0x7f, 'E', 'L', 'F'});
  CHECK(kind_of("/memfd:library.so") == ModuleKind::kFile);
}

}  // namespace
}  // namespace hbbp
