// Builds a shared library of a few known instructions with the system's compiler.
//
//   tiny_work, 14 bytes:              tiny_twice, 6 bytes:       tiny_spin(n), 9 bytes:
//     xor eax, eax                      add edi, edi               mov rax, rdi
//     mov ecx, 10                       lea eax, [rdi + 1]       1:dec rax
//   1:add eax, ecx                      ret                        jnz 1b
//     dec ecx                                                      ret
//     jnz 1b
//     ret
#ifndef HBBP_TESTS_SUPPORT_TINY_LIBRARY_H_
#define HBBP_TESTS_SUPPORT_TINY_LIBRARY_H_

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace hbbp {

inline std::vector<uint8_t> BytesOfFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Libraries with different `tag` differ in content and build ID, but not in code. Returns false
// where there is no compiler.
inline bool BuildTinyLibrary(const std::string& path, const std::string& tag = "",
                             const std::string& flags = "-Wl,--build-id") {
  const std::string source = path + ".s";
  std::ofstream(source) << R"(
  .text
  .globl tiny_work, tiny_twice, tiny_spin
  .type tiny_work, @function
tiny_work:
  xorl %eax, %eax
  movl $10, %ecx
1:
  addl %ecx, %eax
  decl %ecx
  jnz 1b
  ret
  .size tiny_work, . - tiny_work
  .type tiny_twice, @function
tiny_twice:
  addl %edi, %edi
  leal 1(%rdi), %eax
  ret
  .size tiny_twice, . - tiny_twice
  .type tiny_spin, @function
tiny_spin:
  movq %rdi, %rax
1:
  decq %rax
  jnz 1b
  ret
  .size tiny_spin, . - tiny_spin
  .section .rodata
  .asciz "tag: )" << tag << R"("
  .section .note.GNU-stack, "", @progbits
)";
  return RunCommand("cc -shared -nostdlib " + flags + " -o " + path + " " + source);
}

// Returns the offset of tiny_work in the file; the other functions follow it.
inline uint64_t TinyWorkOffset(const std::string& path) {
  const uint8_t code[] = {0x31, 0xc0, 0xb9, 0x0a, 0,    0,    0,
                          0x01, 0xc8, 0xff, 0xc9, 0x75, 0xfa, 0xc3};
  const std::vector<uint8_t> file = BytesOfFile(path);
  return static_cast<uint64_t>(
      std::search(file.begin(), file.end(), std::begin(code), std::end(code)) - file.begin());
}

inline constexpr uint64_t kTinyLoop = 7;  // offset in tiny_work
inline constexpr uint64_t kTinyReturn = 13;
inline constexpr uint64_t kTinyTwice = 14;
inline constexpr uint64_t kTinySpin = 20;

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_TINY_LIBRARY_H_
