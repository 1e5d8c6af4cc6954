#include "preload/seccomp_filter.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/own_status.h"
#include "preload/options.h"

namespace hbbp::preload {
namespace {

std::atomic<bool> has_filter{false};

}  // namespace

bool HasFilter() { return has_filter.load(std::memory_order_relaxed); }
void SetHasFilter() { has_filter = true; }

bool HasFilterFromTheStart() try {
  static bool is_known = false;
  if (is_known) return HasFilter();
  is_known = true;
  const char* const before = std::getenv(kFiltersVariable);
  if (before != nullptr && CountSeccompFilters() > std::atoi(before)) SetHasFilter();
  return HasFilter();
} catch (const std::bad_alloc&) {
  return HasFilter();
}

}  // namespace hbbp::preload
