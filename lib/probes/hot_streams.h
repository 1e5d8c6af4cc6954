// Finds the hot streams of a sequence: the words of its grammar that make up much of it.
//
// The heat of a stream is its length times its frequency. As in "Dynamic Hot Data Stream
// Prefetching" (Chilimbi and Hirzel, 2002), rules are examined from the start downwards, and what
// is in a hot stream does not count for the rules inside of it, so the heats of all hot streams
// together are at most the length of the sequence.
//
//   abcdabcd xx abcd, with lengths from 4: rule "abcd" occurs 3 times, its heat is 12 of 14.
#ifndef HBBP_LIB_PROBES_HOT_STREAMS_H_
#define HBBP_LIB_PROBES_HOT_STREAMS_H_

#include <cstdint>
#include <vector>

#include "probes/sequitur.h"

namespace hbbp {

struct HotStreamOptions {
  uint64_t min_length = 10;
  uint64_t max_length = 100;
  double min_heat = 0.001;  // as a share of the length of the whole sequence
};

struct HotStream {
  std::vector<uint32_t> symbols;
  uint64_t frequency = 0;

  uint64_t heat() const { return symbols.size() * frequency; }
};

struct HotStreams {
  uint64_t length = 0;             // of the whole sequence, without gaps
  std::vector<HotStream> streams;  // by falling heat

  // Returns the share of the sequence that is in hot streams.
  double Coverage() const;
};

HotStreams FindHotStreams(const Grammar& grammar, const HotStreamOptions& options);

// Does the same for sequences that are separate of each other.
HotStreams FindHotStreams(const std::vector<std::vector<uint32_t>>& sequences,
                          const HotStreamOptions& options);

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_HOT_STREAMS_H_
