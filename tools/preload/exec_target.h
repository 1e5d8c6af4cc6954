// Classifies a program: whether libhbbp-preload.so can be loaded into it.
//
// The functions are async-signal-safe and allocate nothing, because exec functions call them, also
// in a child of vfork.
#ifndef HBBP_TOOLS_PRELOAD_EXEC_TARGET_H_
#define HBBP_TOOLS_PRELOAD_EXEC_TARGET_H_

#include <cstddef>

namespace hbbp::preload {

enum class ExecTarget {
  kOrdinary,      // it loads the library; also unknown files, such as those that cannot be read
  kStatic,        // it ignores LD_PRELOAD, but passes it on to programs that it runs
  kOtherMachine,  // 32-bit, or another architecture: its loader complains
  kOtherLibc,     // musl, or a glibc of its own: its loader refuses to run it
  kSanitizer,     // its runtime has to be loaded first, or does what the library does
  kEmulator,      // valgrind, qemu: the programs that they run would get the library too
  kZygote,        // it ends if there is a second thread, as the worker is
};

// Classifies the file that execve(path) would run; follows "#!".
ExecTarget ClassifyProgram(const char* path);
// Classifies an open file; `name` is the name by which it was opened, or nullptr.
ExecTarget ClassifyFile(int fd, const char* name);

// Returns kZygote for the arguments of that process of Chromium (and Electron, CEF, Qt WebEngine)
// which forks those of pages; otherwise `target`.
ExecTarget WithArguments(ExecTarget target, char* const* arguments);

// Returns whether it is the runtime of a sanitizer; `name` has no directory.
bool IsSanitizerLibrary(const char* name);

// Returns whether LD_PRELOAD with the library makes it fail, or changes its output.
bool IsHarmedByPreload(ExecTarget target);

// Returns what such a program is, as in "it is static".
const char* Describe(ExecTarget target);

// Finds the file that execvp(name) would run. Returns false if there is none, or its path is too
// long.
bool FindProgram(const char* name, char* path, size_t size);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_EXEC_TARGET_H_
