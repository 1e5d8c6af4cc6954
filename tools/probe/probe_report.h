// Makes tables of what productions recorded.
#ifndef HBBP_TOOLS_PROBE_PROBE_REPORT_H_
#define HBBP_TOOLS_PROBE_PROBE_REPORT_H_

#include <cstdint>

#include "probe/probed_program.h"
#include "probe/probed_stream.h"
#include "probes/hot_streams.h"
#include "table.h"

namespace hbbp::tools {

struct ProbeReportOptions {
  uint64_t top = 0;  // rows of each table; 0: all
  HotStreamOptions streams;
  Format format = Format::kTable;
};

// Returns the rows of all tables that the engine filled, and the hot streams of its traces.
Table ListProbes(const ProbedStream& probed, const ProductionEngine& engine,
                 const ProbeReportOptions& options);

// Compares each engine with the first one, which is exhaustive: the overlap of what it recorded.
Table ListOverlaps(const ProbedProgram& program, const ProbeReportOptions& options);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_PROBE_REPORT_H_
