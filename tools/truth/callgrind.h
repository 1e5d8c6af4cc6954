// Reads exact instruction counts in callgrind's format, as `valgrind --tool=callgrind
// --dump-instr=yes` and `hbbp count` write them.
//
// A comparison must consider these properties of callgrind 3.19:
// - Addresses are those of the ELF file (the load offset is subtracted), for PIE, non-PIE and
//   shared objects alike. Code outside .text (.init, .fini, .plt) is the exception: it is put
//   into an object named "???" at the address where valgrind loaded it. The calls into it say
//   which module that is (truth/unknown_code.h).
// - PLT stubs are not counted at all, unless --skip-plt=no is given; then they are in "???".
// - A rep-prefixed string instruction counts its iterations plus one, each time that it runs.
// - The first object that runs is valgrind's own vgpreload_core (some 30 instructions); callgrind
//   does not replace malloc or the string functions.
// - Valgrind hides AVX-512 and RTM from cpuid, so libc chooses other variants of the string
//   functions (_avx2 and not _evex) than it does when it is profiled. With glibc 2.36,
//   GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512VL,-RTM,-Prefer_No_VZEROUPPER in the profiled run
//   makes both choose the same.
#ifndef HBBP_TOOLS_TRUTH_CALLGRIND_H_
#define HBBP_TOOLS_TRUTH_CALLGRIND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hbbp::tools {

// The path of the object that has code of which callgrind does not know the file.
inline constexpr char kUnknownObject[] = "???";

struct InstructionCount {
  uint64_t address = 0;
  uint64_t count = 0;  // event Ir: instructions read

  bool operator==(const InstructionCount&) const = default;
};

// A call, or a jump to another function, from a known object into "???".
struct CallToUnknown {
  uint64_t caller = 0;  // address of the instruction, in the file of its object
  uint64_t target = 0;  // where valgrind loaded it

  bool operator==(const CallToUnknown&) const = default;
};

struct TruthObject {
  std::string path;                             // "???" if callgrind does not know it
  std::string build_id;                         // hexadecimal; only hbbp count writes it
  std::vector<InstructionCount> instructions;   // by address, each once
  uint64_t total = 0;                           // sum of the counts
  std::vector<CallToUnknown> calls_to_unknown;  // each target once
};

struct Truth {
  std::vector<TruthObject> objects;  // in the order of their first appearance
  uint64_t total = 0;
  // This is the total in the file; it differs from `total` if the file was changed afterwards.
  std::optional<uint64_t> declared_total;
  uint32_t parts = 0;  // dumps in the file: threads, or points in time
};

// Errors: kBadFormat, with the number of the line. `name` is for messages.
StatusOr<Truth> ParseCallgrind(std::string_view text, const std::string& name);

// Does the same as ParseCallgrind, after opening the file.
StatusOr<Truth> ReadCallgrindFile(const std::string& path);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_TRUTH_CALLGRIND_H_
