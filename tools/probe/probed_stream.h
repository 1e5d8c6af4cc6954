// What a report needs to know of the instructions that productions saw.
#ifndef HBBP_TOOLS_PROBE_PROBED_STREAM_H_
#define HBBP_TOOLS_PROBE_PROBED_STREAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "probes/production_set.h"

namespace hbbp::tools {

// Describes an address of code, as productions record it.
struct CodeDescription {
  bool is_in_module = false;
  std::string module;           // path
  std::string function;         // as in the symbol table; empty: unknown
  uint64_t address = 0;         // in the module; of the process if that is unknown
  uint64_t function_start = 0;  // in the same terms; 0: unknown
};

class ProbedStream {
 public:
  virtual ~ProbedStream() = default;

  virtual const ProductionSet& set() const = 0;
  // Returns whether it has a sample of the instructions, of which counts are estimated.
  virtual bool is_sample() const = 0;
  virtual uint64_t instructions() const = 0;
  virtual CodeDescription Describe(uint64_t code) const = 0;
  // Returns what a reader must know of the stream.
  virtual std::vector<std::string> Notes() const = 0;
};

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_PROBE_PROBED_STREAM_H_
