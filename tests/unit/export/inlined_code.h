// Builds a library of a function in which another one is inlined, and makes a profile of it.
#ifndef HBBP_TESTS_UNIT_EXPORT_INLINED_CODE_H_
#define HBBP_TESTS_UNIT_EXPORT_INLINED_CODE_H_

#include <fstream>
#include <memory>
#include <string>

#include "image/elf_image.h"
#include "support/catch.h"
#include "support/temporary_folder.h"
#include "unit/profile/sample_profiles.h"
#include "unit/profile/tiny_profile.h"

namespace hbbp {

// outer is declared in line 6, stores in line 7, and calls inner in line 9, which stores in its
// third line, 4.
inline constexpr char kInlinedCode[] = R"(volatile int global;
static inline __attribute__((always_inline)) void inner(int x) {

  global += x;
}
int outer(int x) {
  global = x;

  inner(x);
  return x;
}
)";

// Returns false where there is no compiler.
inline bool BuildInlinedCode(const TemporaryFolder& directory, const std::string& library) {
  const std::string source = directory.File("code.c");
  std::ofstream(source) << kInlinedCode;
  return RunCommand("cc -shared -fPIC -O1 -g -Wl,--build-id -o " + library + " " + source);
}

// Has five samples at the start of outer, which is one block.
inline ProfileData InlinedProfile(const std::string& library) {
  StatusOr<std::unique_ptr<ElfImage>> image = ElfImage::Open(library);
  REQUIRE(image.ok());
  const ModuleAddress outer = *(*image)->AddressOfSymbol("outer");
  ProfileData data = TinyProfile(library);
  data.counts = {MakeCount(0, 0, 0, (*image)->OffsetOfAddress(outer)->value, 5, kTinyPeriod)};
  return data;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_UNIT_EXPORT_INLINED_CODE_H_
