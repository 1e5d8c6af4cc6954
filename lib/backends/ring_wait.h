// RingWait waits for samples in rings of perf events.
#ifndef HBBP_LIB_BACKENDS_RING_WAIT_H_
#define HBBP_LIB_BACKENDS_RING_WAIT_H_

#include <poll.h>
#include <time.h>

#include <cstdint>
#include <vector>

#include "backends/sample_wait.h"
#include "base/wakeup.h"

namespace hbbp {

class RingWait : public SampleWait {
 public:
  // Sets the descriptors that poll() finds readable when there are samples. Wait must not run.
  void SetDescriptors(const std::vector<int>& descriptors);

  // A futex and descriptors cannot be waited for together, so that a Post is seen up to ten
  // milliseconds late. Samples are reported at most each half millisecond.
  bool Wait(const timespec& deadline, Wakeup* wakeup) override;

 private:
  std::vector<pollfd> polled_;
  uint64_t last_ns_ = 0;  // when samples were reported
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_RING_WAIT_H_
