#include "perf_data/perf_script_line.h"

#include <sys/mman.h>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("mappings are written with inodes, with build IDs, and as old kernels did") {
  auto mmap = ParseMmapLine(
      "server 7 1.5: PERF_RECORD_MMAP2 7/8: [0x400000(0x1000) @ 0x2000 08:1d 77 5]: r-xp /a file");
  REQUIRE(mmap);
  CHECK(mmap->pid == 7);
  CHECK(mmap->tid == 8);
  CHECK(mmap->address == 0x400000);
  CHECK(mmap->size == 0x1000);
  CHECK(mmap->file_offset == 0x2000);
  CHECK(mmap->inode == 77);
  CHECK(mmap->protection == PROT_EXEC);
  CHECK(mmap->path == "/a file");

  mmap = ParseMmapLine("PERF_RECORD_MMAP2 -1/0: [0xffffffff81000000(0x10) @ 0 <00ff10>]: r--p k\r");
  REQUIRE(mmap);
  CHECK(mmap->pid == UINT32_MAX);
  CHECK(mmap->build_id == std::vector<uint8_t>{0x00, 0xff, 0x10});
  CHECK(mmap->protection == 0);
  CHECK(mmap->path == "k");

  mmap = ParseMmapLine("PERF_RECORD_MMAP 7/7: [0x400000(0x1000) @ 0]: x /bin/a");
  REQUIRE(mmap);
  CHECK(mmap->path == "/bin/a");
  CHECK(mmap->protection == PROT_EXEC);
}

TEST_CASE("what is not a whole mapping is none") {
  for (const char* line :
       {"", "PERF_RECORD_MMAP2", "PERF_RECORD_MMAP2 7/7: [0x40", "PERF_RECORD_COMM exec: x:7/7",
        "PERF_RECORD_MMAP2 7/7: [zz(0x1000) @ 0 08:1d 77 5]: r-xp /a"}) {
    CHECK(!ParseMmapLine(line));
  }
}

TEST_CASE("branches have the fields that their perf knew") {
  auto branch = ParseBranchWord("0x40062f/0x4005b0/P/-/-/9");
  REQUIRE(branch);
  CHECK(branch->from == 0x40062f);
  CHECK(branch->to == 0x4005b0);
  CHECK(!branch->is_speculative);
  CHECK(branch->cycles == 9);
  CHECK(ParseBranchWord("0x1/0x2/M/X/A/65535/COND/-")->cycles == 65535);
  for (const char* word : {"0x1/0x2", "0x1/0x2/P", "0x1/0x2/P/-/-", "0x1/0x2/P/-/-/70000"}) {
    REQUIRE(ParseBranchWord(word));
    CHECK(ParseBranchWord(word)->cycles == 0);
  }
  CHECK(ParseBranchWord("0x40062f/0x4005b0"));
  CHECK(ParseBranchWord("0x1/0x2/M/-/-/1/COND/SPEC_WRONG_PATH")->is_speculative);
  CHECK(!ParseBranchWord("0x1/0x2/M/-/-/1/COND/NON_SPEC_CORRECT_PATH")->is_speculative);
  for (const char* word : {"", "40062f", "0x40062f", "0x/0x", "0x1/0xz/P", "0x1(/bin/a)/0x2"}) {
    CHECK(!ParseBranchWord(word));
  }
}

TEST_CASE("samples are recognized by their looks") {
  auto sample = ParseSampleLine("  40062f 0x4/0x3/P/-/-/1  0x2/0x1/P/-/-/2 ");
  REQUIRE(sample);
  CHECK(sample->ip == 0x40062f);
  CHECK(!sample->pid);
  REQUIRE(sample->branches.size() == 2);
  CHECK(sample->branches[0].from == 4);

  sample = ParseSampleLine(" 1234 0x4/0x3/P/-/-/1");
  CHECK(sample->ip_or_pid == 1234);

  sample = ParseSampleLine(" 1234 40062f 0x4/0x3/P/-/-/1");
  CHECK(sample->pid == 1234);
  CHECK(sample->ip == 0x40062f);

  sample = ParseSampleLine(
      "my server  7/8 [001]  12.000345:  1000  cycles:u:  40062f main+0x4 (/bin/a)  0x4/0x3/P");
  CHECK(sample->pid == 7);
  CHECK(sample->tid == 8);
  CHECK(sample->event == "cycles:u");
  CHECK(sample->period == 1000);
  CHECK(sample->ip == 0x40062f);
  CHECK(sample->branches.size() == 1);

  sample = ParseSampleLine("server 8 12.000345: cycles:u: 40062f 0x4/0x3/P");
  CHECK(sample->tid == 8);
  CHECK(sample->event == "cycles:u");
  CHECK(!sample->period);
  CHECK(!ParseSampleLine("server 8 cycles:u: 40062f 0x4/0x3/P")->period);

  sample = ParseSampleLine("server  7/8  12.000345:  1000 cycles:u: ");
  REQUIRE(sample);
  CHECK(sample->pid == 7);
  CHECK(sample->event == "cycles:u");
  CHECK(!sample->ip);

  for (const char* line : {"7/8 12.5: 1000 40062f 0x4/0x3/P", "7 1000 40062f 0x4/0x3/P"}) {
    sample = ParseSampleLine(line);
    CHECK(sample->pid == 7);
    CHECK(sample->period == 1000);
    CHECK(sample->ip == 0x40062f);
  }
  for (const char* line :
       {"my server 7/8 40062f 0x4/0x3/P", "my server 7/8 [001] 40062f 0x4/0x3/P"}) {
    sample = ParseSampleLine(line);
    CHECK(sample->pid == 7);
    CHECK(!sample->period);
    CHECK(sample->ip == 0x40062f);
  }
  sample = ParseSampleLine("my server 7/8 1000 40062f 0x4/0x3/P");
  CHECK(sample->tid == 8);
  CHECK(sample->period == 1000);
  CHECK(sample->ip == 0x40062f);
  sample = ParseSampleLine("server 7 40062f 0x4/0x3/P");
  CHECK(sample->pid == 7);
  CHECK(!sample->may_be_period);
  CHECK(!sample->period);
  CHECK(!ParseSampleLine("server at 40062f 0x4/0x3/P")->ip);
  CHECK(ParseSampleLine("1000 40062f 0x4/0x3/P")->may_be_period);
  CHECK(!ParseSampleLine("7/8 40062f 0x4/0x3/P")->may_be_period);
  CHECK(!ParseSampleLine("7 12.5: 400620 add 0x4/0x3/P")->period);

  CHECK(ParseSampleLine("\t  40062f")->ip == 0x40062f);
  for (const char* line : {"", "   ", "// a comment", "// 0x40062f/0x4005b0/P/-/-/0 in one",
                           "# ip: 40062f", "; another one", "no sample at all"}) {
    CHECK(!ParseSampleLine(line));
  }
}

TEST_CASE("a count stands alone, at the start of its line") {
  CHECK(ParseCountLine("12") == 12u);
  CHECK(ParseCountLine("12\r") == 12u);
  for (const char* line : {"", " 12", "12 ", "12a", "-1"}) CHECK(!ParseCountLine(line));
}

}  // namespace
}  // namespace hbbp
