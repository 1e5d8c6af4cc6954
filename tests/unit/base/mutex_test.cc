#include "base/mutex.h"

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("a mutex is shared between processes, and so always taken by atomic instructions") {
  constexpr int kIsShared = 128;  // PTHREAD_MUTEX_PSHARED_BIT of the C library
  Mutex mutex;
  CHECK((mutex.native_handle()->__data.__kind & kIsShared) != 0);
  std::mutex other;
  CHECK((other.native_handle()->__data.__kind & kIsShared) == 0);
}

}  // namespace
}  // namespace hbbp
