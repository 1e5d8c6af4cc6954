// TraceGrammar infers the grammar of a trace while the trace grows, so that hot streams are found
// without a look at all of it:
//
//   TraceGrammar grammar;
//   grammar.Follow(trace);   // now and then
//   grammar.FindHotStreams(options)
//
// It is the grammar that FindHotStreams(trace.sequences(), options) makes, as long as only the last
// sequence of the trace grows: the trace of one thread.
#ifndef HBBP_LIB_PROBES_TRACE_GRAMMAR_H_
#define HBBP_LIB_PROBES_TRACE_GRAMMAR_H_

#include <cstddef>

#include "probes/hot_streams.h"
#include "probes/sequitur.h"
#include "probes/trace_buffer.h"

namespace hbbp {

class TraceGrammar {
 public:
  // Adds what the trace has got since the last call.
  void Follow(const TraceBuffer& trace);

  HotStreams FindHotStreams(const HotStreamOptions& options) const {
    return hbbp::FindHotStreams(sequitur_.MakeGrammar(), options);
  }

 private:
  Sequitur sequitur_;
  size_t sequence_ = 0;  // the last one that it has symbols of
  size_t symbols_ = 0;   // that it has of it
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_TRACE_GRAMMAR_H_
