// What the file of a program says about loading libhbbp-preload.so into it.
//
// Async-signal-safe and without memory of its own: exec functions ask, also in a child of vfork.
#ifndef HBBP_TOOLS_PRELOAD_EXEC_TARGET_H_
#define HBBP_TOOLS_PRELOAD_EXEC_TARGET_H_

#include <cstddef>

namespace hbbp::preload {

enum class ExecTarget {
  kOrdinary,      // it loads the library; also what is not known, as a file that cannot be read
  kStatic,        // it ignores LD_PRELOAD, but passes it on to programs that it runs
  kOtherMachine,  // 32-bit, or another architecture: its loader complains
  kOtherLibc,     // musl, or a glibc of its own: its loader refuses to run it
  kSanitizer,     // its runtime has to be loaded first, or does what the library does
  kEmulator,      // valgrind, qemu: what they run would get the library too
};

// Of the file that execve(path) would run; follows "#!".
ExecTarget ClassifyProgram(const char* path);
// Of an open file; `name` is what it was opened by, or nullptr.
ExecTarget ClassifyFile(int fd, const char* name);

// Of the runtime of a sanitizer; `name` has no directory.
bool IsSanitizerLibrary(const char* name);

// Does LD_PRELOAD with the library make it fail, or change what it prints?
bool IsHarmedByPreload(ExecTarget target);

// The file that execvp(name) would run. False if there is none, or its path is too long.
bool FindProgram(const char* name, char* path, size_t size);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_EXEC_TARGET_H_
