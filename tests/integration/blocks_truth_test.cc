// Checks that every block of BlockMap runs as a whole: valgrind counts how often each instruction
// of real programs ran, and within a block all of them must have run equally often.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "blocks/block_map.h"
#include "image/elf_image.h"
#include "support/catch.h"
#include "support/temporary_folder.h"
#include "truth/callgrind.h"

namespace hbbp {
namespace {

constexpr double kMaxViolatingShare = 0.005;

// Callgrind counts the iterations of these.
bool IsRepeated(std::span<const uint8_t> code) {
  if (code.empty() || (code[0] != 0xf2 && code[0] != 0xf3)) return false;
  size_t i = 1;
  while (i < code.size() && ((code[i] & 0xf0) == 0x40 || code[i] == 0x66)) ++i;
  if (i == code.size()) return false;
  return (code[i] >= 0xa4 && code[i] <= 0xa7) || (code[i] >= 0xaa && code[i] <= 0xaf);
}

struct Violations {
  uint64_t executed = 0;
  uint64_t violating = 0;
};

Violations CompareObject(const tools::TruthObject& object) {
  Violations result;
  auto image = ElfImage::Open(object.path);
  if (!image.ok()) return result;
  BlockMap map(image->get());

  struct Executed {
    Block block;
    std::vector<tools::InstructionCount> instructions;
  };
  std::map<uint64_t, Executed> blocks;
  for (const auto& instruction : object.instructions) {
    const auto block = map.Find({instruction.address});
    INFO(object.path << " at 0x" << std::hex << instruction.address);
    REQUIRE(block.has_value());
    Executed& executed = blocks[block->start.value];
    executed.block = *block;
    executed.instructions.push_back(instruction);
  }
  for (const auto& [start, executed] : blocks) {
    ++result.executed;
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    for (const auto& instruction : executed.instructions) {
      if (IsRepeated((*image)->CodeAt({instruction.address}, 15))) continue;
      low = std::min(low, instruction.count);
      high = std::max(high, instruction.count);
    }
    const bool complete = executed.instructions.size() == executed.block.instruction_count;
    if (complete && (low == high || high == 0)) continue;
    ++result.violating;
    std::printf("%s 0x%llx-0x%llx %s: %zu of %u instructions ran %llu to %llu times\n",
                object.path.c_str(), static_cast<unsigned long long>(start),
                static_cast<unsigned long long>(executed.block.end.value),
                (*image)->FunctionName({start}).c_str(), executed.instructions.size(),
                executed.block.instruction_count, static_cast<unsigned long long>(low),
                static_cast<unsigned long long>(high));
  }
  std::printf("%s: %llu blocks ran, %llu of them not as a whole\n", object.path.c_str(),
              static_cast<unsigned long long>(result.executed),
              static_cast<unsigned long long>(result.violating));
  return result;
}

void CheckProgram(const TemporaryFolder& directory, const std::string& command) {
  const std::string output = directory.File("callgrind.out");
  INFO(command);
  // Otherwise the PLT's instructions would count for the call instruction.
  REQUIRE(RunCommand(
      "valgrind --tool=callgrind --dump-instr=yes --skip-plt=no --callgrind-out-file=" + output +
      " " + command));
  const auto truth = tools::ReadCallgrindFile(output);
  REQUIRE(truth.ok());
  Violations total;
  for (const auto& object : truth->objects) {
    if (object.path.empty() || object.path[0] != '/') continue;
    const Violations violations = CompareObject(object);
    total.executed += violations.executed;
    total.violating += violations.violating;
  }
  REQUIRE(total.executed > 100);
  CHECK(static_cast<double>(total.violating) <
        kMaxViolatingShare * static_cast<double>(total.executed));
}

TEST_CASE("blocks of bzip2 run as a whole") {
  if (!HasProgram("valgrind") || !HasProgram("bzip2")) HBBP_SKIP("no valgrind or no bzip2");
  const TemporaryFolder directory;
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * i % 9973) + (i % 7 ? " " : "\n");
  directory.Write("in", text);
  CheckProgram(directory, "bzip2 -kc " + directory.File("in"));
}

TEST_CASE("blocks of lua run as a whole") {
  if (!HasProgram("valgrind") || !HasProgram("lua5.4")) HBBP_SKIP("no valgrind or no lua5.4");
  const TemporaryFolder directory;
  directory.Write("in.lua", R"(
local t = {}
for i = 1, 3000 do t[i] = (i * 7919) % 1000 end
table.sort(t)
local s = ""
for i = 1, 200 do s = s .. string.format("%d,%5.2f;", t[i], i / 7) end
for w in s:gmatch("%d+") do t[#t + 1] = tonumber(w) end
local f = {}
for i = 1, 50 do f[i] = function(x) return x + i end end
local n = 0
for i = 1, 2000 do n = n + f[i % 50 + 1](i) // 3 ~ (i & 5) end
print(n, #s, pcall(error, "x"))
)");
  CheckProgram(directory, "lua5.4 " + directory.File("in.lua"));
}

TEST_CASE("blocks of perl run as a whole") {
  if (!HasProgram("valgrind") || !HasProgram("perl")) HBBP_SKIP("no valgrind or no perl");
  const TemporaryFolder directory;
  directory.Write("in.pl", R"(
my %h;
for my $i (1 .. 2000) { $h{$i % 97} .= sprintf("%x,", $i * $i); }
my $n = 0;
for my $k (sort { $a <=> $b } keys %h) { $n += () = $h{$k} =~ /([a-f]+)\d*/g; }
my $s = join "|", map { ucfirst lc } qw(ALPHA beta Gamma);
$s =~ s/(\w)\|/$1-/g;
eval { die "x" };
print "$n $s $@";
)");
  CheckProgram(directory, "perl " + directory.File("in.pl"));
}

}  // namespace
}  // namespace hbbp
