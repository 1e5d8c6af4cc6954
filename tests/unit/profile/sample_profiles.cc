// Makes counts, branches and a whole profile by hand, and describes profiles as text, one line for
// each source, module, count and branch, so that a test that compares them shows what differs. The
// tests of profile/, collect/ and analysis/ use it.
#include "unit/profile/sample_profiles.h"

#include <sstream>

namespace hbbp {
namespace {

void Put(std::ostream& out, const std::vector<uint8_t>& bytes) {
  out << bytes.size() << '[';
  for (uint8_t byte : bytes) out << static_cast<int>(byte) << ' ';
  out << ']';
}

}  // namespace

IpCount MakeCount(uint32_t module, uint32_t source, uint32_t thread, uint64_t offset,
                  uint64_t samples, uint64_t period) {
  IpCount count;
  count.source = source;
  count.thread = thread;
  count.module = module;
  count.offset = offset;
  count.samples = samples;
  const auto number = static_cast<double>(samples);
  const auto events = static_cast<double>(period);
  count.period_sum = number * events;
  count.period_squares = number * events * events;
  return count;
}

BranchCount MakeBranch(uint32_t source, uint32_t thread, uint32_t from_module, uint64_t from,
                       uint32_t to_module, uint64_t to, uint64_t stream_end, uint64_t number,
                       uint64_t period) {
  BranchCount branch;
  branch.source = source;
  branch.thread = thread;
  branch.from_module = from_module;
  branch.from = from;
  branch.to_module = to_module;
  branch.to = to;
  branch.stream_end = stream_end;
  branch.number = number;
  if (!branch.HasStream()) return branch;
  branch.weights = static_cast<double>(number) * StreamWeight(period, 5);
  branch.replicates.sums[number % kReplicates] = static_cast<float>(branch.weights);
  return branch;
}

ProfileData FullProfile() {
  ProfileData data;
  data.pid = 1234;
  data.start_time_ns = 1'700'000'000'000'000'001;
  data.duration_ns = 5'000'000'007;
  data.command = "program --option \"with spaces\"";
  data.host = "Linux 6.1 x86_64";
  data.recordings = 6;
  data.sources = {
      {SourceKind::kEbs,
       EventKind::kTaskClock,
       PeriodMode::kPrime,
       false,
       4'999'999,
       0,
       3,
       4,
       5,
       "task-clock instead of instructions",
       "",
       {}},
      {SourceKind::kIbs,
       EventKind::kInstructions,
       PeriodMode::kRandom,
       true,
       0,
       997,
       13,
       14,
       15,
       "",
       "ibs_op//",
       {},
       3,
       EbsMethod::kIpPlusOne,
       990,
       1010},
      {SourceKind::kSwbt,
       EventKind::kTaskClock,
       PeriodMode::kFixed,
       false,
       1'000'000,
       0,
       23,
       24,
       0,
       "traced",
       "",
       {"lookahead",
        "timers: no perf events here",
        31,
        32,
        33,
        34,
        35,
        36,
        37,
        38,
        {{"system-call", 41}, {"unreadable-memory", 42}}}},
  };
  data.threads = {{1234, 1234, "main"}, {1234, 1235, ""}};
  data.modules.resize(4);
  data.modules[0].kind = ModuleKind::kFile;
  data.modules[0].path = "/usr/lib/a library.so";
  data.modules[0].local_path = "/images/host/usr/lib/a library.so";
  data.modules[0].build_id = {1, 2, 3, 255};
  data.modules[0].device = 0x801;
  data.modules[0].inode = 77;
  data.modules[1].kind = ModuleKind::kVdso;
  data.modules[1].path = "[vdso]";
  data.modules[1].chunks = {{0, {0x7f, 'E', 'L', 'F'}}};
  data.modules[2].kind = ModuleKind::kAnonymous;
  data.modules[2].path = "[anonymous]";
  data.modules[2].chunks = {{0x7000, {0x90, 0xc3}},
                            {0x9000, {0xcc}, "trap", {{"trap.js", "lib.js"}, {{0, 1, 7}}}}};
  data.modules[2].process = 99;
  data.modules[2].functions = {{{{0xa000}, {0xa010}}, "gone"}};
  data.modules[3].kind = ModuleKind::kKernel;
  data.modules[3].path = "[kernel]";
  data.modules[3].kernel = {"boot",
                            "6.1.0",
                            "_text",
                            0xffffffff81000000,
                            {{{{0xffffffff81000000}, {0xffffffff81000010}}, "startup"}},
                            {{{{0xffffffffc0000000}, {0xffffffffc0004000}}, "[module]"}}};
  data.counts = {
      MakeCount(0, 0, 0, 0x1000, 3, 4'999'999),
      MakeCount(0, 0, 1, 0x1000, 1, 4'999'999),
      MakeCount(0, 1, 0, 0x1000, 2, 5),
      MakeCount(1, 0, 0, 0x800, 1, 4'999'999),
      MakeCount(2, 0, 1, 0x7000, 7, 4'999'999),
      MakeCount(3, 1, 1, 0xffffffff81000000, 1, 1'000'000'007),
  };
  data.counts[3].position = IpPosition::kAfter;
  data.slices = {100'000'000, 9};
  data.counts[0].slice = 2;
  data.branches = {
      MakeBranch(2, 0, 2, 0x7001, 0, 0x1000, 0x1040, 3, 1'000'000),
      MakeBranch(2, 1, 2, 0x7001, 0, 0x1000, 0x1040, 5, 1'000'000),
      MakeBranch(2, 0, kNoModule, 0xdead0000, 0, 0x2000, kStreamLeavesModule, 1, 1'000'000),
      MakeBranch(2, 0, 0, 0x1040, 2, 0x7000, 0x7001, 20, 1'000'000),
      MakeBranch(2, 0, 0, 0x1040, 2, 0x7000, kNoStream, 2, 1'000'000),
      MakeBranch(2, 0, 0, 0x1050, kNoModule, 0xbeef0000, 0xbeef0010, 1, 1'000'000),
  };
  data.branches[0].slice = 8;
  data.branches[1].oldest = 4;
  data.branches[1].oldest_expected = 0.3125;
  data.branches[4].oldest_expected = 0.125;
  data.ibs_names = {"op-samples", "op-dc-misses", "tag-to-retire", "load", "a block"};
  data.ibs_counts = {{1, 0, 0, 0, 0x1000, 2}, {1, 1, 0, 1, 0x1000, 3}, {1, 1, 3, 0, 0x2000, 5}};
  data.ibs_buckets = {{1, 0, 0, 3, 0x1000, 2, 1, 0},
                      {1, 1, 0, 3, 0x1000, 4, 6, 40},
                      {1, 0, kNoModule, 2, 0, 11, 0, 7},
                      {1, 1, kNoModule, 2, 0, 1, 0, 59}};
  data.ibs_lines = {{1, 0, 0x7fff0040, 1, 2, 3, 4, 9, 10}, {1, 1, 0x7fff0040, 5, 6, 7, 8, 11, 12}};
  data.ibs_lines[1].node = 3;
  data.ibs_data = {{1, 0, 0x4010, 1, 2, 3, 4, 9, 10, 0, kNoIbsName, 8},
                   {1, 1, 0x4010, 5, 6, 7, 8, 11, 12, 2, kNoIbsName, 1},
                   {1, 1, 0, 3, 0, 1, 1, 0, 0, kNoModule, 4, 0},
                   {1, 0, 0, 2, 1, 1, 1, 0, 0, kNoModule, kNoIbsName, 0}};
  return data;
}

std::string DescribeIbs(const ProfileData& data) {
  std::ostringstream out;
  for (const auto* list : {&data.ibs_counts, &data.ibs_buckets}) {
    for (const IbsCount& count : *list) {
      out << "ibs " << data.ibs_names[count.name] << ' ' << count.source << ' ' << count.thread
          << ' ' << count.module << ' ' << count.offset << ' ' << count.level << ' ' << count.bucket
          << ' ' << count.sum << '\n';
    }
  }
  for (const auto* list : {&data.ibs_lines, &data.ibs_data}) {
    for (const IbsAccesses& accesses : *list) {
      out << "accesses " << accesses.source << ' ' << accesses.thread << ' ' << accesses.module
          << ' ' << accesses.address << ' ' << accesses.bytes << ' ' << accesses.loads << ' '
          << accesses.stores << ' ' << accesses.misses << ' ' << accesses.miss_cycles << ' '
          << accesses.local << ' ' << accesses.remote << ' ' << accesses.node << ' '
          << (accesses.name == kNoIbsName ? "" : data.ibs_names[accesses.name]) << '\n';
    }
  }
  return out.str();
}

std::string Describe(const std::vector<BranchCount>& branches) {
  std::ostringstream out;
  out.precision(17);
  for (const BranchCount& branch : branches) {
    out << "branch " << branch.source << ' ' << branch.thread << ' ' << branch.from_module << ' '
        << branch.from << ' ' << branch.to_module << ' ' << branch.to << ' ' << branch.stream_end
        << ' ' << branch.number << ' ' << branch.weights << " oldest " << branch.oldest << ' '
        << branch.oldest_expected << " slice " << branch.slice;
    for (size_t i = 0; i < kReplicates; ++i) {
      if (branch.replicates.sums[i] != 0) out << ' ' << i << ':' << branch.replicates.sums[i];
    }
    out << '\n';
  }
  return out.str();
}

std::string Describe(const std::vector<IpCount>& counts) {
  std::ostringstream out;
  out.precision(17);
  for (const IpCount& count : counts) {
    out << "count " << count.module << ' ' << count.source << ' ' << count.thread << ' '
        << count.offset << ' ' << static_cast<int>(count.position) << ' ' << count.samples << ' '
        << count.period_sum << ' ' << count.period_squares << " slice " << count.slice << '\n';
  }
  return out.str();
}

std::string Describe(const ProfileData& data) {
  std::ostringstream out;
  out << data.pid << ' ' << data.start_time_ns << ' ' << data.duration_ns << ' ' << data.command
      << '|' << data.host << " recordings " << data.recordings << " slices " << data.slices.width_ns
      << ' ' << data.slices.count << '\n';
  for (const SourceRecord& source : data.sources) {
    out << "source " << static_cast<int>(source.kind) << ' ' << static_cast<int>(source.event)
        << ' ' << static_cast<int>(source.period_mode) << ' ' << source.include_kernel << ' '
        << source.period << ' ' << source.frequency_hz << ' ' << source.lost << ' '
        << source.throttled << ' ' << source.unmapped << ' ' << source.note << '\n';
    const TraceStatistics& trace = source.trace;
    out << "event " << source.event_name << " trace " << trace.mode << '|' << trace.method << '|'
        << trace.bursts << ' ' << trace.taken_branches << ' ' << trace.breakpoints << ' '
        << trace.lookahead_instructions << ' ' << trace.decoded_instructions << ' '
        << trace.handler_ns << ' ' << trace.verified_branches << ' ' << trace.disagreements;
    for (const auto& [name, number] : trace.counters) out << ' ' << name << '=' << number;
    out << " ip " << source.precise_ip << ' ' << static_cast<int>(source.ebs_method) << " periods "
        << source.smallest_period << ' ' << source.largest_period << " extent "
        << static_cast<int>(source.burst_extent) << '\n';
  }
  for (const ThreadRecord& thread : data.threads) {
    out << "thread " << thread.pid << ' ' << thread.tid << ' ' << thread.name << '\n';
  }
  for (const ModuleRecord& module : data.modules) {
    out << "module " << static_cast<int>(module.kind) << ' ' << module.path << ' '
        << module.local_path << ' ' << module.device << ' ' << module.inode << ' ' << module.process
        << ' ';
    Put(out, module.build_id);
    for (const CodeChunk& chunk : module.chunks) {
      out << " chunk " << chunk.offset << ' ';
      Put(out, chunk.bytes);
      out << ' ' << chunk.name;
      for (const std::string& file : chunk.lines.files) out << " file " << file;
      for (const CodeLine& row : chunk.lines.rows) {
        out << " line " << row.offset << ' ' << row.file << ' ' << row.line;
      }
    }
    const KernelRecord& kernel = module.kernel;
    out << " kernel " << kernel.boot_id << ' ' << kernel.release << ' ' << kernel.reference_symbol
        << ' ' << kernel.reference_address;
    for (const auto* ranges : {&kernel.functions, &kernel.modules, &module.functions}) {
      for (const auto& [range, name] : *ranges) {
        out << ' ' << range.start.value << '-' << range.end.value << ' ' << name;
      }
      out << " |";
    }
    out << '\n';
  }
  return out.str() + Describe(data.counts) + Describe(data.branches) + DescribeIbs(data);
}

}  // namespace hbbp
