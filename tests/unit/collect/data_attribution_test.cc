// Tests that accesses are attributed to the objects of real programs, wherever these are loaded,
// and to blocks at their time. The compiler makes the programs, nm says where their objects are,
// and synthetic samples access them.
#include "collect/data_attribution.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/ibs_objects.h"
#include "analysis/resolved_modules.h"
#include "base/unique_fd.h"
#include "collect/importer.h"
#include "collect/recorder.h"
#include "image/program_headers.h"
#include "support/catch.h"
#include "support/event_builders.h"
#include "unit/image/test_programs.h"

namespace hbbp {
namespace {

using test::Compile;
using test::RunCommand;
using test::TemporaryDirectory;

constexpr uint32_t kPid = 100;
constexpr uint64_t kBias = 0x7f0000000000, kOtherBias = 0x560000000000;

constexpr std::string_view kObjects = R"(
  extern "C" {
  long table[512] = {1};
  char first = 1, second = 2;
  int third = 3;
  long zeros[1000];
  extern const double constants[] = {1.5, 2.5, 3.5, 4.5};
  static short hidden[3] = {1, 2, 3};
  thread_local int of_thread = 5;
  int run(int i) {
    hidden[i]++;
    return static_cast<int>(table[i] + first + second + third + zeros[i] + hidden[i] + of_thread);
  }
  }
  int main(int count, char**) { return run(count) + static_cast<int>(constants[count]); }
)";

struct Object {
  uint64_t address = 0;
  uint64_t size = 0;
};

// Returns the objects that nm lists.
std::map<std::string, Object> ObjectsOf(const std::string& path) {
  std::map<std::string, Object> objects;
  const auto lines = RunCommand("nm -S " + path);
  for (const std::string& line : lines.value_or(std::vector<std::string>())) {
    uint64_t address = 0, size = 0;
    char type = 0, name[256];
    if (std::sscanf(line.c_str(), "%" SCNx64 " %" SCNx64 " %c %255s", &address, &size, &type,
                    name) == 4) {
      objects[name] = {address, size};
    }
  }
  return objects;
}

// Returns the mapping of the code of a file, loaded at a bias.
MappingEvent MakeCodeMapping(const std::string& path, uint64_t bias, uint32_t pid) {
  MappingEvent mapping;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  for (const Elf64_Phdr& segment : ReadProgramHeaders(ReaderOfFd(fd.get()))) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uint64_t before = segment.p_vaddr % 4096;
    mapping.start = {bias + segment.p_vaddr - before};
    mapping.end = {bias + segment.p_vaddr + segment.p_memsz};
    mapping.offset = {segment.p_offset - before};
  }
  mapping.path = path;
  return OfProcess(pid, mapping);
}

IbsOp LoadOf(uint64_t address) {
  IbsOp op;
  op.is_load = true;
  op.has_linear_address = true;
  op.linear_address = address;
  return op;
}

uint64_t Counter(const ProfileData& data, const std::string& name) {
  for (const auto& counter : data.sources.at(0).trace.counters) {
    if (counter.first == name) return counter.second;
  }
  return 0;
}

class Recording {
 public:
  using NewKeeper = std::unique_ptr<DataKeeper> (*)(CountedMemory*);

  // Null: the keeper of KeepData.
  explicit Recording(NewKeeper new_keeper = nullptr) : importer_(OptionsWith(new_keeper)) {
    SourceRecord source;
    source.kind = SourceKind::kIbs;
    source_ = importer_.AddSource(source);
  }

  Importer& importer() { return importer_; }

  void Map(const std::string& path, uint64_t bias, uint32_t pid = kPid) {
    const MappingEvent code = MakeCodeMapping(path, bias, pid);
    REQUIRE(code.end > code.start);
    ips_[pid] = code.start;
    importer_.OnMapping(code);
  }
  void Access(uint64_t address, uint32_t pid = kPid, uint64_t time_ns = 10) {
    IpSample sample;
    sample.source = source_;
    sample.ip = ips_[pid];
    sample.pid = pid;
    sample.tid = pid;
    sample.time_ns = time_ns;
    sample.period = 1000;
    importer_.OnIbsOp(sample, LoadOf(address));
  }

  std::vector<IbsObjectRecord> Objects() {
    return ListIbsObjects(
        ResolvedModules(std::make_shared<const ProfileData>(importer_.Snapshot())));
  }
  // Returns the loads of each object.
  std::map<std::string, uint64_t> Loads() {
    std::map<std::string, uint64_t> loads;
    for (const IbsObjectRecord& object : Objects()) loads[object.name] += object.accesses.loads;
    return loads;
  }

 private:
  static ImportOptions OptionsWith(NewKeeper new_keeper) {
    ImportOptions options;
    KeepData(&options);
    if (new_keeper != nullptr) options.new_data_keeper = new_keeper;
    return options;
  }

  Importer importer_;
  uint32_t source_ = 0;
  std::map<uint32_t, RuntimeAddress> ips_;  // by pid
};

using Loads = std::map<std::string, uint64_t>;

// Returns the path of the program, or nothing without a compiler.
std::optional<std::string> CompileObjects(const TemporaryDirectory& directory,
                                          const std::string& flags,
                                          const std::string& name = "objects") {
  const std::string path = directory.File(name);
  if (!Compile(directory, kObjects, flags, path)) return std::nullopt;
  return path;
}

TEST_CASE("static data is attributed to the symbols that nm lists, wherever it is loaded") {
  const TemporaryDirectory directory;
  for (const std::string flags : {"-O1 -pie -fPIE", "-O1 -no-pie", "-O1 -shared -fPIC",
                                  "-O1 -pie -fPIE -Wl,-z,noseparate-code"}) {
    CAPTURE(flags);
    const auto path = CompileObjects(directory, flags);
    if (!path) HBBP_SKIP("no compiler");
    const uint64_t bias = flags.find("-no-pie") == std::string::npos ? kBias : 0;
    const auto objects = ObjectsOf(*path);
    Recording recording;
    recording.Map(*path, bias);
    Loads expected;
    for (const char* name :
         {"table", "first", "second", "third", "zeros", "constants", "_ZL6hidden"}) {
      CAPTURE(name);
      REQUIRE(objects.contains(name));
      const Object& object = objects.at(name);
      recording.Access(bias + object.address);
      recording.Access(bias + object.address + object.size - 1);
      expected[name] = 2;
    }
    recording.Access(0x10);
    recording.Access(0xffff800000000000);
    expected["[other memory]"] = 2;
    CHECK(recording.Loads() == expected);
    for (const IbsObjectRecord& object : recording.Objects()) {
      CAPTURE(object.name);
      CHECK(object.threads == 1);
      if (object.kind != IbsObjectKind::kSymbol) continue;
      CHECK(object.module != kNoIndex);
      CHECK(object.address.value == objects.at(object.name).address);
      CHECK(object.bytes == objects.at(object.name).size);
    }
  }
}

TEST_CASE("processes that have a file at different addresses have the same objects") {
  const TemporaryDirectory directory;
  const auto path = CompileObjects(directory, "-O1 -pie -fPIE");
  if (!path) HBBP_SKIP("no compiler");
  const auto objects = ObjectsOf(*path);
  Recording recording;
  recording.Map(*path, kBias, kPid);
  recording.Map(*path, kOtherBias, kPid + 1);
  recording.Access(kBias + objects.at("table").address, kPid);
  recording.Access(kOtherBias + objects.at("table").address + 8, kPid + 1);
  recording.Access(kBias + objects.at("table").address, kPid + 1);
  CHECK(recording.Loads() == Loads{{"table", 2}, {"[other memory]", 1}});
  CHECK(recording.Objects()[0].threads == 2);
}

TEST_CASE("the data of a stripped file is attributed to its sections") {
  const TemporaryDirectory directory;
  const auto path = CompileObjects(directory, "-O1 -pie -fPIE -fno-toplevel-reorder");
  if (!path) HBBP_SKIP("no compiler");
  const auto objects = ObjectsOf(*path);
  if (!RunCommand("strip " + *path)) HBBP_SKIP("no strip");
  Recording recording;
  recording.Map(*path, kBias);
  for (const char* name : {"table", "zeros", "constants"}) {
    recording.Access(kBias + objects.at(name).address);
  }
  CHECK(recording.Loads() == Loads{{"[.data]", 1}, {"[.bss]", 1}, {"[.rodata]", 1}});
  for (const IbsObjectRecord& object : recording.Objects()) {
    CHECK(object.kind == IbsObjectKind::kSection);
    CHECK(object.bytes != 0);
  }
}

TEST_CASE("a file that is gone has data without names, and one that never was there none") {
  const TemporaryDirectory directory;
  const auto path = CompileObjects(directory, "-O1 -pie -fPIE");
  if (!path) HBBP_SKIP("no compiler");
  const uint64_t table = kBias + ObjectsOf(*path).at("table").address;
  Recording recording, without;
  recording.Map(*path, kBias);
  without.Map(*path, kBias);
  recording.Access(table);
  REQUIRE(std::remove(path->c_str()) == 0);
  without.Access(table);
  CHECK(recording.Loads() == Loads{{"[unknown]", 1}});
  CHECK(without.Loads() == Loads{{"[other memory]", 1}});
}

TEST_CASE("a library that another one replaced has the accesses of its time") {
  const TemporaryDirectory directory;
  const auto path = CompileObjects(directory, "-O1 -shared -fPIC");
  const auto other = CompileObjects(directory, "-O1 -shared -fPIC -Dtable=renamed", "other");
  if (!path || !other) HBBP_SKIP("no compiler");
  const uint64_t table = kBias + ObjectsOf(*path).at("table").address;
  Recording recording;
  recording.Map(*path, kBias);
  MappingEvent later = MakeCodeMapping(*other, kBias, kPid);
  later.time_ns = 20;
  recording.importer().OnMapping(later);
  recording.Access(table, kPid, 19);
  recording.Access(table, kPid, 20);
  recording.Access(table, kPid, 21);
  CHECK(recording.Loads() == Loads{{"table", 1}, {"renamed", 2}});
}

TEST_CASE("a block has the accesses of its time, also in static data, and until its process ends") {
  const TemporaryDirectory directory;
  const auto path = CompileObjects(directory, "-O1 -pie -fPIE");
  if (!path) HBBP_SKIP("no compiler");
  const uint64_t zeros = kBias + ObjectsOf(*path).at("zeros").address;
  Recording recording;
  recording.Map(*path, kBias);
  recording.importer().OnData({kPid, {0x10000}, 0x100, "first", 10});
  recording.importer().OnData({kPid, {0x10000}, 0x100, "second", 20});
  recording.importer().OnData({kPid, {0x10000}, 0x100, "", 30});
  recording.importer().OnData({kPid, {zeros}, 16, "arena", 10});
  for (const uint64_t time : {9, 15, 20, 29, 30}) recording.Access(0x10040, kPid, time);
  recording.Access(zeros + 8, kPid, 40);
  recording.Access(zeros + 16, kPid, 40);
  CHECK(recording.Loads() ==
        Loads{{"first", 1}, {"second", 2}, {"arena", 1}, {"zeros", 1}, {"[other memory]", 2}});
  recording.importer().OnExit(kPid);
  recording.Map(*path, kBias);
  recording.Access(zeros, kPid, 50);
  CHECK(recording.Loads()["zeros"] == 2);
}

TEST_CASE("cold data is kept by coarser ranges, which count for the object or the section") {
  const TemporaryDirectory directory;
  const auto path = CompileObjects(directory, "-O1 -pie -fPIE");
  if (!path) HBBP_SKIP("no compiler");
  const auto objects = ObjectsOf(*path);
  Recording recording([](CountedMemory* memory) -> std::unique_ptr<DataKeeper> {
    return std::make_unique<DataAttribution>(memory, DataAttribution::Limits{8, {}});
  });
  recording.Map(*path, kBias);
  for (int i = 0; i < 100; ++i) recording.Access(kBias + objects.at("first").address);
  for (uint64_t at = 0; at < objects.at("zeros").size; at += 8) {
    recording.Access(kBias + objects.at("zeros").address + at);
  }
  const Loads loads = recording.Loads();
  CHECK(loads.at("first") == 100);
  CHECK(loads.at("zeros") > 500);
  uint64_t sum = 0;
  for (const auto& [name, count] : loads) sum += count;
  CHECK(sum == 1100);
}

TEST_CASE("a session finds data of its own process, and forgets blocks in a child") {
  static long counters[64];
  KeptDetail detail;
  KeepData(&detail);
  Recorder recorder(0, detail);
  REQUIRE(recorder.locator().AddCurrentMappings(1).ok());
  SourceRecord source;
  source.kind = SourceKind::kIbs;
  IpSample sample;
  sample.source = recorder.AddSource(source);
  sample.ip = {reinterpret_cast<uint64_t>(&ObjectsOf)};
  sample.pid = static_cast<uint32_t>(::getpid());
  sample.tid = sample.pid;
  sample.time_ns = 10;
  sample.period = 1000;
  const uint64_t heap = 0x10000;
  const auto loads = [&] {
    recorder.OnIbsOp(sample, LoadOf(reinterpret_cast<uint64_t>(&counters[7])));
    recorder.OnIbsOp(sample, LoadOf(heap));
    recorder.Commit(20);
    std::map<std::string, uint64_t> by_name;
    const ResolvedModules modules(std::make_shared<const ProfileData>(recorder.Snapshot()));
    for (const IbsObjectRecord& object : ListIbsObjects(modules)) {
      const bool is_counters = object.name.find("counters") != std::string::npos;
      by_name[is_counters ? "counters" : object.name] += object.accesses.loads;
    }
    return by_name;
  };
  recorder.aggregator().OnData({sample.pid, {heap}, 64, "block", 5});
  CHECK(loads() == Loads{{"counters", 1}, {"block", 1}});
  recorder.Clear();
  REQUIRE(recorder.locator().AddCurrentMappings(1).ok());
  sample.source = recorder.AddSource(source);
  CHECK(loads() == Loads{{"counters", 1}, {"[other memory]", 1}});
}

// A recorder with a source of IBS, whose samples are of code in this program.
class LiveRecording {
 public:
  LiveRecording() : recorder_(0, Detail()) {
    REQUIRE(recorder_.locator().AddCurrentMappings(1).ok());
    SourceRecord source;
    source.kind = SourceKind::kIbs;
    sample_.source = recorder_.AddSource(source);
    sample_.ip = {reinterpret_cast<uint64_t>(&ObjectsOf)};
    sample_.pid = pid();
    sample_.tid = pid();
    sample_.period = 1000;
  }

  static uint32_t pid() { return static_cast<uint32_t>(::getpid()); }
  Recorder& recorder() { return recorder_; }

  void Access(uint64_t address, uint64_t time_ns) {
    sample_.time_ns = time_ns;
    recorder_.OnIbsOp(sample_, LoadOf(address));
  }
  uint64_t LoadsOf(const std::string& name) {
    const ResolvedModules modules(std::make_shared<const ProfileData>(recorder_.Snapshot()));
    uint64_t loads = 0;
    for (const IbsObjectRecord& object : ListIbsObjects(modules)) {
      if (object.name == name) loads += object.accesses.loads;
    }
    return loads;
  }

 private:
  static KeptDetail Detail() {
    KeptDetail detail;
    KeepData(&detail);
    return detail;
  }

  Recorder recorder_;
  IpSample sample_;
};

TEST_CASE("blocks end with exec and exit, once the ops that were before it are counted") {
  constexpr uint64_t kHeap = 0x10000;
  const bool is_exec = GENERATE(false, true);
  LiveRecording live;
  Recorder& recorder = live.recorder();
  recorder.OnData({live.pid(), {kHeap}, 64, "block", 5});
  live.Access(kHeap, 10);
  live.Access(kHeap, 30);
  if (is_exec) {
    recorder.OnExec(live.pid());
  } else {
    recorder.OnExit(live.pid());
  }
  REQUIRE(recorder.locator().AddCurrentMappings(1).ok());
  recorder.Commit(20);
  CHECK(live.LoadsOf("block") == 1);
  recorder.Commit(40);
  CHECK(live.LoadsOf("block") == 2);
  live.Access(kHeap, 50);
  recorder.Commit(60);
  CHECK(live.LoadsOf("block") == 2);
}

TEST_CASE("blocks that come and go make room with each round, also without accesses") {
  constexpr uint64_t kHeap = 0x10000;
  LiveRecording live;
  for (uint64_t time = 10; time < 400'000; time += 2) {
    live.recorder().OnData({live.pid(), {kHeap}, 64, "block", time});
    live.recorder().OnData({live.pid(), {kHeap}, 64, "", time + 1});
    if (time % 10'000 == 0) live.recorder().Commit(time);
  }
  CHECK(Counter(live.recorder().Snapshot(), "data-blocks-refused") == 0);
}

TEST_CASE("blocks of a recording that come and go make room without accesses") {
  Recording recording;
  for (uint64_t time = 10; time < 400'000; time += 2) {
    recording.importer().OnData({kPid, {0x10000}, 64, "block", time});
    recording.importer().OnData({kPid, {0x10000}, 64, "", time + 1});
  }
  CHECK(Counter(recording.importer().Snapshot(), "data-blocks-refused") == 0);
}

}  // namespace
}  // namespace hbbp
