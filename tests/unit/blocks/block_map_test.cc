// Tests BlockMap, which divides functions into basic blocks: leaders and terminators, data between
// code, related parts of a function, jump tables, evidence of where instructions and blocks begin,
// and functions that are decoded in windows. All code is machine code that the tests write byte by
// byte (FakeModuleCode); MakeBlock() makes the expected blocks.
#include "blocks/block_map.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.h"
#include "support/fake_module_code.h"

namespace hbbp {

std::ostream& operator<<(std::ostream& out, const Block& block) {
  return out << "[0x" << std::hex << block.start.value << ", 0x" << block.end.value << ") "
             << std::dec << block.instruction_count << " kind "
             << static_cast<int>(block.terminator) << " target 0x" << std::hex
             << (block.has_target ? block.target.value : 0) << std::dec;
}

namespace {

using Bytes = std::vector<uint8_t>;

Block MakeBlock(uint64_t start, uint64_t end, uint32_t instructions,
                BranchKind kind = BranchKind::kNone, std::optional<uint64_t> target = {}) {
  Block block;
  block.start = {start};
  block.end = {end};
  block.instruction_count = instructions;
  block.terminator = kind;
  block.has_target = target.has_value();
  block.target = {target.value_or(0)};
  return block;
}

// Returns the words as little-endian bytes.
template <typename T>
Bytes Words(const std::vector<T>& words) {
  Bytes bytes;
  for (const T word : words) {
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes.push_back(static_cast<uint8_t>(static_cast<uint64_t>(word) >> (8 * i)));
    }
  }
  return bytes;
}

TEST_CASE("a conditional branch makes three blocks") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0x85, 0xff,                    // test %edi,%edi
                          0x74, 0x05,                    // je 0x1009
                          0xb8, 0x01, 0x00, 0x00, 0x00,  // mov $1,%eax
                          0xc3});                        // ret
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1004}) ==
        std::vector<Block>{MakeBlock(0x1000, 0x1004, 2, BranchKind::kConditional, 0x1009),
                           MakeBlock(0x1004, 0x1009, 1),
                           MakeBlock(0x1009, 0x100a, 1, BranchKind::kReturn)});
  CHECK(map.statistics().functions == 1);
  CHECK(map.statistics().instructions == 4);
  CHECK(map.statistics().blocks == 3);
}

TEST_CASE("Find takes any address inside a block and nothing outside the code") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xb8, 0x01, 0x00, 0x00, 0x00, 0xc3});  // mov $1,%eax; ret
  BlockMap map(&module);
  const Block whole = MakeBlock(0x1000, 0x1006, 2, BranchKind::kReturn);
  for (uint64_t address = 0x1000; address < 0x1006; ++address) {
    REQUIRE(map.Find({address}).has_value());
    CHECK(*map.Find({address}) == whole);
  }
  CHECK_FALSE(map.Find({0xfff}).has_value());
  CHECK_FALSE(map.Find({0x1006}).has_value());
  CHECK_FALSE(map.Find({0}).has_value());
  CHECK_FALSE(map.Find({UINT64_MAX}).has_value());
  CHECK(map.FunctionBlocks({0x1006}).empty());
}

TEST_CASE("calls and system calls end blocks") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xe8, 0xfb, 0x0f, 0x00, 0x00,  // call 0x2000
                          0x0f, 0x05,                    // syscall
                          0xff, 0xd0,                    // call *%rax
                          0xc3});                        // ret
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1000}) ==
        std::vector<Block>{MakeBlock(0x1000, 0x1005, 1, BranchKind::kCall, 0x2000),
                           MakeBlock(0x1005, 0x1007, 1, BranchKind::kSystem),
                           MakeBlock(0x1007, 0x1009, 1, BranchKind::kIndirectCall),
                           MakeBlock(0x1009, 0x100a, 1, BranchKind::kReturn)});
}

TEST_CASE("a backward branch splits the block before it") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0x90,        // nop
                          0xff, 0xcf,  // dec %edi
                          0x75, 0xfc,  // jne 0x1001
                          0xc3});      // ret
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1000}) ==
        std::vector<Block>{MakeBlock(0x1000, 0x1001, 1),
                           MakeBlock(0x1001, 0x1005, 2, BranchKind::kConditional, 0x1001),
                           MakeBlock(0x1005, 0x1006, 1, BranchKind::kReturn)});
}

TEST_CASE("undecodable bytes are in no block") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xeb, 0x02,  // jmp 0x1004
                          0x06, 0x06,  // no instruction of x86-64
                          0xc3,        // ret
                          0x06});
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1000}) ==
        std::vector<Block>{MakeBlock(0x1000, 0x1002, 1, BranchKind::kJump, 0x1004),
                           MakeBlock(0x1004, 0x1005, 1, BranchKind::kReturn)});
  CHECK_FALSE(map.Find({0x1002}).has_value());
  CHECK_FALSE(map.Find({0x1003}).has_value());
  CHECK_FALSE(map.Find({0x1005}).has_value());
  CHECK(map.statistics().undecodable_bytes == 3);
}

TEST_CASE("zeros between code are data") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xc3, 0x00, 0x00, 0x00, 0x00, 0x00, 0x48, 0x89, 0xc3,  // mov %rax,%rbx
                          0xc3});
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1000}) ==
        std::vector<Block>{MakeBlock(0x1000, 0x1001, 1, BranchKind::kReturn),
                           MakeBlock(0x1006, 0x100a, 2, BranchKind::kReturn)});
  CHECK(map.statistics().undecodable_bytes == 5);
}

TEST_CASE("padding after a return ends where code begins") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xc3,                    // ret
                          0x66, 0x90,              // xchg %ax,%ax
                          0x0f, 0x1f, 0x40, 0x00,  // nopl 0(%rax)
                          0xff, 0xc0,              // inc %eax
                          0xc3});                  // ret
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1000}) ==
        std::vector<Block>{MakeBlock(0x1000, 0x1001, 1, BranchKind::kReturn),
                           MakeBlock(0x1001, 0x1007, 2),
                           MakeBlock(0x1007, 0x100a, 2, BranchKind::kReturn)});
}

TEST_CASE("endbr64 starts a block") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xff, 0xc0, 0xf3, 0x0f, 0x1e, 0xfa, 0xc3});
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1000}) ==
        std::vector<Block>{MakeBlock(0x1000, 0x1002, 1),
                           MakeBlock(0x1002, 0x1007, 2, BranchKind::kReturn)});
}

TEST_CASE("a branch over a lock prefix makes both ways blocks") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0x74, 0x01,              // je 0x1003
                          0xf0, 0x0f, 0xb1, 0x0f,  // lock cmpxchg %ecx,(%rdi)
                          0xff, 0xc0,              // inc %eax
                          0xc3});                  // ret
  BlockMap map(&module);
  Block locked = MakeBlock(0x1002, 0x1003, 1);
  locked.overhang = 3;
  CHECK(locked.next() == ModuleAddress{0x1006});
  const std::vector<Block> expected = {
      MakeBlock(0x1000, 0x1002, 1, BranchKind::kConditional, 0x1003), locked,
      MakeBlock(0x1003, 0x1006, 1), MakeBlock(0x1006, 0x1009, 2, BranchKind::kReturn)};
  CHECK(map.FunctionBlocks({0x1000}) == expected);
  map.AddInstructionEvidence({0x1003});
  CHECK(map.FunctionBlocks({0x1000}) == expected);
  map.AddInstructionEvidence({0x1002});
  CHECK(map.FunctionBlocks({0x1000}) == expected);
}

TEST_CASE("a branch into an instruction that skips no prefix is ignored") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0x74, 0x02,                    // je 0x1004
                          0xb8, 0x90, 0x90, 0x90, 0x90,  // mov $0x90909090,%eax
                          0xc3});                        // ret
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1000}) ==
        std::vector<Block>{MakeBlock(0x1000, 0x1002, 1, BranchKind::kConditional, 0x1004),
                           MakeBlock(0x1002, 0x1008, 2, BranchKind::kReturn)});
}

// 0x1000 jumps to 0x2000, which jumps back to 0x1003.
FakeModuleCode HotAndCold() {
  FakeModuleCode module;
  module.AddCode(0x1000, {0x0f, 0x84, 0xfa, 0x0f, 0x00, 0x00,  // je 0x2000
                          0xff, 0xc0,                          // inc %eax
                          0xff, 0xc1,                          // inc %ecx
                          0xc3});                              // ret
  module.AddCode(0x2000, {0xff, 0xc2,                          // inc %edx
                          0xe9, 0x01, 0xf0, 0xff, 0xff});      // jmp 0x1008
  module.AddFunction(0x1000, 0x100b, "f");
  module.AddFunction(0x2000, 0x2007, "f.cold");
  return module;
}

TEST_CASE("jumps back from a cold part are leaders") {
  const FakeModuleCode module = HotAndCold();
  const std::vector<Block> hot = {MakeBlock(0x1000, 0x1006, 1, BranchKind::kConditional, 0x2000),
                                  MakeBlock(0x1006, 0x1008, 1),
                                  MakeBlock(0x1008, 0x100b, 2, BranchKind::kReturn)};
  const std::vector<Block> cold = {MakeBlock(0x2000, 0x2007, 2, BranchKind::kJump, 0x1008)};
  SECTION("hot first") {
    BlockMap map(&module);
    CHECK(map.FunctionBlocks({0x1000}) == hot);
    CHECK(map.statistics().functions == 1);
    CHECK(map.FunctionBlocks({0x2000}) == cold);
  }
  SECTION("cold first") {
    BlockMap map(&module);
    CHECK(map.FunctionBlocks({0x2000}) == cold);
    CHECK(map.FunctionBlocks({0x1000}) == hot);
    CHECK(map.statistics().functions == 2);
  }
}

TEST_CASE("jumps into the middle of a cold part that jumps back are leaders") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0x0f, 0x84, 0xfc, 0x0f, 0x00, 0x00,  // je 0x2002
                          0xc3});                              // ret
  module.AddCode(0x2000, {0xff, 0xc2,                          // inc %edx
                          0xff, 0xc1,                          // inc %ecx
                          0xe9, 0xfd, 0xef, 0xff, 0xff});      // jmp 0x1006
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x2000}) ==
        std::vector<Block>{MakeBlock(0x2000, 0x2002, 1),
                           MakeBlock(0x2002, 0x2009, 2, BranchKind::kJump, 0x1006)});
}

TEST_CASE("a second entry before a function splits it") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xff, 0xc0,              // inc %eax
                          0xeb, 0x06,              // jmp 0x100a
                          0x90, 0x90, 0x90, 0x90,  // between the functions
                          0xff, 0xc1,              // inc %ecx
                          0xff, 0xc2,              // inc %edx
                          0xc3});                  // ret
  module.AddFunction(0x1000, 0x1004);
  module.AddFunction(0x1004, 0x1008);
  module.AddFunction(0x1008, 0x100d);
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1008}) ==
        std::vector<Block>{MakeBlock(0x1008, 0x100a, 1),
                           MakeBlock(0x100a, 0x100d, 2, BranchKind::kReturn)});
}

TEST_CASE("a call out of a function does not relate its callee") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xe8, 0xfb, 0x0f, 0x00, 0x00,  // call 0x2000
                          0xff, 0xc0,                    // inc %eax
                          0xff, 0xc0,                    // inc %eax
                          0xc3});
  module.AddCode(0x2000, {0xe9, 0x02, 0xf0, 0xff, 0xff});  // jmp 0x1007
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1000}) ==
        std::vector<Block>{MakeBlock(0x1000, 0x1005, 1, BranchKind::kCall, 0x2000),
                           MakeBlock(0x1005, 0x100a, 3, BranchKind::kReturn)});
}

// A switch over three cases as gcc -O2 writes it for position-independent code.
const Bytes kPicSwitch = {0x83, 0xff, 0x02,                          // 2000: cmp $2,%edi
                          0x77, 0x17,                                // 2003: ja 0x201c
                          0x48, 0x8d, 0x15, 0xf4, 0x0f, 0x00, 0x00,  // 2005: lea 0x3000(%rip),%rdx
                          0x48, 0x63, 0x04, 0xba,  // 200c: movslq (%rdx,%rdi,4),%rax
                          0x48, 0x01, 0xd0,        // 2010: add %rdx,%rax
                          0x3e, 0xff, 0xe0,        // 2013: notrack jmp *%rax
                          0xff, 0xc0,              // 2016: inc %eax
                          0xff, 0xc1,              // 2018: inc %ecx
                          0xff, 0xc2,              // 201a: inc %edx
                          0xc3};                   // 201c: ret

const std::vector<Block> kPicSwitchBlocks = {
    MakeBlock(0x2000, 0x2005, 2, BranchKind::kConditional, 0x201c),
    MakeBlock(0x2005, 0x2016, 4, BranchKind::kIndirectJump),
    MakeBlock(0x2016, 0x2018, 1),
    MakeBlock(0x2018, 0x201a, 1),
    MakeBlock(0x201a, 0x201c, 1),
    MakeBlock(0x201c, 0x201d, 1, BranchKind::kReturn)};

TEST_CASE("entries of a relative jump table are leaders") {
  FakeModuleCode module;
  module.AddCode(0x2000, kPicSwitch);
  // The fourth would be an instruction, but the guard excludes it.
  module.AddData(
      0x3000, Words<int32_t>({0x2016 - 0x3000, 0x2018 - 0x3000, 0x201a - 0x3000, 0x2010 - 0x3000}));
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x2000}) == kPicSwitchBlocks);
  CHECK(map.statistics().jump_tables == 1);
  CHECK(map.statistics().jump_table_entries == 3);
  CHECK(map.statistics().unresolved_indirect_jumps == 0);

  const std::vector<ReadJumpTable> tables = map.JumpTables({0x2000});
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].jumps == std::vector<ModuleAddress>{{0x2013}});
  CHECK(tables[0].targets == std::vector<ModuleAddress>{{0x2016}, {0x2018}, {0x201a}});
  CHECK(map.JumpTables({0x9000}).empty());
}

TEST_CASE("a jump table without a guard ends where its entries make no sense") {
  FakeModuleCode module;
  Bytes code = kPicSwitch;
  code[1] = 0xf7;  // xor $2,%edi
  module.AddCode(0x2000, code);
  module.AddData(0x3000,
                 Words<int32_t>({0x2016 - 0x3000, 0x2018 - 0x3000, 0x201a - 0x3000, 0x12345}));
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x2000}) == kPicSwitchBlocks);
  CHECK(map.statistics().jump_table_entries == 3);
}

TEST_CASE("the first entry of a table may lead to a part that nothing else leads to") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0x40, 0x0f, 0xb6, 0xc7,                    // movzbl %dil,%eax
                          0xff, 0x24, 0xc5, 0x00, 0x20, 0x00, 0x00,  // jmp *0x2000(,%rax,8)
                          0x90,                                      // nop
                          0x90,                                      // nop
                          0xc3});                                    // ret
  module.AddCode(0x3000, {0xc3});
  module.AddData(0x2000, Words<uint64_t>({0x3000, 0x100b, 0x100c, 0x100d, 0}));
  BlockMap map(&module);
  const auto tables = map.JumpTables({0x1000});
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].targets == std::vector<ModuleAddress>{{0x100b}, {0x100c}, {0x100d}, {0x3000}});
}

TEST_CASE("a jump table with a bad first entry is rejected") {
  FakeModuleCode module;
  module.AddCode(0x2000, kPicSwitch);
  module.AddData(0x3000, Words<int32_t>({0x2017 - 0x3000, 0x2018 - 0x3000, 0x201a - 0x3000}));
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x2000}).size() == 4);
  CHECK(map.statistics().jump_tables == 0);
  CHECK(map.statistics().unresolved_indirect_jumps == 1);
}

TEST_CASE("a jump table that is not in the module is rejected") {
  FakeModuleCode module;
  module.AddCode(0x2000, kPicSwitch);
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x2000}).size() == 4);
  CHECK(map.statistics().unresolved_indirect_jumps == 1);
}

TEST_CASE("entries of a jump table may lie in another part") {
  FakeModuleCode module;
  module.AddCode(0x2000, kPicSwitch);
  module.AddCode(0x5000, {0xff, 0xc2,                      // inc %edx
                          0xff, 0xc1,                      // inc %ecx
                          0xe9, 0x0f, 0xd0, 0xff, 0xff});  // jmp 0x2018
  module.AddData(0x3000, Words<int32_t>({0x2016 - 0x3000, 0x5002 - 0x3000, 0x201a - 0x3000}));
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x5000}) ==
        std::vector<Block>{MakeBlock(0x5000, 0x5002, 1),
                           MakeBlock(0x5002, 0x5009, 2, BranchKind::kJump, 0x2018)});
  CHECK(map.FunctionBlocks({0x2000}) == kPicSwitchBlocks);
}

TEST_CASE("entries of a table that the width of its index bounds may leave the function") {
  Bytes code = kPicSwitch;
  const Bytes extension = {0x40, 0x0f, 0xb6, 0xff, 0x90};  // movzbl %dil,%edi; nop
  std::copy(extension.begin(), extension.end(), code.begin());
  FakeModuleCode module;
  module.AddCode(0x2000, code);
  module.AddCode(0x5000, {0xc3});
  module.AddData(0x3000, Words<int32_t>({0x2016 - 0x3000, 0x5000 - 0x3000, 0x2018 - 0x3000,
                                         0x201a - 0x3000, 0x201c - 0x3000}));
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x2000}).size() == 5);
  CHECK(map.Find({0x201a})->start == ModuleAddress{0x201a});
  CHECK(map.statistics().jump_table_entries == 5);
}

TEST_CASE("two tables without guards do not run into each other") {
  const Bytes code = {0xff, 0x24, 0xfd, 0x00, 0x30, 0x00, 0x00,  // 2000: jmp *0x3000(,%rdi,8)
                      0xff, 0xc0,                                // 2007: inc %eax
                      0xff, 0x24, 0xfd, 0x08, 0x30, 0x00, 0x00,  // 2009: jmp *0x3008(,%rdi,8)
                      0xff, 0xc1,                                // 2010: inc %ecx
                      0xc3};                                     // 2012: ret
  FakeModuleCode module;
  module.AddCode(0x2000, code);
  module.AddData(0x3000, Words<uint64_t>({0x2007, 0x2010, 0x2012}));
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x2000}) ==
        std::vector<Block>{MakeBlock(0x2000, 0x2007, 1, BranchKind::kIndirectJump),
                           MakeBlock(0x2007, 0x2010, 2, BranchKind::kIndirectJump),
                           MakeBlock(0x2010, 0x2012, 1),
                           MakeBlock(0x2012, 0x2013, 1, BranchKind::kReturn)});
  CHECK(map.statistics().jump_tables == 2);
  CHECK(map.statistics().jump_table_entries == 3);
}

TEST_CASE("the base of a table may be loaded far from the jump") {
  Bytes code = {0x48, 0x8d, 0x15, 0xf9, 0x0f, 0x00, 0x00};  // 2000: lea 0x3000(%rip),%rdx
  while (code.size() < 0x100) code.push_back(0x90);
  const Bytes tail = {0x48, 0x63, 0x04, 0xba,  // 2100: movslq (%rdx,%rdi,4),%rax
                      0x48, 0x01, 0xd0,        // 2104: add %rdx,%rax
                      0xff, 0xe0,              // 2107: jmp *%rax
                      0xff, 0xc0,              // 2109: inc %eax
                      0xff, 0xc1,              // 210b: inc %ecx
                      0xc3};                   // 210d: ret
  code.insert(code.end(), tail.begin(), tail.end());
  FakeModuleCode module;
  module.AddCode(0x2000, code);
  module.AddData(0x3000, Words<int32_t>({0x210b - 0x3000, 0x210d - 0x3000}));
  BlockMap map(&module);
  CHECK(map.Find({0x210b})->start == ModuleAddress{0x210b});
  CHECK(map.Find({0x210d})->start == ModuleAddress{0x210d});
  CHECK(map.statistics().jump_tables == 1);
}

TEST_CASE("jumps through one pointer are not tables") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xff, 0x25, 0x00, 0x10, 0x00, 0x00,  // jmp *0x1000(%rip)
                          0x48, 0x8b, 0x47, 0x18,              // mov 0x18(%rdi),%rax
                          0xff, 0xe0});                        // jmp *%rax
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1000}).size() == 2);
  CHECK(map.statistics().unresolved_indirect_jumps == 0);
}

TEST_CASE("evidence corrects the decoding and drops what it overlaps") {
  const Bytes code = {0xeb, 0x01,              // 1000: jmp 0x1003
                      0xb8,                    // 1002: data, decoded as mov $imm,%eax
                      0xff, 0xc0, 0xff, 0xc1,  // 1003: inc %eax; inc %ecx
                      0xc3};                   // 1007: ret
  FakeModuleCode module;
  module.AddCode(0x1000, code);
  const std::vector<Block> corrected = {MakeBlock(0x1000, 0x1002, 1, BranchKind::kJump, 0x1003),
                                        MakeBlock(0x1003, 0x1008, 3, BranchKind::kReturn)};
  SECTION("before the first question") {
    BlockMap map(&module);
    map.AddInstructionEvidence({0x1003});
    CHECK(map.FunctionBlocks({0x1000}) == corrected);
  }
  SECTION("after it") {
    BlockMap map(&module);
    CHECK(map.FunctionBlocks({0x1000}) ==
          std::vector<Block>{MakeBlock(0x1000, 0x1002, 1, BranchKind::kJump, 0x1003),
                             MakeBlock(0x1002, 0x1008, 2, BranchKind::kReturn)});
    map.AddInstructionEvidence({0x1005});
    map.AddInstructionEvidence({0x1003});
    CHECK(map.FunctionBlocks({0x1000}) == corrected);
    CHECK(map.statistics().functions == 1);
    CHECK(map.statistics().instructions == 4);
    CHECK(map.statistics().blocks == 2);
    CHECK(map.statistics().undecodable_bytes == 1);
  }
}

TEST_CASE("two instructions that evidence confirms are both kept") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xb8, 0xff, 0xc0, 0xff, 0xc1,  // mov $0xc1ffc0ff,%eax
                          0xc3});                        // ret
  const std::vector<Block> expected = {MakeBlock(0x1000, 0x1001, 1), MakeBlock(0x1001, 0x1005, 2),
                                       MakeBlock(0x1005, 0x1006, 1, BranchKind::kReturn)};
  BlockMap forward(&module);
  forward.AddInstructionEvidence({0x1000});
  forward.AddInstructionEvidence({0x1001});
  CHECK(forward.FunctionBlocks({0x1000}) == expected);
  BlockMap backward(&module);
  backward.AddInstructionEvidence({0x1001});
  backward.AddInstructionEvidence({0x1000});
  CHECK(backward.FunctionBlocks({0x1000}) == expected);
}

TEST_CASE("evidence of a leader splits a block") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xff, 0xc0, 0xff, 0xc1, 0xff, 0xc2, 0xc3});
  const std::vector<Block> expected = {MakeBlock(0x1000, 0x1002, 1),
                                       MakeBlock(0x1002, 0x1007, 3, BranchKind::kReturn)};
  SECTION("before the first question") {
    BlockMap map(&module);
    map.AddLeaderEvidence({0x1002});
    CHECK(map.FunctionBlocks({0x1000}) == expected);
    CHECK(map.statistics().blocks == 2);
  }
  SECTION("after it") {
    BlockMap map(&module);
    CHECK(map.FunctionBlocks({0x1000}).size() == 1);
    map.AddLeaderEvidence({0x1002});
    map.AddLeaderEvidence({0x1002});
    CHECK(map.FunctionBlocks({0x1000}) == expected);
    CHECK(map.statistics().blocks == 2);
  }
}

TEST_CASE("evidence where there is no code changes nothing") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0xff, 0xc0, 0x06, 0xc3});
  BlockMap map(&module);
  const auto before = map.FunctionBlocks({0x1000});
  for (const uint64_t address : {uint64_t{0}, uint64_t{0x1002}, uint64_t{0x9000}, UINT64_MAX}) {
    map.AddInstructionEvidence({address});
    map.AddLeaderEvidence({address});
  }
  CHECK(map.FunctionBlocks({0x1000}) == before);
}

TEST_CASE("evidence in one part changes the leaders of a related one") {
  // The cold part begins with a byte of data that hides its jump to 0x1008.
  FakeModuleCode module;
  module.AddCode(0x1000, {0x0f, 0x84, 0xfb, 0x0f, 0x00, 0x00,  // je 0x2001
                          0xff, 0xc0,                          // inc %eax
                          0xff, 0xc1,                          // inc %ecx
                          0xc3});                              // ret
  module.AddCode(0x2000, {0xb8,                                // data
                          0xe9, 0x02, 0xf0, 0xff, 0xff});      // jmp 0x1008
  BlockMap map(&module);
  CHECK(map.FunctionBlocks({0x1000}).size() == 2);
  map.AddInstructionEvidence({0x2001});
  CHECK(map.FunctionBlocks({0x1000}).size() == 3);
}

// nops, with a jump over two windows and a jump back in each window.
FakeModuleCode GiantFunction(uint64_t size) {
  Bytes code(size, 0x90);
  const Bytes mov = {0x48, 0xb8, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
  for (uint64_t edge = 0x10000 - 0x800; edge < size; edge += 0x10000) {
    std::copy(mov.begin(), mov.end(), code.begin() + static_cast<ptrdiff_t>(edge - 5));
  }
  FakeModuleCode module;
  module.AddCode(0x400800, std::move(code));
  return module;
}

TEST_CASE("a giant function is decoded in windows at fixed addresses") {
  const FakeModuleCode module = GiantFunction(0x200000);
  BlockMap map(&module);
  const auto block = map.Find({0x450000});
  REQUIRE(block.has_value());
  // The instruction across the edge belongs to the window it starts in.
  CHECK(*block == MakeBlock(0x440005, 0x450005, 0xfff7));
  CHECK(map.statistics().instructions < 0x20100);
  const auto next = map.Find({0x450005});
  REQUIRE(next.has_value());
  CHECK(*next == MakeBlock(0x450005, 0x460005, 0xfff7));
  const auto first = map.FunctionBlocks({0x400800});
  REQUIRE(first.size() == 1);
  CHECK(first[0].start == ModuleAddress{0x400800});
}

TEST_CASE("jumps between windows are leaders") {
  FakeModuleCode module;
  Bytes code(0x200000, 0x90);
  const auto put_jump = [&code](uint32_t from, uint32_t to) {
    const uint32_t distance = to - from - 5;
    code[from] = 0xe9;
    for (int i = 0; i < 4; ++i) code[from + 1 + i] = static_cast<uint8_t>(distance >> (8 * i));
  };
  put_jump(0x50100, 0x40100);
  put_jump(0x30200, 0x40200);
  module.AddCode(0x400000, std::move(code));
  BlockMap map(&module);
  CHECK(map.Find({0x440150})->start == ModuleAddress{0x440100});
  CHECK(map.Find({0x440250})->start == ModuleAddress{0x440200});
}

TEST_CASE("functions at both ends of the address space work") {
  FakeModuleCode module;
  module.AddCode(0, {0xff, 0xc0, 0xc3});
  module.AddCode(UINT64_MAX - 3, {0xff, 0xc0, 0xc3});
  BlockMap map(&module);
  CHECK(map.Find({0})->instruction_count == 2);
  CHECK(map.Find({UINT64_MAX - 2})->instruction_count == 2);
  CHECK_FALSE(map.Find({UINT64_MAX}).has_value());
}

}  // namespace
}  // namespace hbbp
