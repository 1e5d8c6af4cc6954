// Makes a host whose memory allocations sometimes fail.
#ifndef HBBP_TESTS_SUPPORT_FAILING_HOST_H_
#define HBBP_TESTS_SUPPORT_FAILING_HOST_H_

#include <cstdlib>

#include "base/counted_memory.h"

namespace hbbp {

struct FailingHost {
  int every = 0;  // interval of failing allocations; 0: none fails
  int calls = 0;
  int live = 0;

  Allocator allocator() {
    return {[](size_t size, size_t alignment, void* user) -> void* {
              auto* host = static_cast<FailingHost*>(user);
              if (host->every != 0 && ++host->calls % host->every == 0) return nullptr;
              ++host->live;
              return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
            },
            [](void* memory, size_t, size_t, void* user) {
              --static_cast<FailingHost*>(user)->live;
              std::free(memory);
            },
            this};
  }
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_FAILING_HOST_H_
