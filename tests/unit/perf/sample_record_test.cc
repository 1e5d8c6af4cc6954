// Tests the parser of whole samples, with all fields that perf defines, in both byte orders, and
// cut off anywhere. Generator makes random samples (Expected), Build() writes them as records, and
// the Check functions compare what the parser returns with them.
#include "perf/sample_record.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "perf/perf_abi.h"
#include "support/catch.h"
#include "support/perf_record_builder.h"

namespace hbbp {
namespace {

constexpr uint64_t kAllFields = (uint64_t{PERF_SAMPLE_WEIGHT_STRUCT} << 1) - 1;
constexpr uint64_t kAllReadFormats = (uint64_t{PERF_FORMAT_LOST} << 1) - 1;

// A sample whose content is known apart from its bytes.
struct Expected {
  RecordFormat format;
  SampleHead head;
  uint64_t enabled = 0, running = 0;
  std::vector<PerfRecordBuilder::Counter> counters;
  std::vector<uint64_t> callchain;
  std::vector<uint8_t> raw;
  std::vector<BranchEntry> branches;
  uint64_t hardware_index = 0;
  std::vector<uint64_t> branch_counters;
  uint64_t user_abi = 0, interrupt_abi = 0;
  std::vector<uint64_t> user_registers, interrupt_registers;
  std::vector<uint8_t> stack;
  uint64_t stack_used = 0;
  uint64_t weight = 0, data_source = 0, transaction = 0, physical = 0, cgroup = 0;
  uint64_t data_page = 0, code_page = 0;
  std::vector<uint8_t> aux;
};

class Generator {
 public:
  Expected Sample(ByteOrder order) {
    Expected sample;
    RecordFormat& format = sample.format;
    format.order = order;
    format.sample_type = random_() & random_() & kAllFields;
    if (Chance(8)) format.sample_type = kAllFields;
    format.read_format = random_() & kAllReadFormats;
    if (Chance(2)) format.branch_sample_type |= PERF_SAMPLE_BRANCH_HW_INDEX;
    if (Chance(2)) format.branch_sample_type |= kSampleBranchCounters;
    format.regs_user_mask = random_() & 0xffffff;
    format.regs_intr_mask = random_() & 0xffffff;

    sample.head = {static_cast<uint16_t>(random_()),
                   random_(),
                   Word32(),
                   Word32(),
                   random_(),
                   random_(),
                   random_(),
                   random_(),
                   Word32(),
                   random_()};
    sample.enabled = random_();
    sample.running = random_();
    const bool has_group = (format.read_format & PERF_FORMAT_GROUP) != 0;
    sample.counters.resize(has_group ? random_() % 5 : 1);
    for (auto& counter : sample.counters) counter = {random_(), random_(), random_()};
    sample.callchain = Words(random_() % 20);
    sample.raw = Bytes(8 * (random_() % 9) + 4);
    sample.branches.resize(random_() % 33);
    for (BranchEntry& branch : sample.branches) branch = Branch();
    sample.hardware_index = random_();
    sample.branch_counters = Words(sample.branches.size());
    sample.user_abi = random_() % 3;
    sample.interrupt_abi = random_() % 3;
    sample.user_registers = Words(static_cast<size_t>(std::popcount(format.regs_user_mask)));
    sample.interrupt_registers = Words(static_cast<size_t>(std::popcount(format.regs_intr_mask)));
    sample.stack = Bytes(8 * (random_() % 20));
    sample.stack_used = sample.stack.empty() ? 0 : random_() % sample.stack.size();
    sample.weight = random_();
    sample.data_source = random_();
    sample.transaction = random_();
    sample.physical = random_();
    sample.cgroup = random_();
    sample.data_page = random_();
    sample.code_page = random_();
    sample.aux = Bytes(8 * (random_() % 9));
    return sample;
  }

 private:
  bool Chance(unsigned one_in) { return random_() % one_in == 0; }
  uint32_t Word32() { return static_cast<uint32_t>(random_()); }
  std::vector<uint64_t> Words(size_t count) {
    std::vector<uint64_t> words(count);
    for (uint64_t& word : words) word = random_();
    return words;
  }
  std::vector<uint8_t> Bytes(size_t count) {
    std::vector<uint8_t> bytes(count);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_());
    return bytes;
  }
  BranchEntry Branch() {
    BranchEntry branch;
    branch.from = random_();
    branch.to = random_();
    branch.mispredicted = Chance(2);
    branch.predicted = Chance(2);
    branch.in_transaction = Chance(2);
    branch.aborted = Chance(2);
    branch.cycles = static_cast<uint16_t>(random_());
    branch.type = random_() % 16;
    branch.speculation = random_() % 4;
    branch.new_type = random_() % 16;
    branch.privilege = random_() % 8;
    return branch;
  }

  std::mt19937_64 random_{20};
};

std::vector<uint8_t> Build(const Expected& sample) {
  const SampleHead& head = sample.head;
  PerfRecordBuilder builder(sample.format);
  builder.Misc(head.misc).Ip(head.ip).Pid(head.pid).Tid(head.tid).Time(head.time).Addr(head.addr);
  builder.Id(head.id).StreamId(head.stream_id).Cpu(head.cpu).Period(head.period);
  builder.Counters(sample.enabled, sample.running, sample.counters).Callchain(sample.callchain);
  builder.Raw(sample.raw).Branches(sample.branches, sample.hardware_index, sample.branch_counters);
  builder.UserRegisters(sample.user_abi, sample.user_registers);
  builder.InterruptRegisters(sample.interrupt_abi, sample.interrupt_registers);
  builder.UserStack(sample.stack, sample.stack_used).Weight(sample.weight);
  builder.DataSource(sample.data_source).Transaction(sample.transaction);
  builder.PhysicalAddress(sample.physical).Cgroup(sample.cgroup);
  builder.DataPageSize(sample.data_page).CodePageSize(sample.code_page).Aux(sample.aux);
  return builder.Sample();
}

std::vector<uint64_t> WordsOf(const U64View& view) { return {view.begin(), view.end()}; }
std::vector<uint8_t> BytesOf(std::span<const uint8_t> view) { return {view.begin(), view.end()}; }

bool IsSame(const BranchEntry& a, const BranchEntry& b) {
  return a.from == b.from && a.to == b.to && a.mispredicted == b.mispredicted &&
         a.predicted == b.predicted && a.in_transaction == b.in_transaction &&
         a.aborted == b.aborted && a.cycles == b.cycles && a.type == b.type &&
         a.speculation == b.speculation && a.new_type == b.new_type && a.privilege == b.privilege;
}

void CheckHead(const SampleHead& sample, const Expected& expected) {
  const auto has = [&](uint64_t field) { return (expected.format.sample_type & field) != 0; };
  const SampleHead& head = expected.head;
  CHECK(sample.misc == head.misc);
  CHECK(sample.ip == (has(PERF_SAMPLE_IP) ? head.ip : 0));
  CHECK(sample.pid == (has(PERF_SAMPLE_TID) ? head.pid : 0));
  CHECK(sample.tid == (has(PERF_SAMPLE_TID) ? head.tid : 0));
  CHECK(sample.time == (has(PERF_SAMPLE_TIME) ? head.time : 0));
  CHECK(sample.addr == (has(PERF_SAMPLE_ADDR) ? head.addr : 0));
  CHECK(sample.id == (has(PERF_SAMPLE_ID) || has(PERF_SAMPLE_IDENTIFIER) ? head.id : 0));
  CHECK(sample.stream_id == (has(PERF_SAMPLE_STREAM_ID) ? head.stream_id : 0));
  CHECK(sample.cpu == (has(PERF_SAMPLE_CPU) ? head.cpu : 0));
  CHECK(sample.period == (has(PERF_SAMPLE_PERIOD) ? head.period : 0));
}

void CheckCounters(const CounterValues& counters, const Expected& expected) {
  const uint64_t format = expected.format.read_format;
  const auto has = [format](uint64_t field) { return (format & field) != 0; };
  if ((expected.format.sample_type & PERF_SAMPLE_READ) == 0) {
    CHECK(counters.size() == 0);
    return;
  }
  CHECK(counters.time_enabled == (has(PERF_FORMAT_TOTAL_TIME_ENABLED) ? expected.enabled : 0));
  CHECK(counters.time_running == (has(PERF_FORMAT_TOTAL_TIME_RUNNING) ? expected.running : 0));
  REQUIRE(counters.size() == expected.counters.size());
  for (size_t i = 0; i < counters.size(); ++i) {
    CHECK(counters[i].value == expected.counters[i].value);
    CHECK(counters[i].id == (has(PERF_FORMAT_ID) ? expected.counters[i].id : 0));
    CHECK(counters[i].lost == (has(PERF_FORMAT_LOST) ? expected.counters[i].lost : 0));
  }
}

void CheckBranches(const BranchStack& branches, const Expected& expected) {
  if ((expected.format.sample_type & PERF_SAMPLE_BRANCH_STACK) == 0) {
    CHECK(branches.empty());
    return;
  }
  const uint64_t type = expected.format.branch_sample_type;
  const bool has_index = (type & PERF_SAMPLE_BRANCH_HW_INDEX) != 0;
  CHECK(branches.hardware_index() ==
        (has_index ? expected.hardware_index : BranchStack::kNoHardwareIndex));
  REQUIRE(branches.size() == expected.branches.size());
  for (size_t i = 0; i < branches.size(); ++i) {
    CHECK(IsSame(branches[i], expected.branches[i]));
  }
  const bool has_counters = (type & kSampleBranchCounters) != 0;
  CHECK(WordsOf(branches.counters()) ==
        (has_counters ? expected.branch_counters : std::vector<uint64_t>()));
}

void CheckTail(const SampleRecord& sample, const Expected& expected) {
  const auto has = [&](uint64_t field) { return (expected.format.sample_type & field) != 0; };
  const std::vector<uint64_t> no_words;
  const std::vector<uint8_t> no_bytes;
  CheckCounters(sample.counters, expected);
  CheckBranches(sample.branches, expected);
  CHECK(WordsOf(sample.callchain) == (has(PERF_SAMPLE_CALLCHAIN) ? expected.callchain : no_words));
  CHECK(BytesOf(sample.raw) == (has(PERF_SAMPLE_RAW) ? expected.raw : no_bytes));
  const bool has_user = has(PERF_SAMPLE_REGS_USER);
  CHECK(sample.user_registers.abi == (has_user ? expected.user_abi : 0));
  CHECK(WordsOf(sample.user_registers.values) ==
        (has_user && expected.user_abi != 0 ? expected.user_registers : no_words));
  const bool has_interrupt = has(PERF_SAMPLE_REGS_INTR);
  CHECK(sample.interrupt_registers.abi == (has_interrupt ? expected.interrupt_abi : 0));
  CHECK(WordsOf(sample.interrupt_registers.values) ==
        (has_interrupt && expected.interrupt_abi != 0 ? expected.interrupt_registers : no_words));
  CHECK(BytesOf(sample.user_stack) == (has(PERF_SAMPLE_STACK_USER) ? expected.stack : no_bytes));
  CHECK(sample.user_stack_used == (has(PERF_SAMPLE_STACK_USER) ? expected.stack_used : 0));
  CHECK(sample.weight == (has(PERF_SAMPLE_WEIGHT_TYPE) ? expected.weight : 0));
  CHECK(sample.data_source == (has(PERF_SAMPLE_DATA_SRC) ? expected.data_source : 0));
  CHECK(sample.transaction == (has(PERF_SAMPLE_TRANSACTION) ? expected.transaction : 0));
  CHECK(sample.physical_address == (has(PERF_SAMPLE_PHYS_ADDR) ? expected.physical : 0));
  CHECK(sample.cgroup == (has(PERF_SAMPLE_CGROUP) ? expected.cgroup : 0));
  CHECK(sample.data_page_size == (has(PERF_SAMPLE_DATA_PAGE_SIZE) ? expected.data_page : 0));
  CHECK(sample.code_page_size == (has(PERF_SAMPLE_CODE_PAGE_SIZE) ? expected.code_page : 0));
  CHECK(BytesOf(sample.aux) == (has(PERF_SAMPLE_AUX) ? expected.aux : no_bytes));
}

TEST_CASE("samples with random fields are read in both byte orders") {
  Generator generator;
  for (int i = 0; i < 2000; ++i) {
    const ByteOrder order = i % 2 == 0 ? ByteOrder::kNative : ByteOrder::kSwapped;
    const Expected expected = generator.Sample(order);
    CAPTURE(i, expected.format.sample_type, expected.format.read_format);
    const std::vector<uint8_t> record = Build(expected);
    SampleRecord sample;
    REQUIRE(ParseSample(record, expected.format, &sample));
    CheckHead(sample, expected);
    CheckTail(sample, expected);
    if (order == ByteOrder::kNative) {
      const auto head = ParseSampleHead(record, expected.format.sample_type);
      REQUIRE(head.has_value());
      CheckHead(*head, expected);
    }
  }
}

TEST_CASE("each field of a sample is read alone") {
  Generator generator;
  for (uint64_t field = 1; field < kAllFields; field <<= 1) {
    for (const ByteOrder order : {ByteOrder::kNative, ByteOrder::kSwapped}) {
      Expected expected = generator.Sample(order);
      expected.format.sample_type = field;
      CAPTURE(field);
      const std::vector<uint8_t> record = Build(expected);
      SampleRecord sample;
      REQUIRE(ParseSample(record, expected.format, &sample));
      CheckHead(sample, expected);
      CheckTail(sample, expected);
    }
  }
}

TEST_CASE("a sample that is cut off anywhere is refused") {
  Generator generator;
  for (int i = 0; i < 40; ++i) {
    Expected expected = generator.Sample(i % 2 == 0 ? ByteOrder::kNative : ByteOrder::kSwapped);
    const std::vector<uint8_t> record = Build(expected);
    for (size_t size = 0; size < record.size(); ++size) {
      const std::unique_ptr<uint8_t[]> part(new uint8_t[size]);
      std::copy_n(record.begin(), size, part.get());
      CAPTURE(i, size);
      SampleRecord sample;
      if (ParseSample({part.get(), size}, expected.format, &sample)) {
        FAIL("a part was taken for the whole");
      }
    }
  }
}

TEST_CASE("the weight of a sample has three parts in one word") {
  RecordFormat format = {.sample_type = PERF_SAMPLE_WEIGHT_STRUCT};
  const uint64_t weight = uint64_t{3} << 48 | uint64_t{2} << 32 | 1;
  for (const ByteOrder order : {ByteOrder::kNative, ByteOrder::kSwapped}) {
    format.order = order;
    const std::vector<uint8_t> record = PerfRecordBuilder(format).Weight(weight).Sample();
    SampleRecord sample;
    REQUIRE(ParseSample(record, format, &sample));
    CHECK(sample.weight == weight);
  }
}

TEST_CASE("the first bit-field of a branch is the highest bit on a big-endian machine") {
  RecordFormat format = {.sample_type = PERF_SAMPLE_BRANCH_STACK, .order = ByteOrder::kSwapped};
  std::vector<uint8_t> record = PerfRecordBuilder(format).Branches({BranchEntry{}}, 0, {}).Sample();
  // mispred, and 5 cycles, as a big-endian machine leaves them in memory.
  const size_t flags = record.size() - 8;
  record[flags] = 0x80;
  record[flags + 2] = 0x50;
  SampleRecord sample;
  REQUIRE(ParseSample(record, format, &sample));
  REQUIRE(sample.branches.size() == 1);
  CHECK(sample.branches[0].mispredicted);
  CHECK_FALSE(sample.branches[0].predicted);
  CHECK(sample.branches[0].cycles == 5);
}

}  // namespace
}  // namespace hbbp
