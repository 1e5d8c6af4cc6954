// BoltStream is the code that ran from the target of a taken branch to the next taken branch, for
// BOLT.
#ifndef HBBP_LIB_EXPORT_BOLT_STREAMS_H_
#define HBBP_LIB_EXPORT_BOLT_STREAMS_H_

#include <vector>

#include "base/address.h"
#include "export/export_subject.h"

namespace hbbp {

struct BoltStream {
  ModuleAddress start;
  ModuleAddress last;       // the branch
  bool is_arrival = false;  // see IsArrival
  double count = 0;
};

// Returns the streams of subject.module that static code explains, by address, each once. Streams
// that end in another module are not usable, nor are those in stubs of the procedure linkage table,
// of which BOLT has no blocks. What the code does not explain is noted. Throws WorkCancelled.
std::vector<BoltStream> FindBoltStreams(const ExportSubject& subject);

// Returns whether control arrives from outside of the module, or by a return: where the instruction
// before it may be a call. Such a branch is not one of a control flow graph.
bool IsArrival(const ExportSubject& subject, uint32_t from_module, ModuleAddress from);

// Notes that `part` of `all` is left out, if it is more than a thousandth.
void ReportShare(const ExportSubject& subject, double part, double all, const char* what);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_BOLT_STREAMS_H_
