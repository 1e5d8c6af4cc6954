// A line of /proc/PID/maps as an event.
#ifndef HBBP_LIB_EVENTS_CURRENT_MAPPING_H_
#define HBBP_LIB_EVENTS_CURRENT_MAPPING_H_

#include <sys/sysmacros.h>

#include <cstdint>

#include "events/code_events.h"
#include "image/process_maps.h"

namespace hbbp {

inline MappingEvent MappingAt(const Mapping& mapping, uint64_t time_ns) {
  MappingEvent event;
  event.start = mapping.start;
  event.end = mapping.end;
  event.offset = mapping.offset;
  event.device = makedev(mapping.device_major, mapping.device_minor);
  event.inode = mapping.inode;
  event.path = mapping.path;
  event.time_ns = time_ns;
  return event;
}

}  // namespace hbbp

#endif  // HBBP_LIB_EVENTS_CURRENT_MAPPING_H_
