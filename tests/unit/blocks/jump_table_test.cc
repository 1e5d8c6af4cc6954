// Compares the jump tables of compiled switches with the tables in the compiler's own assembly.
#include "blocks/jump_table.h"

#include <cstdint>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "blocks/block_map.h"
#include "image/elf_image.h"
#include "support/catch.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

constexpr char kSwitches[] = R"(
volatile int sink;
int g(int);
#define CASE(n) case n: sink = n * 3; g(n ^ sink); break;
#define CASES(n) CASE(n) CASE(n + 1) CASE(n + 2) CASE(n + 3) CASE(n + 4)
void plain(int x) { switch (x) { CASES(0) CASES(5) } }
void offset(int x) { switch (x) { CASES(100) CASES(105) CASES(110) default: sink = 1; } }
void wide(unsigned long x) { switch (x) { CASES(0) CASES(5) CASES(12) } }
void narrow(unsigned char x) { switch (x) { CASES(0) CASES(5) CASES(10) CASES(15) } }
void masked(unsigned x) {
  switch (x & 7) { CASES(0) CASE(5) CASE(6) CASE(7) }
}
void loop(const unsigned char* p, int n) {
  for (int i = 0; i < n; ++i) {
    switch (p[i]) { CASES('a') CASES('f') CASES('k') case 'z': return; }
    switch (p[i + 1]) { CASES(0) CASES(5) default: g(9); }
  }
}
int value(int x, int y) {
  int result = 0;
  switch (x + y) { CASES(3) CASES(8) case 20: result = g(y); break; default: return -1; }
  return result + y;
}
void nested(int x, int y) {
  switch (x) {
    CASES(0)
    case 6:
      switch (y) { CASES(2) CASES(7) }
      break;
    CASE(7)
  }
}
int g(int x) { return x + sink; }
int main(int argc, char** argv) {
  plain(argc); offset(argc); wide(argc); narrow(argc); masked(argc);
  loop((unsigned char*)argv[0], argc); nested(argc, argc + 1);
  return value(argc, 2);
}
)";

// Matches entries of jump tables as gcc and clang write them.
uint64_t CountTableEntries(const std::string& assembly_path) {
  const std::regex entry(R"(\s*\.(long|quad)\s+\.L(BB|tmp)?[0-9_]+(-\.L[A-Z]*[0-9_]+)?\s*)");
  std::ifstream file(assembly_path);
  uint64_t entries = 0;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, entry)) ++entries;
  }
  return entries;
}

TEST_CASE("the jump tables of compiled switches are read to their ends") {
  const TemporaryFolder directory;
  const std::string source = directory.Write("switches.c", kSwitches);
  int compiled = 0;
  for (const std::string compiler : {"gcc", "clang-14", "clang-19"}) {
    if (!HasProgram(compiler)) continue;
    for (const std::string level : {"-O0", "-O1", "-O2", "-O3", "-Os"}) {
      for (const std::string kind : {"-fPIE -pie", "-fno-pie -no-pie"}) {
        for (const std::string protection : {"none", "branch"}) {
          const std::string command = compiler + " " + level + " " + kind +
                                      " -fcf-protection=" + protection +
                                      " -Wno-unused-command-line-argument ";
          INFO(command);
          const std::string assembly = directory.File("switches.s");
          const std::string program = directory.File("switches");
          REQUIRE(RunCommand(command + "-S -o " + assembly + " " + source));
          REQUIRE(RunCommand(command + "-o " + program + " " + assembly));
          auto image = ElfImage::Open(program);
          REQUIRE(image.ok());
          BlockMap map(image->get());
          for (const AddressRange& function : (*image)->AllFunctions()) map.Find(function.start);
          const uint64_t entries = CountTableEntries(assembly);
          CHECK(entries > 30);
          CHECK(map.statistics().jump_table_entries == entries);
          CHECK(map.statistics().unresolved_indirect_jumps == 0);
          ++compiled;
        }
      }
    }
  }
  if (compiled == 0) HBBP_SKIP("no compiler");
}

constexpr char kBiased[] = R"(
volatile int sink;
int g(int);
#define CASE(n) case n: sink = n * 3; g(n ^ sink); break;
#define CASES(n) CASE(n) CASE(n + 1) CASE(n + 2) CASE(n + 3) CASE(n + 4)
#define OTHERS default: __builtin_unreachable();
void biased(long x) { switch (x) { CASES(3) CASES(8) OTHERS } }
void after_another(long x, int y) {
  switch (y) { CASES(0) CASES(5) }
  switch (x) { CASES(2) CASES(7) OTHERS }
}
void letter(int x) {
  static const void* const labels[] = {&&a, &&b, &&c, &&d, &&e};
  goto *labels[x - 'a'];
a: sink = 1; return;
b: g(1); return;
c: g(2); return;
d: g(4); return;
e: g(5);
}
int g(int x) { return x + sink; }
int main(int argc, char** argv) {
  biased(argc); after_another(argc, argc); letter(argc);
}
)";

TEST_CASE("tables are read from their first entry on, whatever number that has") {
  const TemporaryFolder directory;
  const std::string source = directory.Write("biased.c", kBiased);
  int compiled = 0;
  for (const std::string compiler : {"gcc", "clang-14", "clang-19"}) {
    if (!HasProgram(compiler)) continue;
    for (const std::string level : {"-O1", "-O2", "-O3", "-Os"}) {
      for (const std::string kind : {"-fPIE -pie", "-fno-pie -no-pie"}) {
        const std::string command =
            compiler + " -w -fcf-protection=none " + level + " " + kind + " ";
        INFO(command);
        const std::string assembly = directory.File("biased.s");
        const std::string program = directory.File("biased");
        REQUIRE(RunCommand(command + "-S -o " + assembly + " " + source));
        REQUIRE(RunCommand(command + "-o " + program + " " + assembly));
        auto image = ElfImage::Open(program);
        REQUIRE(image.ok());
        BlockMap map(image->get());
        for (const char* function : {"biased", "after_another", "letter"}) {
          map.Find(*(*image)->AddressOfSymbol(function));
        }
        CHECK(map.statistics().jump_table_entries == CountTableEntries(assembly));
        CHECK(map.statistics().unresolved_indirect_jumps == 0);
        ++compiled;
      }
    }
  }
  if (compiled == 0) HBBP_SKIP("no compiler");
}

TEST_CASE("tables of pointers are read whether the linker fills them or the loader") {
  constexpr char kGotos[] = R"(
int main(int argc, char** argv) {
  static void* const labels[] = {&&a, &&b, &&c, &&d};
  int sum = 0;
  for (int i = 0; i < argc * 100; ++i) {
    goto *labels[(i + argc) & 3];
  a: sum += i; continue;
  b: sum ^= i; continue;
  c: sum -= i; continue;
  d: sum *= 3; continue;
  }
  return sum;
}
)";
  const TemporaryFolder directory;
  const std::string source = directory.Write("gotos.c", kGotos);
  const std::string program = directory.File("gotos");
  int linked = 0;
  for (const std::string linker :
       {"bfd", "gold", "lld", "lld -Wl,--pack-dyn-relocs=relr", "lld -Wl,--apply-dynamic-relocs"}) {
    INFO(linker);
    if (!RunCommand("gcc -O2 -fPIE -pie -fuse-ld=" + linker + " -o " + program + " " + source)) {
      continue;
    }
    auto image = ElfImage::Open(program);
    REQUIRE(image.ok());
    BlockMap map(image->get());
    const auto tables = map.JumpTables(*(*image)->AddressOfSymbol("main"));
    REQUIRE(tables.size() == 1);
    CHECK(tables[0].targets.size() == 4);
    CHECK(map.statistics().unresolved_indirect_jumps == 0);
    ++linked;
  }
  if (linked == 0) HBBP_SKIP("no compiler");
}

struct Form {
  std::string name;
  std::vector<uint8_t> code;
  std::vector<uint32_t> offsets;
};

IndirectJump Analyze(const Form& form) {
  return AnalyzeIndirectJump(form.code, 0x1000, form.offsets);
}

TEST_CASE("a table may be built in any order and in any registers") {
  const std::vector<Form> forms = {
      {"base moved and swapped",
       {0x4c, 0x8d, 0x05, 0xf9, 0x0f, 0x00, 0x00,  // lea 0x2000(%rip),%r8
        0x83, 0xfe, 0x09,                          // cmp $9,%esi
        0x77, 0x40,                                // ja
        0x89, 0xf1,                                // mov %esi,%ecx
        0x4d, 0x89, 0xc1,                          // mov %r8,%r9
        0x49, 0x63, 0x0c, 0x88,                    // movslq (%r8,%rcx,4),%rcx
        0x49, 0x01, 0xc9,                          // add %rcx,%r9
        0x41, 0xff, 0xe1},                         // jmp *%r9
       {0, 7, 10, 12, 14, 17, 21, 24}},
      {"entry address, sum by lea",
       {0x48, 0x8d, 0x15, 0xf9, 0x0f, 0x00, 0x00,  // lea 0x2000(%rip),%rdx
        0x83, 0xff, 0x09,                          // cmp $9,%edi
        0x73, 0x40,                                // jae, never mind: bound by the next
        0x83, 0xff, 0x0a,                          // cmp $10,%edi
        0x73, 0x40,                                // jae
        0x48, 0x8d, 0x0c, 0xba,                    // lea (%rdx,%rdi,4),%rcx
        0x48, 0x63, 0x01,                          // movslq (%rcx),%rax
        0x48, 0x8d, 0x04, 0x10,                    // lea (%rax,%rdx,1),%rax
        0xff, 0xe0},                               // jmp *%rax
       {0, 7, 10, 12, 15, 17, 21, 24, 28}},
      {"load by mov and cltq",
       {0x83, 0x7d, 0xec, 0x09,                       // cmpl $9,-0x14(%rbp)
        0x77, 0x40,                                   // ja
        0x8b, 0x45, 0xec,                             // mov -0x14(%rbp),%eax
        0x48, 0x8d, 0x14, 0x85, 0,    0,    0,    0,  // lea 0(,%rax,4),%rdx
        0x48, 0x8d, 0x05, 0xe8, 0x0f, 0x00, 0x00,     // lea 0x2000(%rip),%rax
        0x8b, 0x04, 0x02,                             // mov (%rdx,%rax,1),%eax
        0x48, 0x98,                                   // cltq
        0x48, 0x8d, 0x15, 0xdc, 0x0f, 0x00, 0x00,     // lea 0x2000(%rip),%rdx
        0x48, 0x01, 0xd0,                             // add %rdx,%rax
        0xff, 0xe0},                                  // jmp *%rax
       {0, 4, 6, 9, 17, 24, 27, 29, 36, 39}},
      {"guard that jumps to the table code",
       {0x83, 0xff, 0x09,                          // cmp $9,%edi
        0x76, 0x01,                                // jbe over the ret
        0xc3,                                      // ret
        0x48, 0x8d, 0x15, 0xf3, 0x0f, 0x00, 0x00,  // lea 0x2000(%rip),%rdx
        0x48, 0x63, 0x04, 0xba,                    // movslq (%rdx,%rdi,4),%rax
        0x48, 0x01, 0xd0,                          // add %rdx,%rax
        0xff, 0xe0},                               // jmp *%rax
       {0, 3, 5, 6, 13, 17, 20}}};
  for (const Form& form : forms) {
    INFO(form.name);
    const IndirectJump jump = Analyze(form);
    REQUIRE(jump.kind == IndirectJumpKind::kJumpTable);
    CHECK(jump.table.base_known);
    CHECK(jump.table.address() == 0x2000);
    CHECK(jump.table.relative);
    CHECK(jump.table.entry_size == 4);
    CHECK(jump.table.sign_extended);
    CHECK(jump.table.entry_count == (form.name == "entry address, sum by lea" ? 9 : 10));
  }
}

TEST_CASE("a mask bounds the index") {
  const IndirectJump jump =
      Analyze({"",
               {0x83, 0xe7, 0x0f,                           // and $15,%edi
                0xff, 0x24, 0xfd, 0x00, 0x20, 0x00, 0x00},  // jmp *0x2000(,%rdi,8)
               {0, 3}});
  REQUIRE(jump.kind == IndirectJumpKind::kJumpTable);
  CHECK_FALSE(jump.table.relative);
  CHECK(jump.table.address() == 0x2000);
  CHECK(jump.table.entry_size == 8);
  CHECK(jump.table.entry_count == 16);
}

TEST_CASE("a guard of another variable does not bound the index") {
  const IndirectJump jump =
      Analyze({"",
               {0x83, 0xfe, 0x01,                           // cmp $1,%esi
                0x77, 0x40,                                 // ja
                0xff, 0x24, 0xfd, 0x00, 0x20, 0x00, 0x00},  // jmp *0x2000(,%rdi,8)
               {0, 3, 5}});
  REQUIRE(jump.kind == IndirectJumpKind::kJumpTable);
  CHECK(jump.table.entry_count == 0);
}

TEST_CASE("a call between the load and the jump loses the table") {
  const IndirectJump jump =
      Analyze({"",
               {0x48, 0x8b, 0x04, 0xfd, 0x00, 0x20, 0x00, 0x00,  // mov 0x2000(,%rdi,8),%rax
                0xe8, 0x00, 0x00, 0x00, 0x00,                    // call
                0xff, 0xe0},                                     // jmp *%rax
               {0, 8, 13}});
  CHECK(jump.kind == IndirectJumpKind::kUnknown);
}

TEST_CASE("entries are extended and added as the code does it") {
  JumpTable table;
  table.base = 0x1000;
  table.relative = true;
  table.entry_size = 4;
  table.sign_extended = true;
  CHECK(table.Target(0xfffffff0) == 0xff0);
  table.sign_extended = false;
  CHECK(table.Target(0xfffffff0) == 0x100000ff0);
  table.entry_size = 1;
  CHECK(table.Target(0x80) == 0x1080);
  table.relative = false;
  table.entry_size = 8;
  CHECK(table.Target(0x123456789abcdef0) == 0x123456789abcdef0);
}

}  // namespace
}  // namespace hbbp
