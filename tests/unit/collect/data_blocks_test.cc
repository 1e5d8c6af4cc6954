// Tests DataBlocks, which knows what memory processes have named, and AccessTable, which adds up
// accesses: times, parts of blocks, processes and their children, and limits.
#include "collect/data_blocks.h"

#include <new>
#include <string>
#include <string_view>

#include "collect/access_table.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr uint32_t kPid = 7;

DataEvent Block(std::string_view name, uint64_t address, uint64_t size, uint64_t time_ns,
                uint32_t pid = kPid) {
  return {pid, {address}, size, name, time_ns};
}

DataEvent Freed(uint64_t address, uint64_t size, uint64_t time_ns, uint32_t pid = kPid) {
  return Block("", address, size, time_ns, pid);
}

std::string NameAt(const DataBlocks& blocks, uint64_t address, uint64_t time_ns,
                   uint32_t pid = kPid) {
  const auto number = blocks.Find(pid, {address}, time_ns);
  return number ? blocks.name(*number) : "";
}

TEST_CASE("a block has its memory until another one replaces it, or it is freed") {
  CountedMemory memory;
  DataBlocks blocks(&memory);
  CHECK(blocks.Add(Block("first", 0x1000, 0x100, 10)));
  CHECK(blocks.Add(Block("second", 0x1080, 0x100, 20)));
  CHECK(blocks.Add(Freed(0x1000, 0x180, 30)));
  CHECK(NameAt(blocks, 0x1000, 9).empty());
  CHECK(NameAt(blocks, 0x1000, 10) == "first");
  CHECK(NameAt(blocks, 0x10ff, 19) == "first");
  CHECK(NameAt(blocks, 0x1100, 19).empty());
  CHECK(NameAt(blocks, 0x107f, 20) == "first");
  CHECK(NameAt(blocks, 0x1080, 20) == "second");
  CHECK(NameAt(blocks, 0x117f, 29) == "second");
  CHECK(NameAt(blocks, 0x1180, 29).empty());
  CHECK(NameAt(blocks, 0x1080, 30).empty());
  CHECK(NameAt(blocks, 0x1080, 20, kPid + 1).empty());
}

TEST_CASE("blocks that are reported late are there from their time on") {
  CountedMemory memory;
  DataBlocks blocks(&memory);
  CHECK(blocks.Add(Block("newer", 0x1000, 0x100, 50)));
  CHECK(blocks.Add(Block("older", 0x1000, 0x100, 10)));
  CHECK(NameAt(blocks, 0x1000, 49) == "older");
  CHECK(NameAt(blocks, 0x1000, 50) == "newer");
}

TEST_CASE("a block may end at the last address") {
  CountedMemory memory;
  DataBlocks blocks(&memory);
  CHECK(blocks.Add(Block("last", UINT64_MAX - 15, UINT64_MAX, 0)));
  CHECK(NameAt(blocks, UINT64_MAX - 15, 1) == "last");
}

TEST_CASE("a child has the blocks of its parent until one of them changes its own") {
  CountedMemory memory;
  DataBlocks blocks(&memory);
  constexpr uint32_t kChild = 8;
  CHECK(blocks.Add(Block("both", 0x1000, 0x100, 10)));
  blocks.Share(kPid, kChild);
  CHECK(blocks.Add(Block("child's", 0x1000, 0x100, 20, kChild)));
  CHECK(NameAt(blocks, 0x1000, 30) == "both");
  CHECK(NameAt(blocks, 0x1000, 15, kChild) == "both");
  CHECK(NameAt(blocks, 0x1000, 30, kChild) == "child's");
  blocks.Drop(kPid);
  CHECK(NameAt(blocks, 0x1000, 30).empty());
  CHECK(NameAt(blocks, 0x1000, 15, kChild) == "both");
}

TEST_CASE("blocks that come and go without end find room, once the samples of their time did") {
  CountedMemory memory;
  DataBlocks blocks(&memory, {64, 2});
  for (uint64_t time = 10; time < 10'000; time += 10) {
    blocks.SetSettled(time - 1);
    CHECK(blocks.Add(Block("comes and goes", 0x1000 * time, 0x100, time)));
    CHECK(NameAt(blocks, 0x1000 * time, time + 1) == "comes and goes");
    CHECK(blocks.Add(Freed(0x1000 * time, 0x100, time + 5)));
  }
  CHECK(blocks.refused() == 0);
  CHECK(memory.used() < 64 * 1024);
}

TEST_CASE("a block without room is refused, and no other block has its memory") {
  CountedMemory memory;
  DataBlocks blocks(&memory, {16, 2});
  CHECK(blocks.Add(Block("one name", 0x1000, 0x100, 1)));
  CHECK(blocks.Add(Block("another", 0x2000, 0x100, 1)));
  CHECK_FALSE(blocks.Add(Block("too many names", 0x1000, 0x100, 2)));
  CHECK(NameAt(blocks, 0x1000, 1) == "one name");
  CHECK(NameAt(blocks, 0x1000, 2).empty());
  uint64_t refused = 1;
  for (uint64_t i = 0; i < 100; ++i) {
    if (!blocks.Add(Block("another", 0x10000 + 0x1000 * i, 0x100, 3))) ++refused;
  }
  CHECK(refused > 1);
  CHECK(blocks.refused() >= refused);
  CHECK(memory.used() < 64 * 1024);
}

TEST_CASE("what a split copies counts, so that parts of much replaced memory stay in the limit") {
  CountedMemory memory;
  constexpr size_t kPieces = 1024;
  DataBlocks blocks(&memory, {kPieces, 4});
  for (uint64_t time = 1; time < 500; ++time) {
    CHECK(blocks.Add(time % 2 == 1 ? Block("arena", 0, 0x100000, time) : Freed(0, 0x100000, time)));
  }
  CHECK(blocks.refused() == 0);
  CHECK_FALSE(blocks.Add(Block("part", 0x1000, 0x100, 501)));
  CHECK(NameAt(blocks, 0x1000, 501).empty());
  for (uint64_t i = 2; i < 200; ++i) {
    (void)blocks.Add(Block("part", 0x1000 * i, 0x100, 500 + i));
    CHECK(memory.used() <= 2 * kPieces * 128 + 4 * 512);
  }
  CHECK(blocks.refused() > 100);
}

TEST_CASE("a child that changes the blocks of its parent takes as many more") {
  CountedMemory memory;
  DataBlocks blocks(&memory, {64, 2});
  for (uint64_t i = 0; i < 40; ++i) CHECK(blocks.Add(Block("block", 0x1000 * i, 0x100, 1)));
  blocks.Share(kPid, kPid + 1);
  CHECK_FALSE(blocks.Add(Block("block", 0x100000, 0x100, 2, kPid + 1)));
  CHECK(blocks.refused() == 1);
}

TEST_CASE("replaced blocks make room as soon as they are settled, without new names") {
  CountedMemory memory;
  DataBlocks blocks(&memory, {64, 2});
  uint64_t time = 0;
  while (blocks.refused() == 0) {
    ++time;
    (void)blocks.Add(time % 2 == 1 ? Block("block", 0x1000, 0x100, time)
                                   : Freed(0x1000, 0x100, time));
  }
  CHECK(time == 65);
  blocks.SetSettled(1'000'000'000);
  for (uint64_t later = 0; later < 1000; ++later) {
    CHECK(blocks.Add(Block("block", 0x1000, 0x100, 2'000 + later)));
    CHECK(blocks.Add(Freed(0x1000, 0x100, 2'000 + later)));
  }
  CHECK(blocks.refused() == 1);
}

TEST_CASE("without memory a process has no blocks rather than old ones, and they are counted") {
  CountedMemory memory({}, 1 << 16);
  DataBlocks blocks(&memory);
  CHECK(blocks.Add(Block("old", 0x1000, 0x100, 1)));
  CHECK(blocks.Add(Block("old", 0x2000, 0x100, 1)));
  const bool is_freed = GENERATE(false, true);
  const uint64_t left = memory.limit() - memory.used();
  memory.AddOthers(left);
  const std::string name = is_freed ? "" : "new";
  CHECK_THROWS_AS(blocks.Add(Block(name, 0x1000, 0x80, 2)), std::bad_alloc);
  CHECK(NameAt(blocks, 0x1000, 2).empty());
  CHECK(NameAt(blocks, 0x2000, 2).empty());
  CHECK(blocks.refused() == (is_freed ? 2 : 3));
  memory.SubtractOthers(left);
  CHECK(blocks.Add(Block("new", 0x1000, 0x80, 3)));
  CHECK(NameAt(blocks, 0x1000, 3) == "new");
}

TEST_CASE("a name that found no memory is charged once it does") {
  CountedMemory memory({}, 1 << 16);
  DataBlocks blocks(&memory);
  const std::string name(40'000, 'x');
  memory.AddOthers(40'000);
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(blocks.Add(Block(name, 0, 1, 1)), std::bad_alloc);
  memory.SubtractOthers(40'000);
  CHECK(blocks.Add(Block(name, 0, 1, 1)));
  CHECK(memory.used() < 42'000);
}

TEST_CASE("retired blocks have the accesses that still come, but no memory of newer blocks") {
  CountedMemory memory;
  DataBlocks blocks(&memory);
  CHECK(blocks.Add(Block("old", 0x1000, 0x200, 1)));
  blocks.Retire(kPid);
  CHECK(blocks.Add(Block("new", 0x1000, 0x100, 5)));
  CHECK(NameAt(blocks, 0x1000, 4) == "old");
  CHECK(NameAt(blocks, 0x1000, 5) == "new");
  CHECK(NameAt(blocks, 0x1100, 5) == "old");
  blocks.DropRetired(10);
  CHECK(NameAt(blocks, 0x1100, 5) == "old");
  const bool is_last = GENERATE(false, true);
  blocks.DropRetired(is_last ? UINT64_MAX : 20);
  CHECK(NameAt(blocks, 0x1100, 5).empty());
  CHECK(NameAt(blocks, 0x1000, 4).empty());
  CHECK(NameAt(blocks, 0x1000, 5) == "new");
  blocks.Retire(kPid);
  blocks.Drop(kPid);
  CHECK(NameAt(blocks, 0x1000, 5).empty());
}

IbsAccesses Range(uint64_t address, uint64_t bytes) {
  IbsAccesses range;
  range.module = 0;
  range.address = address;
  range.bytes = bytes;
  return range;
}

struct Lines {
  static bool Coarsen(IbsAccesses* range) {
    if (range->bytes == 64) return false;
    range->bytes = 64;
    range->address = range->address / 64 * 64;
    return true;
  }
};

TEST_CASE("the least sampled ranges become coarser before any is dropped") {
  AccessTable<Lines> table(8);
  IbsOp load;
  load.is_load = true;
  constexpr uint64_t kHot = 0x100000;
  for (uint64_t i = 0; i < 1000; ++i) {
    table.Add(MakeAccesses(load, Range(kHot + i % 4, 1)));
    table.Add(MakeAccesses(load, Range(i % 256, 1)));
  }
  std::vector<IbsAccesses> accesses;
  table.AppendTo(&accesses);
  uint64_t hot = 0, all = 0;
  for (const IbsAccesses& range : accesses) {
    all += range.loads;
    if (range.address >= kHot && range.bytes == 1) hot += range.loads;
  }
  CHECK(accesses.size() < 16);
  CHECK(hot == 1000);
  CHECK(all == 2000);
  CHECK(table.dropped(0) == 0);
}

}  // namespace
}  // namespace hbbp
