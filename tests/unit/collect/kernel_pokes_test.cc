// Tests which version of changed kernel code KernelPokes chooses by the samples around it: versions
// that return, changes that overlap, generated and freed code, lost records, several pages, and
// records of any content. Poke() and Sample() make synthetic records and samples, Chunks() returns
// the code that was chosen.
#include "collect/kernel_pokes.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kText = 0xffffffff81000000;
constexpr uint64_t kPage = 4096;
const Bytes kNop = {0x0f, 0x1f, 0x44, 0x00, 0x00};
const Bytes kCall = {0xe8, 0x16, 0x00, 0x00, 0x00};
const Bytes kJump = {0xe9, 0x20, 0x00, 0x00, 0x00};

void Poke(uint64_t address, const Bytes& before, const Bytes& after, KernelPokes* pokes) {
  TextPokeRecord record;
  record.address = address;
  record.old_bytes = before;
  record.new_bytes = after;
  pokes->AddPoke(record);
}

void Sample(uint64_t ip, int count, KernelPokes* pokes) {
  for (int i = 0; i < count; ++i) pokes->AddSample(ip);
}

std::vector<std::pair<uint64_t, Bytes>> Chunks(const PokedCode& code) {
  std::vector<std::pair<uint64_t, Bytes>> chunks;
  for (const CodeChunk& chunk : code.chunks) {
    CHECK(chunk.name == kPokedCode);
    chunks.emplace_back(chunk.offset, chunk.bytes);
  }
  return chunks;
}

std::vector<std::pair<uint64_t, Bytes>> Chunks(const KernelPokes& pokes) {
  return Chunks(pokes.Code());
}

using Expected = std::vector<std::pair<uint64_t, Bytes>>;

TEST_CASE("the version of code counts that most samples of its page saw") {
  const auto version_with = [](int first, int second, int third) {
    KernelPokes pokes;
    Sample(kText + 100, first, &pokes);
    Poke(kText + 8, kNop, kCall, &pokes);
    Sample(kText + 100, second, &pokes);
    Poke(kText + 8, kCall, kJump, &pokes);
    Sample(kText + 100, third, &pokes);
    return Chunks(pokes);
  };
  CHECK(version_with(3, 2, 2) == Expected{{kText + 8, kNop}});
  CHECK(version_with(2, 3, 2) == Expected{{kText + 8, kCall}});
  CHECK(version_with(2, 2, 3) == Expected{{kText + 8, kJump}});
  CHECK(version_with(1, 0, 0) == Expected{{kText + 8, kNop}});
  CHECK(version_with(0, 0, 0).empty());
}

TEST_CASE("a version that returns has all its samples") {
  KernelPokes pokes;
  Sample(kText, 2, &pokes);
  Poke(kText + 8, kNop, kCall, &pokes);
  Sample(kText, 3, &pokes);
  Poke(kText + 8, kCall, kNop, &pokes);
  Sample(kText, 2, &pokes);
  Poke(kText + 8, kNop, kCall, &pokes);
  const PokedCode code = pokes.Code();
  CHECK(Chunks(code) == Expected{{kText + 8, kNop}});
  CHECK(code.records == 3);
  CHECK(code.bytes == 5);
  CHECK(code.earlier_bytes == 3);  // the last two bytes are the same
  CHECK(code.unexpected == 0);
}

TEST_CASE("samples elsewhere in the kernel count only where the page has none") {
  KernelPokes pokes;
  Sample(kText + 2 * kPage, 9, &pokes);
  Sample(kText, 1, &pokes);
  Sample(0x400000, 99, &pokes);
  Poke(kText + 8, kNop, kCall, &pokes);
  Poke(kText + kPage, kNop, kCall, &pokes);
  Poke(kText + (1 << 20), kNop, kCall, &pokes);
  Sample(kText, 2, &pokes);
  // The last poke is in no function with samples.
  CHECK(Chunks(pokes) == Expected{{kText + 8, kCall}, {kText + kPage, kNop}});
}

TEST_CASE("changes that overlap are one piece of code, and others are not") {
  KernelPokes pokes;
  // A kprobe is a breakpoint at first, and then a jump over what was there.
  Poke(kText, {0x55}, {0xcc}, &pokes);
  Sample(kText, 1, &pokes);
  Poke(kText, {0xcc, 0x48, 0x89, 0xe5, 0x90}, kJump, &pokes);
  Sample(kText, 3, &pokes);
  Poke(kText, kJump, {0x55, 0x48, 0x89, 0xe5, 0x90}, &pokes);
  Poke(kText + 5, {0x90}, {0xc3}, &pokes);
  Sample(kText, 2, &pokes);
  const PokedCode code = pokes.Code();
  CHECK(Chunks(code) == Expected{{kText, kJump}, {kText + 5, {0x90}}});
  CHECK(code.unexpected == 0);
}

TEST_CASE("code that was generated and freed is there if it has samples") {
  KernelPokes pokes;
  const Bytes first = {0x31, 0xc0, 0xc3}, second = {0x90, 0xc3};
  Sample(kText, 9, &pokes);
  Poke(kText, {}, first, &pokes);
  SECTION("as the only code") {
    Sample(kText + 1, 1, &pokes);
    Poke(kText, first, {}, &pokes);
    Sample(kText + 9, 9, &pokes);
    const PokedCode code = pokes.Code();
    CHECK(Chunks(code) == Expected{{kText, first}});
    CHECK(code.earlier_bytes == 3);
  }
  SECTION("before other code") {
    Sample(kText + 1, 1, &pokes);
    Poke(kText, first, {}, &pokes);
    Poke(kText + 1, {}, second, &pokes);
    Sample(kText + 1, 2, &pokes);
    Poke(kText + 1, {0x90}, {0xcc}, &pokes);
    CHECK(Chunks(pokes) == Expected{{kText + 1, second}});
  }
  SECTION("and is not if it has none") {
    Poke(kText, first, {}, &pokes);
    Sample(kText, 9, &pokes);
    CHECK(Chunks(pokes).empty());
    CHECK(DescribePokes(pokes.Code()).find("no sample saw that code") != std::string::npos);
  }
}

TEST_CASE("code that was generated before counts until it is changed or freed") {
  KernelPokes pokes;
  const Bytes program = {0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}, other = {0x90, 0xc3};
  pokes.AddGenerated(kText, program);
  pokes.AddGenerated(kText + 100, other);
  pokes.AddGenerated(0x400000, other);
  Sample(kText + 5, 1, &pokes);
  CHECK(Chunks(pokes) == Expected{{kText, program}, {kText + 100, other}});
  CHECK(DescribePokes(pokes.Code()).empty());
  Poke(kText, kNop, kCall, &pokes);
  Sample(kText + 5, 2, &pokes);
  const PokedCode code = pokes.Code();
  Bytes changed = kCall;
  changed.push_back(0xc3);
  CHECK(Chunks(code) == Expected{{kText, changed}, {kText + 100, other}});
  CHECK(code.records == 1);
  CHECK(code.bytes == 6);
  CHECK(code.excess == 0);
  CHECK(code.unexpected == 0);
}

TEST_CASE("a change that was lost is noticed") {
  KernelPokes pokes;
  Poke(kText, kNop, kCall, &pokes);
  Sample(kText, 1, &pokes);
  Poke(kText, kJump, kNop, &pokes);
  Sample(kText, 2, &pokes);
  const PokedCode code = pokes.Code();
  CHECK(code.unexpected == 1);
  CHECK(Chunks(code) == Expected{{kText, kNop}});
  CHECK(DescribePokes(code) ==
        "2 changes of kernel code while it was recorded (TEXT_POKE): 5 bytes are decoded as most "
        "samples near them saw them, 0 of them unlike they were at the end; before "
        "1 of them the code was changed without a record");
}

TEST_CASE("code over several pages has the samples of all") {
  KernelPokes pokes;
  const Bytes before(3 * kPage, 0x90), after(3 * kPage, 0xcc);
  Poke(kText, {}, before, &pokes);
  Sample(kText, 2, &pokes);
  Sample(kText + 2 * kPage, 2, &pokes);
  Poke(kText, before, after, &pokes);
  Sample(kText, 3, &pokes);
  CHECK(Chunks(pokes) == Expected{{kText, before}});
}

TEST_CASE("records of any content are safe and bounded") {
  KernelPokes pokes;
  CHECK(pokes.empty());
  CHECK(DescribePokes(pokes.Code()).empty());
  Poke(0x400000, kNop, kCall, &pokes);
  Poke(UINT64_MAX - 3, kNop, kCall, &pokes);
  Poke(kText, {}, {}, &pokes);
  Poke(UINT64_MAX - 16, kNop, kCall, &pokes);
  Sample(UINT64_MAX, 1, &pokes);
  CHECK(Chunks(pokes) == Expected{{UINT64_MAX - 16, kCall}});
  CHECK(pokes.Code().excess == 3);
  // Each version of the large piece differs from the others in a byte.
  const Bytes large(60'000, 0x90);
  Poke(kText, {}, large, &pokes);
  for (uint64_t i = 0; i < (1 << 18); ++i) {
    const auto byte = static_cast<uint8_t>(i);
    Poke(kText + i % large.size(), {byte}, {static_cast<uint8_t>(byte + 1)}, &pokes);
    pokes.AddSample(kText + i * kPage);
  }
  const PokedCode code = pokes.Code();
  CHECK(code.records == 1 << 18);
  CHECK(code.excess > 3);
  CHECK(code.bytes <= large.size() + 5);
}

}  // namespace
}  // namespace hbbp
