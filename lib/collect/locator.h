// Locator: which code was at an address of a process at a time, and whose thread it was.
//
// A process that runs (LiveLocator) has its files mapped and its generated code in memory, which
// must be copied while it is there. Processes of a recording (RecordedLocator) come and go in it,
// and have the code that files have here.
#ifndef HBBP_LIB_COLLECT_LOCATOR_H_
#define HBBP_LIB_COLLECT_LOCATOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "events/event_sink.h"
#include "profile/profile_data.h"

namespace hbbp {

// As a sink it is where the events end that say where code is; it counts no samples.
class Locator : public EventSink {
 public:
  // Of something that was executed at that time (collect/code_location.h). Throws std::bad_alloc
  // without memory for the code that is there.
  virtual uint64_t FindLocation(uint32_t pid, RuntimeAddress address, uint64_t time_ns) = 0;
  // The same of all branches of a burst, in place of what is in `places`.
  virtual void FindLocations(const BurstSample& burst, std::vector<TakenBranch>* places) = 0;
  // The module of places in the kernel. Not before there is one.
  virtual uint32_t kernel_module() const = 0;

  // Of a thread that is about to be counted for the first time.
  virtual std::string NameOfThread(uint32_t pid, uint32_t tid) = 0;
  // Of a thread that was just started; empty if it is not known yet.
  virtual std::string InheritedName(const ForkEvent&) const { return ""; }

  // As far as they are known now, each with its code by rising offset.
  virtual std::vector<ModuleRecord> Modules() const = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_LOCATOR_H_
