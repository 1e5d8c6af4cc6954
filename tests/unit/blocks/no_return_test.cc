// Tests which calls are known never to return, by names, by machine code that the test writes byte
// by byte, and by functions that compilers made.
#include "blocks/no_return.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "blocks/block_map.h"
#include "blocks/function_graph.h"
#include "blocks/loop_nest.h"
#include "image/elf_image.h"
#include "support/catch.h"
#include "support/fake_module_code.h"
#include "support/temporary_folder.h"

namespace hbbp {
namespace {

// Returns whether a call of the function at 0x2000 never returns.
bool NeverReturns(FakeModuleCode* module) {
  module->AddCode(0x1000, {0xe8, 0xfb, 0x0f, 0x00, 0x00,  // call 0x2000
                           0xc3});                        // ret
  module->AddFunction(0x1000, 0x1006);
  return BlockMap(module).Find({0x1000})->never_returns;
}

bool NeverReturns(const std::vector<uint8_t>& function, const std::string& name = "f") {
  FakeModuleCode module;
  module.AddCode(0x2000, function);
  module.AddFunction(0x2000, 0x2000 + function.size(), name);
  // What imported functions are called through.
  module.AddImport(0x3000, "abort");
  module.AddImport(0x3008, "puts");
  return NeverReturns(&module);
}

TEST_CASE("nothing follows a call that never returns") {
  FakeModuleCode module;
  module.AddCode(0x1000, {0x85, 0xff,                    // test %edi,%edi
                          0x78, 0x02,                    // js 0x1006
                          0xeb, 0x07,                    // jmp 0x100d
                          0xe8, 0xf5, 0x0f, 0x00, 0x00,  // call abort
                          0xff, 0xcf,                    // dec %edi
                          0x85, 0xff,                    // test %edi,%edi
                          0x75, 0xfa,                    // jne 0x100b
                          0xc3});                        // ret
  module.AddFunction(0x1000, 0x1012, "f");
  module.AddCode(0x2000, {0xff, 0x25, 0x00, 0x10, 0x00, 0x00});  // jmp *0x1000(%rip)
  const auto find_loops = [&](const std::string& name) {
    module.AddFunction(0x2000, 0x2006, name);
    BlockMap map(&module);
    const auto blocks = map.FunctionBlocks({0x1000});
    const FunctionGraph graph = MakeFunctionGraph(blocks, {});
    return FindLoops(graph.nodes, graph.edges, {}).loops;
  };
  const auto loops = find_loops("abort@plt");
  REQUIRE(loops.size() == 1);
  CHECK_FALSE(loops[0].is_irreducible);
  // A function that returns goes on to the middle of the loop.
  REQUIRE(find_loops("puts@plt").size() == 1);
  CHECK(find_loops("puts@plt")[0].is_irreducible);
}

TEST_CASE("names of functions that never return") {
  for (const std::string name :
       {"abort", "__assert_fail", "exit", "__stack_chk_fail", "longjmp", "err", "__cxa_throw",
        "_Unwind_Resume", "_ZSt9terminatev", "_ZSt20__throw_length_errorPKc"}) {
    INFO(name);
    CHECK(IsNoReturnName(name, true));
    CHECK(IsNoReturnName(name, false) == name.starts_with('_'));
  }
  for (const std::string name :
       {"", "_", "error", "raise", "abort_", "_ZSt", "_ZSt4moveIRiEv", "_ZSt20"}) {
    INFO(name);
    CHECK_FALSE(IsNoReturnName(name, true));
  }
}

TEST_CASE("a call through the pointer of an import") {
  for (const auto& [name, expected] : {std::pair("abort", true), std::pair("puts", false)}) {
    FakeModuleCode module;
    module.AddCode(0x1000, {0xff, 0x15, 0xfa, 0x1f, 0x00, 0x00,  // call *0x1ffa(%rip)
                            0xc3});                              // ret
    module.AddImport(0x3000, name);
    CHECK(BlockMap(&module).Find({0x1000})->never_returns == expected);
  }
}

TEST_CASE("functions whose code has no way out") {
  CHECK(NeverReturns({0x0f, 0x0b}));              // ud2
  CHECK(NeverReturns({0x90, 0xeb, 0xfe}));        // nop; jmp to itself
  CHECK(NeverReturns({0x0f, 0x05, 0xeb, 0xfc}));  // syscall; jmp back
  CHECK(NeverReturns({0xe8, 0x00, 0x00, 0x00, 0x00}));
  CHECK(NeverReturns({0xff, 0x25, 0xfa, 0x0f, 0x00, 0x00}));  // jmp *abort
  CHECK(NeverReturns({0xff, 0x15, 0x00, 0x00, 0x00, 0x00}));  // call at the very end
}

TEST_CASE("functions that may return") {
  CHECK_FALSE(NeverReturns({0xc3}));
  CHECK_FALSE(NeverReturns({0x90}));              // goes on to what follows
  CHECK_FALSE(NeverReturns({0xeb, 0xfe, 0xc3}));  // an exception may lead to the ret
  CHECK_FALSE(NeverReturns({0xff, 0xe0}));        // jmp *%rax
  CHECK_FALSE(NeverReturns({0xff, 0x25, 0x02, 0x10, 0x00, 0x00}));  // jmp *puts
  CHECK_FALSE(NeverReturns({0x06, 0xeb, 0xfe}));                    // undecodable
  CHECK_FALSE(NeverReturns({0x48, 0xcf, 0x0f, 0x0b}));              // iretq; ud2
  CHECK_FALSE(NeverReturns({0x0f, 0x05}));                          // syscall
  CHECK_FALSE(NeverReturns({0xe9, 0x00, 0x10, 0x00, 0x00}));        // jmp to no code
  CHECK_FALSE(NeverReturns({0xff, 0x25, 0xfa, 0x0f, 0x00, 0x00}, "puts@plt"));
  std::vector<uint8_t> large(5000, 0x50);  // push %rax
  large.push_back(0xf4);                   // hlt
  CHECK_FALSE(NeverReturns(large));
}

TEST_CASE("a call before another part of the function may return") {
  for (const uint8_t next : {0xc3, 0x90}) {
    FakeModuleCode module;
    module.AddCode(0x2000, {0xe8, 0x01, 0x00, 0x00, 0x00,  // call 0x2006
                            next,                          // ret, or padding
                            0xc3});                        // ret
    module.AddFunction(0x2000, 0x2005);
    module.AddFunction(0x2006, 0x2007);
    CHECK(NeverReturns(&module) == (next == 0x90));
  }
}

TEST_CASE("functions that jump to each other") {
  for (const uint8_t last : {0xf4, 0xc3}) {
    FakeModuleCode module;
    module.AddCode(0x2000, {0x74, 0x0e,          // je 0x2010
                            0xeb, 0x1c});        // jmp 0x2020
    module.AddCode(0x2010, {0xeb, 0xee});        // jmp 0x2000
    module.AddCode(0x2020, {0x74, 0xee, last});  // je 0x2010; hlt or ret
    CHECK(NeverReturns(&module) == (last == 0xf4));
  }
}

TEST_CASE("traps of kernels are resumed") {
  constexpr uint64_t kKernel = 0xffffffff81000000;
  FakeModuleCode module;
  module.AddCode(kKernel, {0xe8, 0xfb, 0x0f, 0x00, 0x00,  // call
                           0xc3});                        // ret
  module.AddCode(kKernel + 0x1000, {0x0f, 0x0b});         // ud2
  CHECK_FALSE(BlockMap(&module).Find({kKernel})->never_returns);
}

constexpr char kProgram[] = R"(
#include <stdexcept>
#include <cstdio>
#include <cstdlib>
#include <setjmp.h>
#include <string>
int volatile sink;
jmp_buf buffer;
#define OPAQUE extern "C" __attribute__((noinline, noipa))
OPAQUE void never_quits(int x) { printf("%d", x); abort(); }
OPAQUE void never_throws(int x) { throw std::runtime_error(std::to_string(x)); }
OPAQUE void never_jumps(int x) { if (x) longjmp(buffer, x); exit(2); }
OPAQUE void never_ends(int x) { for (;;) sink = x; }
OPAQUE void may_throw(int x) { if (x > sink) throw x; }
// The handler is the only way out.
OPAQUE void returns_by_handler(int x) {
  try { may_throw(x); abort(); } catch (int y) { sink = y; }
}
OPAQUE void returns_by_jump(int x) {
  if (setjmp(buffer)) return;
  never_jumps(x);
}
OPAQUE void call_all(int x) {
  if (sink == 1) never_quits(x);
  if (sink == 2) never_throws(x);
  if (sink == 3) never_jumps(x);
  if (sink == 4) never_ends(x);
  may_throw(x);
  returns_by_handler(x);
  returns_by_jump(x);
  sink = x;
}
int main(int argc, char**) { call_all(argc); }
)";

TEST_CASE("compiled functions that never return are found, and no others") {
  const TemporaryFolder directory;
  const std::string source = directory.Write("program.cc", kProgram);
  const std::string program = directory.File("program");
  int compiled = 0;
  for (const std::string compiler : {"g++", "clang++-14 -Wno-unknown-attributes"}) {
    if (!HasProgram(compiler.substr(0, compiler.find(' ')))) continue;
    for (const std::string level : {"-O0", "-O2", "-O2 -fno-plt"}) {
      const std::string command = compiler + " " + level + " -o " + program + " " + source;
      INFO(command);
      REQUIRE(RunCommand(command));
      const auto image = ElfImage::Open(program);
      REQUIRE(image.ok());
      const ElfImage& code = **image;
      BlockMap map(&code);
      std::vector<std::string> called;
      for (const Block& block : map.FunctionBlocks(*code.AddressOfSymbol("call_all"))) {
        if (block.terminator != BranchKind::kCall) continue;
        const std::string name = code.FunctionName(block.target);
        called.push_back(name);
        INFO(name);
        CHECK(block.never_returns == name.starts_with("never_"));
      }
      for (const std::string name :
           {"never_quits", "never_throws", "never_jumps", "never_ends", "returns_by_handler"}) {
        CHECK(std::ranges::count(called, name) == 1);
      }
      ++compiled;
    }
  }
  if (compiled == 0) HBBP_SKIP("no compiler");
}

}  // namespace
}  // namespace hbbp
