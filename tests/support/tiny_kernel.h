// Builds a static kernel of a few known instructions with the system's compiler, and makes its
// memory, where a nop has become a call and the kernel has a module.
//
//   sys_work, 19 bytes:                 traced, at 32, 3 bytes:      tiny_irq [tiny], 3 bytes:
//     mov ecx, 5                          xor eax, eax                 xor eax, eax
//   5:nop5 / call traced                  ret                          ret
//  10:dec ecx
//     jnz 10
//  14:jmp __x86_return_thunk            __x86_return_thunk, at 48: ret; int3
#ifndef HBBP_TESTS_SUPPORT_TINY_KERNEL_H_
#define HBBP_TESTS_SUPPORT_TINY_KERNEL_H_

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "support/core_builder.h"
#include "support/temporary_folder.h"

namespace hbbp {

inline constexpr uint64_t kTinyKernelLinked = 0xffffffff81000000;
inline constexpr uint64_t kTinyKernelSlide = 0x2c00000;
inline constexpr uint64_t kTinyKernelStart = kTinyKernelLinked + kTinyKernelSlide;
inline constexpr uint64_t kTinyKernelModule = 0xffffffffc0801000;
// Offsets are from the start.
inline constexpr uint64_t kSysWork = 0;
inline constexpr uint64_t kTracePoint = 5;
inline constexpr uint64_t kSysWorkLoop = 10;
inline constexpr uint64_t kSysWorkReturn = 14;
inline constexpr uint64_t kTraced = 32;
inline constexpr uint64_t kTracedReturn = 34;
inline constexpr uint64_t kTinyBuildIdByte = 0xab;

inline bool BuildTinyVmlinux(const std::string& path, const std::string& build_id = "abababab",
                             const std::string& flags = "") {
  const std::string source = path + ".s";
  std::ofstream(source) << R"(
  .text
  .globl _text, _stext, sys_work, traced, __x86_return_thunk
_text:
_stext:
  .type sys_work, @function
sys_work:
  movl $5, %ecx
  .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
1:
  decl %ecx
  jnz 1b
  .byte 0xe9
  .long __x86_return_thunk - . - 4
  .size sys_work, . - sys_work
  .balign 32, 0xcc
  .type traced, @function
traced:
  xorl %eax, %eax
  ret
  .size traced, . - traced
  .balign 16, 0xcc
  .type __x86_return_thunk, @function
__x86_return_thunk:
  ret
  int3
  .size __x86_return_thunk, . - __x86_return_thunk
  .section .note.GNU-stack, "", @progbits
)";
  return RunCommand(
      "cc -static -nostdlib -Wl,-z,noseparate-code,-Ttext=0xffffffff81000000,-e,_text,"
      "--build-id=0x" +
      build_id + " " + flags + " -o " + path + " " + source);
}

// In memory the trace point is a call.
inline std::vector<uint8_t> TinyKernelText() {
  std::vector<uint8_t> text = {0xb9, 5,    0,    0,    0,   // mov
                               0xe8, 0x16, 0,    0,    0,   // call traced
                               0xff, 0xc9, 0x75, 0xfc,      // dec, jnz
                               0xe9, 0x1d, 0,    0,    0};  // jmp
  text.resize(kTraced, 0xcc);
  for (const uint8_t byte : {0x31, 0xc0, 0xc3}) text.push_back(byte);
  text.resize(48, 0xcc);
  for (const uint8_t byte : {0xc3, 0xcc}) text.push_back(byte);
  return text;
}

inline CoreBuilder TinyKernelCore() {
  return CoreBuilder()
      .AddMemory(0xffff888000000000, std::vector<uint8_t>(4096, 0x5a))
      .AddMemory(kTinyKernelStart, TinyKernelText())
      .AddMemory(kTinyKernelModule, {0x31, 0xc0, 0xc3, 0xcc});
}

// Returns text like /proc/kallsyms; `start` is the address of the kernel.
inline std::string TinyKallsyms(uint64_t start = kTinyKernelStart, bool with_module = true) {
  std::string text;
  const auto add = [&text](uint64_t address, const char* rest) {
    char line[128];
    std::snprintf(line, sizeof(line), "%016llx %s\n", static_cast<unsigned long long>(address),
                  rest);
    text += line;
  };
  add(start, "T _text");
  add(start, "T _stext");
  add(start, "T sys_work");
  add(start + kTraced, "T traced");
  add(start + 48, "T __x86_return_thunk");
  add(start + 64, "T _etext");
  if (with_module) add(kTinyKernelModule, "t tiny_irq\t[tiny]");
  if (with_module) add(kTinyKernelModule + 3, "t tiny_exit\t[tiny]");
  return text;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_TINY_KERNEL_H_
