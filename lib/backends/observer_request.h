// ObserverRequest has the worker start an observer that it has put off, because the program is
// about to start its first thread. Threads inherit what is there before them. Of those that an
// observer is attached to afterwards, each switch takes longer.
#ifndef HBBP_LIB_BACKENDS_OBSERVER_REQUEST_H_
#define HBBP_LIB_BACKENDS_OBSERVER_REQUEST_H_

#include <atomic>
#include <cstdint>

#include "base/wakeup.h"

namespace hbbp {

// Contract: MakeAndWait may be called by any thread at any time; the worker alone calls the others.
class ObserverRequest {
 public:
  // There is one, as there is one session at a time that traces branches.
  static ObserverRequest& Get();

  // An observer is put off. `worker` must outlive the process.
  void Open(Wakeup* worker);
  // It was started, or will not be.
  void Close();
  bool is_made() const { return is_made_; }

  // Does nothing if no observer is put off. Waits for the worker for some milliseconds at most.
  void MakeAndWait();

 private:
  std::atomic<Wakeup*> worker_{nullptr};
  std::atomic<uint32_t> is_open_{0};
  std::atomic<bool> is_made_{false};
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_OBSERVER_REQUEST_H_
