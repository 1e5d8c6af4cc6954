// Makes events like sources of events do, with a source and a process.
#ifndef HBBP_TESTS_SUPPORT_EVENT_BUILDERS_H_
#define HBBP_TESTS_SUPPORT_EVENT_BUILDERS_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "events/code_events.h"
#include "events/samples.h"

namespace hbbp {

template <typename Sample>
Sample OfSource(uint32_t source, Sample sample) {
  sample.source = source;
  return sample;
}

inline MappingEvent OfProcess(uint32_t pid, MappingEvent mapping) {
  mapping.pid = pid;
  return mapping;
}

inline ForkEvent MakeFork(uint32_t parent, uint32_t child) {
  return {child, child, parent, parent};
}

inline CodeEvent CodeAt(uint32_t pid, uint64_t address, uint64_t size,
                        std::span<const uint8_t> bytes, std::string name, uint64_t time_ns,
                        CodeLines lines = {}) {
  return {pid, {address}, size, bytes, std::move(name), time_ns, std::move(lines)};
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_EVENT_BUILDERS_H_
