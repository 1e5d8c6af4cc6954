#include "pmu_model/trace.h"

#include <string>

#include "pmu_model/callgrind_writer.h"
#include "pmu_model/lackey.h"
#include "pmu_model/synthetic_trace.h"
#include "pmu_model/trace_builder.h"
#include "pmu_model/trace_file.h"
#include "support/catch.h"

namespace hbbp::simulation {
namespace {

std::vector<uint64_t> StartsOf(const Trace& trace) {
  std::vector<uint64_t> starts;
  for (const uint32_t block : trace.sequence) starts.push_back(trace.blocks[block].start);
  return starts;
}

Trace Build(SyntheticCode* code, const std::vector<uint64_t>& addresses) {
  TraceBuilder builder(code, 1000);
  for (const uint64_t address : addresses) CHECK(builder.Add(address));
  StatusOr<Trace> trace = builder.Finish("program");
  REQUIRE(trace.ok());
  return *std::move(trace);
}

// The program is 100: add; 104: jcc 100; 108: call 200; 10c: jmp 100. 200: ret.
SyntheticCode SmallProgram() {
  SyntheticCode code;
  code.Put(0x100);
  code.Put(0x104, BranchKind::kConditional);
  code.Put(0x108, BranchKind::kCall);
  code.Put(0x10c, BranchKind::kJump);
  code.Put(0x200, BranchKind::kReturn);
  return code;
}

TEST_CASE("a trace is the blocks between the first and the last taken branch") {
  SyntheticCode code = SmallProgram();
  const Trace trace = Build(&code, {0x100, 0x104, 0x100, 0x104, 0x108, 0x200, 0x10c, 0x100});
  CHECK(StartsOf(trace) == std::vector<uint64_t>{0x100, 0x108, 0x200, 0x10c});
  CHECK(trace.entry == BranchPair{0x104, 0x100});
  CHECK(trace.exit == 0x100);
  const TraceSize size = SizeOf(trace);
  CHECK(size.instructions == 5);
  CHECK(size.taken_branches == 3);  // call, ret, jmp; the jcc fell through
  CHECK(trace.FindBranch(trace.blocks[trace.sequence[1]], trace.After(1)) ==
        BranchPair{0x108, 0x200});
  CHECK(Executions(trace) == std::vector<uint64_t>{1, 1, 1, 1, 0});
}

TEST_CASE("a repeated string instruction is one, a branch to itself is many") {
  SyntheticCode code = SmallProgram();
  code.Put(0x300);
  code.Put(0x304, BranchKind::kConditional);
  code.Put(0x308, BranchKind::kJump);
  const Trace trace = Build(&code, {0x10c, 0x300, 0x300, 0x300, 0x304, 0x304, 0x304, 0x308, 0x100});
  CHECK(StartsOf(trace) == std::vector<uint64_t>{0x300, 0x304, 0x304, 0x308});
  CHECK(SizeOf(trace).instructions == 5);
  CHECK(SizeOf(trace).taken_branches == 3);
}

TEST_CASE("code in no file is left out, but the way there and back is not") {
  SyntheticCode code = SmallProgram();
  const Trace trace =
      Build(&code, {0x10c, 0x100, 0x104, 0x108, 0x9000, 0x9004, 0x10c, 0x100, 0x104});
  CHECK(StartsOf(trace) == std::vector<uint64_t>{0x100, 0x108, 0x9000, 0x10c});
  CHECK(trace.outside == 2);
  CHECK(SizeOf(trace).instructions == 4);
  CHECK(trace.FindBranch(trace.blocks[trace.sequence[2]], trace.After(2)) ==
        BranchPair{0x9000, 0x10c});
}

TEST_CASE("a trace ends at its limit, and needs two branches") {
  SyntheticCode code = SmallProgram();
  TraceBuilder builder(&code, 3);
  CHECK(builder.Add(0x100));
  CHECK(builder.Add(0x104));
  CHECK(builder.Add(0x100));
  CHECK_FALSE(builder.Add(0x104));
  const StatusOr<Trace> trace = builder.Finish("program");
  REQUIRE_FALSE(trace.ok());
  CHECK(trace.status().message().find("program ran 3 instructions") != std::string::npos);
}

TEST_CASE("a trace in a file is the same trace") {
  Trace trace = TraceOfBlocks({2, 3, 5}, InTurns(3, 4));
  trace.modules[0].build_id = {1, 2, 3};
  const std::vector<uint8_t> bytes = EncodeTrace(trace);
  const StatusOr<Trace> read = DecodeTrace(bytes, "file");
  REQUIRE(read.ok());
  CHECK(*read == trace);
}

TEST_CASE("what is cut off or damaged in the file of a trace is reported") {
  const Trace trace = TraceOfBlocks({2, 3}, InTurns(2, 3));
  const std::vector<uint8_t> bytes = EncodeTrace(trace);
  for (size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    const StatusOr<Trace> read = DecodeTrace(std::span(bytes).first(size), "file");
    REQUIRE_FALSE(read.ok());
    CHECK(read.status().code() == StatusCode::kBadFormat);
  }
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  CHECK_FALSE(DecodeTrace(longer, "file").ok());
  std::vector<uint8_t> no_such_block = bytes;
  no_such_block[bytes.size() - 4] = 7;
  CHECK_FALSE(DecodeTrace(no_such_block, "file").ok());
  // A flipped byte gives another trace or an error, and no access beyond the end.
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<uint8_t> damaged = bytes;
    damaged[i] ^= 0xff;
    const StatusOr<Trace> read = DecodeTrace(damaged, "file");
    if (read.ok()) {
      SizeOf(*read);
      CallgrindText(*read);
    }
  }
}

TEST_CASE("instructions of lackey's lines") {
  CHECK(InstructionOfLackeyLine("I  00401920,2") == 0x401920);
  CHECK(InstructionOfLackeyLine("I  1fff000698,15") == 0x1fff000698);
  for (const char* line : {"", "I  ", "I  ,2", "I  4019", "I  xyz,1", " L 1fff0006a0,8",
                           " S 1fff0006a0,8", "==16102== I  00401920,2"}) {
    CAPTURE(line);
    CHECK_FALSE(InstructionOfLackeyLine(line).has_value());
  }
}

TEST_CASE("lines that come in pieces") {
  const std::string text = "I  10,2\n S 1,8\n\nI  200,4\nrest";
  for (size_t size = 1; size <= text.size(); ++size) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size(); at += size) {
      CHECK(splitter.Add(std::string_view(text).substr(at, size), [&lines](std::string_view line) {
        lines.emplace_back(line);
        return true;
      }));
    }
    CHECK(lines == std::vector<std::string>{"I  10,2", " S 1,8", "", "I  200,4"});
  }
  CHECK_FALSE(LineSplitter().Add("a\nb\n", [](std::string_view line) { return line != "b"; }));
}

TEST_CASE("exact counts are those of the addresses in the file") {
  Trace trace = TraceOfBlocks({1, 2}, InTurns(2, 3));
  trace.modules[0].load_bias = 0x800;
  const std::string text = CallgrindText(trace);
  CHECK(text.find("positions: instr\nevents: Ir\n") != std::string::npos);
  // Of six blocks, the first is before the first taken branch and the last one after the last.
  CHECK(text.find("ob=/bin/made\nfn=traced\n0x800 2\n0x1800 2\n0x1804 2\ntotals: 6\n") !=
        std::string::npos);
}

}  // namespace
}  // namespace hbbp::simulation
