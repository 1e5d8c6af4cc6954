// SampleWait lets a worker sleep until there are samples, for backends of which each sample wants a
// drain.
#ifndef HBBP_LIB_BACKENDS_SAMPLE_WAIT_H_
#define HBBP_LIB_BACKENDS_SAMPLE_WAIT_H_

#include <time.h>

#include "base/wakeup.h"

namespace hbbp {

class SampleWait {
 public:
  virtual ~SampleWait() = default;

  // Waits until Post, until that time of CLOCK_MONOTONIC, or for samples; returns whether there are
  // any. One thread may call it, while others call the backend.
  virtual bool Wait(const timespec& deadline, Wakeup* wakeup) = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_SAMPLE_WAIT_H_
