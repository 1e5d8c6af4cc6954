// RseqSections finds the restartable sequences (rseq) of the mapped code.
#ifndef HBBP_LIB_BACKENDS_RSEQ_SECTIONS_H_
#define HBBP_LIB_BACKENDS_RSEQ_SECTIONS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "image/process_maps.h"
#include "trace/restartable_sequence.h"

namespace hbbp {

// Programs have the descriptors of their sequences in a section __rseq_cs. Each file is read once;
// of files without such a section, as almost all are, children of fork know that, too.
class RseqSections {
 public:
  // Returns the sequences of all executable mappings of the calling process.
  std::vector<trace::SequenceRange> Find(const std::vector<Mapping>& mappings);

 private:
  using Key = std::pair<uint64_t, std::string>;  // address and path
  std::map<Key, std::vector<trace::SequenceRange>> known_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_RSEQ_SECTIONS_H_
