#include "preload/own_process.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace hbbp::preload {
namespace {

std::atomic<pid_t> own{0};  // until the constructor has run

void SetOwn() { own = ::getpid(); }

__attribute__((constructor(101))) void OnLoad() {
  SetOwn();
  ::pthread_atfork(nullptr, nullptr, &SetOwn);
}

}  // namespace

bool IsOwnProcess() { return own == 0 || own == ::getpid(); }

}  // namespace hbbp::preload
