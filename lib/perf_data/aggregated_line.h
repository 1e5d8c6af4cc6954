// Parses lines of text that was added up for BOLT (perf2bolt -pa): branches and the ranges between
// them, each with how often it was seen.
//
//   E cycles                        the event that was sampled
//   B 4b196f 4b19e0 12 3            a branch, 12 times, of which 3 were mispredicted
//   F 4b19e0 4b19ef 12              the code from 4b19e0 to the branch at 4b19ef
//   f 4b19e0 4b19ef 2               likewise, entered from outside of the file
//   r 4b19e0 4b19ef 2               likewise, entered by a return
//   T 4b196f 4b19e0 4b19ef 12       a branch and the code behind it
//   R 4b196f 4b19e0 4b19ef 12       a return and the code behind it
//   S 4b19e0 7                      instruction pointers
//
// A location may have the build ID of its file in front ("a1b2...:4b196f"), which is empty for the
// one file of the text (":4b196f"), or X where it is in a file that is not of interest ("X:7f00").
// The last three numbers of 64 bits stand for what is not known: all bits set for no branch, or no
// code behind it; one less for any source outside of the file, two less for a return from there.
#ifndef HBBP_LIB_PERF_DATA_AGGREGATED_LINE_H_
#define HBBP_LIB_PERF_DATA_AGGREGATED_LINE_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace hbbp {

struct AggregatedLocation {
  std::string_view build_id;  // in hexadecimal; empty: that of the one file
  bool is_external = false;
  uint64_t address = 0;

  bool operator==(const AggregatedLocation&) const = default;
};

// What is absent of a branch and the code behind it is not known, or in records of their own.
struct AggregatedLine {
  std::string_view event;  // if not empty, this is all
  std::optional<AggregatedLocation> ip;
  std::optional<AggregatedLocation> from;
  std::optional<AggregatedLocation> to;
  std::optional<AggregatedLocation> end;  // the branch that ends the code from `to` on
  uint64_t count = 0;
};

// Returns nothing for what is not such a line. The views are of `line`.
std::optional<AggregatedLine> ParseAggregatedLine(std::string_view line);

// Returns whether text is of such lines, by its beginning.
bool IsAggregatedText(std::string_view beginning);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_AGGREGATED_LINE_H_
