// MappingWatch reports executable mappings that a process has made, where no perf events may report
// them: it compares lists of all mappings. They are dated back to the last comparison, as what ran
// in them ran since, unless something else was there then.
#ifndef HBBP_LIB_BACKENDS_MAPPING_WATCH_H_
#define HBBP_LIB_BACKENDS_MAPPING_WATCH_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

#include "events/event_sink.h"
#include "image/process_maps.h"

namespace hbbp {

class MappingWatch {
 public:
  // `pid` 0 is the calling process.
  explicit MappingWatch(pid_t pid) : pid_(pid) {}

  // Delivers the executable mappings that were not there at the last call; none at the first call.
  void Compare(EventSink* sink);
  // The same with mappings that were read just now, after `read_ns`.
  void Compare(const std::vector<Mapping>& mappings, uint64_t read_ns, EventSink* sink);
  // What others have reported counts as known.
  void Add(const MappingEvent& mapping) {
    known_[mapping.start.value] = {mapping.end.value, mapping.inode, mapping.offset.value};
  }
  // Returns whether a known executable mapping has the address.
  bool Covers(uint64_t address) const;
  // Makes the next call the first one.
  void Reset() {
    known_.clear();
    has_compared_ = false;
  }

 private:
  struct Known {
    uint64_t end;
    uint64_t inode;
    uint64_t offset;

    bool operator==(const Known&) const = default;
  };

  bool WasFree(const Mapping& mapping) const;

  pid_t pid_;
  std::map<uint64_t, Known> known_;  // by start
  bool has_compared_ = false;
  uint64_t last_ns_ = 0;  // when they were compared
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_MAPPING_WATCH_H_
