// Tests RseqSections, which finds a sequence that this program has: again and again, in other
// objects and in children, which do not read again what has none.
#include "backends/rseq_sections.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "image/process_maps.h"
#include "support/catch.h"

// A sequence of two instructions, with its descriptor.
asm(R"(
.pushsection .text
hbbp_test_sequence:
  nop
  nop
hbbp_test_sequence_end:
  ret
.popsection
.pushsection __rseq_cs, "aw"
.balign 32
hbbp_test_descriptor:
.long 0, 0
.quad hbbp_test_sequence, hbbp_test_sequence_end - hbbp_test_sequence, hbbp_test_sequence_end
.popsection
)");
extern "C" const char hbbp_test_sequence[], hbbp_test_descriptor[];

namespace hbbp {
namespace {

bool FindsSequence(RseqSections* sections) {
  asm volatile("" : : "r"(hbbp_test_descriptor));  // so that the linker keeps it
  const auto mappings = ReadProcessMaps(0);
  if (!mappings.ok()) return false;
  const std::vector<trace::SequenceRange> ranges = sections->Find(*mappings);
  const auto start = reinterpret_cast<uint64_t>(hbbp_test_sequence);
  return std::count_if(ranges.begin(), ranges.end(), [start](const trace::SequenceRange& range) {
           return range.start == start && range.end == start + 2;
         }) == 1;
}

TEST_CASE("a sequence is found by each object, whatever was found before") {
  for (int i = 0; i < 3; ++i) {
    RseqSections sections;
    CHECK(FindsSequence(&sections));
    CHECK(FindsSequence(&sections));
  }
}

TEST_CASE("a child finds a sequence") {
  RseqSections sections;
  CHECK(FindsSequence(&sections));
  const pid_t child = ::fork();
  if (child == 0) {
    RseqSections own;
    ::_exit(FindsSequence(&own) && FindsSequence(&sections) ? 0 : 1);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("a file that could not be read once is read again") {
  const auto mappings = ReadProcessMaps(0);
  REQUIRE(mappings.ok());
  const auto start = reinterpret_cast<uint64_t>(hbbp_test_sequence);
  const auto own =
      std::find_if(mappings->begin(), mappings->end(),
                   [start](const Mapping& mapping) { return mapping.Contains({start}); });
  REQUIRE(own != mappings->end());
  Mapping missing = *own;
  missing.path = "/does/not/exist";
  RseqSections sections;
  CHECK(sections.Find({missing}).empty());
  CHECK(sections.Find({*own}).size() == 1);
}

}  // namespace
}  // namespace hbbp
