// Tests MergeProfiles() and KeepThread(): which modules, sources, threads and generated functions
// of two profiles are the same, and that the counts add up. The profiles are SmallProfile(), which
// has one of each, with single fields changed, and FullProfile(); Describe() turns results into
// text to compare them.
#include "profile/profile_merge.h"

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {
namespace {

ProfileData Merge(const std::vector<ProfileData>& profiles) {
  std::vector<const ProfileData*> pointers;
  for (const ProfileData& profile : profiles) pointers.push_back(&profile);
  return MergeProfiles(pointers);
}

// Returns a profile of one file module, one source, one thread, three samples.
ProfileData SmallProfile() {
  ProfileData data;
  data.pid = 10;
  data.start_time_ns = 1000;
  data.duration_ns = 50;
  data.command = "first";
  data.host = "host";
  data.sources.resize(1);
  data.sources[0].kind = SourceKind::kEbs;
  data.sources[0].event = EventKind::kTaskClock;
  data.sources[0].period = 100;
  data.sources[0].lost = 1;
  data.sources[0].throttled = 2;
  data.sources[0].unmapped = 3;
  data.threads = {{10, 11, "thread"}};
  data.modules.resize(1);
  data.modules[0].path = "/lib/a.so";
  data.modules[0].build_id = {1, 2, 3};
  data.modules[0].device = 5;
  data.modules[0].inode = 6;
  data.counts = {MakeCount(0, 0, 0, 0x1000, 3, 100)};
  return data;
}

TEST_CASE("one profile merged with nothing is itself") {
  CHECK(Describe(Merge({FullProfile()})) == Describe(FullProfile()));
}

TEST_CASE("a profile merged with itself has twice the counts and the same lists") {
  const ProfileData merged = Merge({FullProfile(), FullProfile()});
  ProfileData expected = FullProfile();
  expected.duration_ns *= 2;
  expected.recordings *= 2;
  for (SourceRecord& source : expected.sources) {
    source.lost *= 2;
    source.throttled *= 2;
    source.unmapped *= 2;
    TraceStatistics& trace = source.trace;
    for (uint64_t* number : {&trace.bursts, &trace.taken_branches, &trace.breakpoints,
                             &trace.lookahead_instructions, &trace.decoded_instructions,
                             &trace.handler_ns, &trace.verified_branches, &trace.disagreements}) {
      *number *= 2;
    }
    for (auto& [name, number] : trace.counters) number *= 2;
  }
  for (BranchCount& branch : expected.branches) {
    branch.number *= 2;
    branch.weights *= 2;
    branch.oldest *= 2;
    branch.oldest_expected *= 2;
    for (float& sum : branch.replicates.sums) sum *= 2;
  }
  for (IpCount& count : expected.counts) {
    count.samples *= 2;
    count.period_sum *= 2;
    count.period_squares *= 2;
  }
  for (IbsCount& count : expected.ibs_counts) count.sum *= 2;
  for (IbsCount& count : expected.ibs_buckets) count.sum *= 2;
  for (auto* list : {&expected.ibs_lines, &expected.ibs_data}) {
    for (IbsAccesses& accesses : *list) {
      const IbsAccesses once = accesses;
      AddAccesses(once, &accesses);
    }
  }
  CHECK(Describe(merged) == Describe(expected));
}

TEST_CASE("modules are the same if their build IDs are, whatever they are called") {
  ProfileData other = SmallProfile();
  other.modules[0].path = "/elsewhere/b.so";
  other.modules[0].inode = 99;
  const ProfileData merged = Merge({SmallProfile(), other});
  REQUIRE(merged.modules.size() == 1);
  CHECK(merged.modules[0].path == "/lib/a.so");
  CHECK(Describe(merged.counts) == Describe(std::vector{MakeCount(0, 0, 0, 0x1000, 6, 100)}));
}

TEST_CASE("a module is the same with a padded build ID, and has the short one") {
  ProfileData padded = SmallProfile();
  padded.modules[0].build_id.resize(20);
  for (const auto& [first, second] :
       {std::pair(SmallProfile(), padded), std::pair(padded, SmallProfile())}) {
    const ProfileData merged = Merge({first, second});
    REQUIRE(merged.modules.size() == 1);
    CHECK(merged.modules[0].build_id == SmallProfile().modules[0].build_id);
  }
}

TEST_CASE("a build ID of zeros is none") {
  ProfileData first = SmallProfile();
  first.modules[0].build_id.assign(20, 0);
  ProfileData second = first;
  second.modules[0].path = "/lib/b.so";
  CHECK(Merge({first, first}).modules.size() == 1);
  CHECK(Merge({first, second}).modules.size() == 2);
}

TEST_CASE("modules with the same path and other build IDs are kept apart") {
  ProfileData other = SmallProfile();
  other.modules[0].build_id = {9};
  const ProfileData merged = Merge({SmallProfile(), other});
  REQUIRE(merged.modules.size() == 2);
  CHECK(Describe(merged.counts) == Describe(std::vector{MakeCount(0, 0, 0, 0x1000, 3, 100),
                                                        MakeCount(1, 0, 0, 0x1000, 3, 100)}));
}

TEST_CASE("without build IDs, path and inode decide") {
  ProfileData first = SmallProfile();
  first.modules[0].build_id.clear();
  ProfileData same = first;
  ProfileData replaced = first;
  replaced.modules[0].inode = 7;
  CHECK(Merge({first, same}).modules.size() == 1);
  CHECK(Merge({first, replaced}).modules.size() == 2);
  CHECK(Merge({first, SmallProfile()}).modules.size() == 2);
}

TEST_CASE("sources are added up only if all that was asked of them agrees") {
  const auto merged_sources = [](void (*change)(SourceRecord*)) {
    ProfileData other = SmallProfile();
    change(&other.sources[0]);
    return Merge({SmallProfile(), other}).sources.size();
  };
  CHECK(merged_sources([](SourceRecord*) {}) == 1);
  CHECK(merged_sources([](SourceRecord* source) { source->note = "other"; }) == 1);
  CHECK(merged_sources([](SourceRecord* source) { source->kind = SourceKind::kIbs; }) == 2);
  CHECK(merged_sources([](SourceRecord* source) { source->event = EventKind::kCycles; }) == 2);
  CHECK(merged_sources([](SourceRecord* source) { source->period = 101; }) == 2);
  CHECK(merged_sources([](SourceRecord* source) { source->frequency_hz = 5; }) == 2);
  CHECK(merged_sources([](SourceRecord* source) { source->include_kernel = true; }) == 2);
  CHECK(merged_sources([](SourceRecord* source) { source->period_mode = PeriodMode::kFixed; }) ==
        2);
}

TEST_CASE("bursts that were weighed by another rule are not added up") {
  ProfileData old = SmallProfile();
  old.sources[0].kind = SourceKind::kSwbt;
  ProfileData now = old;
  now.sources[0].burst_extent = BurstExtent::kEvents;
  const ProfileData merged = Merge({old, now, old});
  REQUIRE(merged.sources.size() == 2);
  CHECK(merged.sources[1].burst_extent == BurstExtent::kEvents);
}

TEST_CASE("numbers of sources that are kept apart stay apart") {
  ProfileData other = SmallProfile();
  other.sources[0].period = 101;
  other.sources[0].lost = 40;
  const ProfileData merged = Merge({SmallProfile(), other});
  REQUIRE(merged.sources.size() == 2);
  CHECK(merged.sources[0].lost == 1);
  CHECK(merged.sources[1].lost == 40);
  CHECK(merged.counts.size() == 2);
}

TEST_CASE("threads are the same if process and thread are") {
  ProfileData other_process = SmallProfile();
  other_process.threads[0].pid = 20;
  ProfileData other_thread = SmallProfile();
  other_thread.threads[0].tid = 12;
  ProfileData renamed = SmallProfile();
  renamed.threads[0].name = "renamed";
  const ProfileData merged = Merge({SmallProfile(), other_process, other_thread, renamed});
  REQUIRE(merged.threads.size() == 3);
  CHECK(merged.threads[0].name == "thread");
  REQUIRE(merged.counts.size() == 3);
  CHECK(merged.counts[0].samples == 6);
}

TEST_CASE("generated code of different processes is kept apart, its pieces are united") {
  ProfileData first = SmallProfile();
  first.modules[0] = {};
  first.modules[0].kind = ModuleKind::kAnonymous;
  first.modules[0].path = "[anonymous]";
  first.modules[0].chunks = {{0x2000, {0x90}}};
  ProfileData later = first;
  later.modules[0].chunks = {{0x1000, {0xcc}}, {0x2000, {0x90}}};
  ProfileData other = first;
  other.pid = 77;
  const ProfileData merged = Merge({first, later, other});
  REQUIRE(merged.modules.size() == 2);
  REQUIRE(merged.modules[0].chunks.size() == 2);
  CHECK(merged.modules[0].chunks[0].offset == 0x1000);
  CHECK(merged.modules[0].chunks[1].offset == 0x2000);
  CHECK(merged.modules[1].chunks.size() == 1);
}

TEST_CASE("functions of generated code without code are united") {
  ProfileData first = SmallProfile();
  first.modules[0] = {};
  first.modules[0].kind = ModuleKind::kAnonymous;
  first.modules[0].functions = {{{{0x1000}, {0x1010}}, "one"}};
  ProfileData later = first;
  later.modules[0].functions = {{{{0x1008}, {0x1010}}, "over one"}, {{{0x2000}, {0x2010}}, "two"}};
  const ProfileData merged = Merge({first, later});
  REQUIRE(merged.modules[0].functions.size() == 2);
  CHECK(merged.modules[0].functions[0].name == "one");
  CHECK(merged.modules[0].functions[1].name == "two");
}

TEST_CASE("who and when: process if all agree, the earliest start, the sum of durations") {
  ProfileData earlier = SmallProfile();
  earlier.start_time_ns = 400;
  earlier.duration_ns = 7;
  earlier.command = "second";
  CHECK(Merge({SmallProfile(), earlier}).pid == 10);
  CHECK(Merge({SmallProfile(), earlier}).start_time_ns == 400);
  CHECK(Merge({SmallProfile(), earlier}).duration_ns == 57);
  CHECK(Merge({SmallProfile(), earlier}).command == "first");
  ProfileData other = SmallProfile();
  other.pid = 20;
  CHECK(Merge({SmallProfile(), other}).pid == 0);
  CHECK(Merge({SmallProfile(), other, SmallProfile()}).pid == 0);
}

TEST_CASE("processes of one run take from its start to its end") {
  ProfileData shell = SmallProfile();
  shell.start_time_ns = 1000;
  shell.duration_ns = 500;
  ProfileData first = shell, second = shell;
  first.pid = shell.pid + 1;
  first.start_time_ns = 1100;
  first.duration_ns = 200;
  second.pid = shell.pid + 2;
  second.start_time_ns = 1200;
  CHECK(Merge({shell, first}).duration_ns == 500);
  CHECK(Merge({shell, first, second}).duration_ns == 700);
  CHECK(Merge({second, first, shell}).duration_ns == 700);
  CHECK(Merge({shell, first, second}).start_time_ns == 1000);

  ProfileData tomorrow = shell;
  tomorrow.start_time_ns += 86'400'000'000'000;
  CHECK(Merge({shell, first, tomorrow}).duration_ns == 1000);
}

TEST_CASE("lists in another order are matched, not their positions") {
  ProfileData other = FullProfile();
  std::swap(other.modules[0], other.modules[2]);
  std::swap(other.threads[0], other.threads[1]);
  std::swap(other.sources[0], other.sources[1]);
  for (BranchCount& branch : other.branches) {
    branch.thread = 1 - branch.thread;
    for (uint32_t* module : {&branch.from_module, &branch.to_module}) {
      if (*module == 0 || *module == 2) *module = 2 - *module;
    }
  }
  for (IpCount& count : other.counts) {
    count.source = 1 - count.source;
    count.thread = 1 - count.thread;
    if (count.module == 0 || count.module == 2) count.module = 2 - count.module;
  }
  const auto move = [](auto* element) {
    element->source = 1 - element->source;
    element->thread = 1 - element->thread;
  };
  std::swap(other.ibs_names[0], other.ibs_names[2]);
  for (auto* list : {&other.ibs_counts, &other.ibs_buckets}) {
    for (IbsCount& count : *list) {
      move(&count);
      if (count.module == 0 || count.module == 2) count.module = 2 - count.module;
      if (count.name == 0 || count.name == 2) count.name = 2 - count.name;
    }
  }
  for (auto* list : {&other.ibs_lines, &other.ibs_data}) {
    for (IbsAccesses& accesses : *list) {
      move(&accesses);
      if (accesses.module == 0 || accesses.module == 2) accesses.module = 2 - accesses.module;
    }
  }
  const ProfileData merged = Merge({FullProfile(), other});
  const ProfileData expected = Merge({FullProfile(), FullProfile()});
  CHECK(Describe(merged) == Describe(expected));
}

TEST_CASE("one thread's part of a profile") {
  ProfileData selected = FullProfile();
  REQUIRE(KeepThread(1235, &selected));
  ProfileData expected = FullProfile();
  expected.threads.erase(expected.threads.begin());
  expected.counts = {
      MakeCount(0, 0, 0, 0x1000, 1, 4'999'999),
      MakeCount(2, 0, 0, 0x7000, 7, 4'999'999),
      MakeCount(3, 1, 0, 0xffffffff81000000, 1, 1'000'000'007),
  };
  expected.branches = {MakeBranch(2, 0, 2, 0x7001, 0, 0x1000, 0x1040, 5, 1'000'000)};
  expected.branches[0].oldest = 4;
  expected.branches[0].oldest_expected = 0.3125;
  expected.ibs_counts = {{1, 0, 0, 1, 0x1000, 3}, {1, 0, 3, 0, 0x2000, 5}};
  expected.ibs_buckets = {{1, 0, 0, 3, 0x1000, 4, 6, 40}, {1, 0, kNoModule, 2, 0, 1, 0, 59}};
  expected.ibs_lines = {{1, 0, 0x7fff0040, 5, 6, 7, 8, 11, 12}};
  expected.ibs_lines[0].node = 3;
  expected.ibs_data = {{1, 0, 0x4010, 5, 6, 7, 8, 11, 12, 2, kNoIbsName, 1},
                       {1, 0, 0, 3, 0, 1, 1, 0, 0, kNoModule, 4, 0}};
  CHECK(Describe(selected) == Describe(expected));
  CHECK_FALSE(KeepThread(4321, &selected));
  CHECK(Describe(selected) == Describe(expected));
}

TEST_CASE("the parts of all threads add up to the whole") {
  const ProfileData whole = FullProfile();
  ProfileData first = whole, second = whole;
  REQUIRE(KeepThread(1234, &first));
  REQUIRE(KeepThread(1235, &second));
  const ProfileData sum = Merge({first, second});
  CHECK(Describe(sum.counts) == Describe(whole.counts));
  CHECK(Describe(sum.branches) == Describe(whole.branches));
  CHECK(DescribeIbs(sum) == DescribeIbs(whole));
}

TEST_CASE("modes and methods that differ are listed, each once; counters add up by name") {
  TraceStatistics sum;
  TraceStatistics more;
  more.mode = "lookahead";
  more.method = "perf events";
  more.counters = {{"full", 3}, {"trap", 4}};
  AddTraceStatistics(more, &sum);
  AddTraceStatistics(more, &sum);
  CHECK(sum.mode == "lookahead");
  more.mode = "look";
  more.method = "timers";
  more.counters = {{"trap", 10}, {"system-call", 1}};
  AddTraceStatistics(more, &sum);
  AddTraceStatistics(more, &sum);
  AddTraceStatistics({}, &sum);
  CHECK(sum.mode == "lookahead; look");
  CHECK(sum.method == "perf events; timers");
  CHECK(sum.counters == std::vector<std::pair<std::string, uint64_t>>{
                            {"full", 6}, {"trap", 28}, {"system-call", 2}});
}

TEST_CASE("sources of profiles with other modes are one source") {
  ProfileData other = FullProfile();
  other.sources[2].trace.mode = "breakpoint";
  const ProfileData merged = Merge({FullProfile(), other});
  REQUIRE(merged.sources.size() == 3);
  CHECK(merged.sources[2].trace.mode == "lookahead; breakpoint");
  CHECK(merged.sources[2].trace.bursts == 62);
}

}  // namespace
}  // namespace hbbp
