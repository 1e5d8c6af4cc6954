#include "perf/breakpoint_check.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <cstdint>

#include "base/unique_fd.h"
#include "perf/perf_event.h"

namespace hbbp {
namespace {

[[gnu::noinline]] void Target() { asm volatile(""); }

bool HitOne() {
  perf_event_attr attr = MakePerfEventAttr(PERF_TYPE_BREAKPOINT, 0);
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.bp_type = HW_BREAKPOINT_X;
  attr.bp_addr = reinterpret_cast<uint64_t>(&Target);
  attr.bp_len = sizeof(long);
  const UniqueFd event(RawPerfEventOpen(attr, 0, -1));
  if (!event.valid()) return true;
  Target();
  uint64_t hits = 0;
  return ::read(event.get(), &hits, sizeof(hits)) != sizeof(hits) || hits != 0;
}

}  // namespace

bool BreakpointsAreHit() {
  static const bool are_hit = HitOne();
  return are_hit;
}

}  // namespace hbbp
