// Locator finds the code that was at an address of a process at a time, and the names of threads.
//
// A running process (LiveLocator) has its files mapped and its generated code in memory, which
// must be copied while it is there. Processes of a recording (RecordedLocator) start and end in it,
// and their code is that of the files on this machine.
#ifndef HBBP_LIB_COLLECT_LOCATOR_H_
#define HBBP_LIB_COLLECT_LOCATOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collect/address_space.h"
#include "events/event_sink.h"
#include "profile/profile_data.h"

namespace hbbp {

// As a sink it receives the events that say where code is; it counts no samples.
class Locator : public EventSink {
 public:
  // Returns the location (collect/code_location.h) of an instruction that was executed at that
  // time. Throws std::bad_alloc without memory for the code that is there.
  virtual uint64_t FindLocation(uint32_t pid, RuntimeAddress address, uint64_t time_ns) = 0;
  // Replaces `locations` by those of all branches of a burst.
  virtual void FindLocations(const BurstSample& burst, std::vector<TakenBranch>* locations) = 0;
  // Returns the module of the kernel; it may be kNoModule before a location was in the kernel.
  virtual uint32_t kernel_module() const = 0;

  // Returns the name of a thread that is about to be counted for the first time.
  virtual std::string NameOfThread(uint32_t pid, uint32_t tid) = 0;
  // Returns the name that a new thread has from its parent, or an empty one if that is unknown.
  virtual std::string InheritedName(const ForkEvent&) const { return ""; }

  // Returns where code is in a process.
  virtual const AddressSpace& SpaceOf(uint32_t pid) = 0;
  // Returns a module by the number that locations and placements have.
  virtual const ModuleRecord& module(uint32_t index) const = 0;
  // Returns the modules that are known now, each with its code by rising offset.
  virtual std::vector<ModuleRecord> Modules() const = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_LOCATOR_H_
