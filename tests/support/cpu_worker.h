// A thread that uses as much CPU time as a test asks for.
#ifndef HBBP_TESTS_SUPPORT_CPU_WORKER_H_
#define HBBP_TESTS_SUPPORT_CPU_WORKER_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <future>
#include <thread>

#include "support/cpu_work.h"

namespace hbbp {

// Is a thread that works when it is asked to, for as much CPU time as it is asked for.
class Worker {
 public:
  Worker() : tid_(started_.get_future()), thread_([this] { Run(); }) {}
  ~Worker() { WaitForCpuNs(); }

  pid_t tid() { return tid_.valid() ? known_tid_ = tid_.get() : known_tid_; }
  // Starts the work; WaitForCpuNs waits for its end and returns the CPU time that it took.
  void Work(uint64_t cpu_ns) { asked_.set_value(cpu_ns), is_asked_ = true; }
  uint64_t WaitForCpuNs() {
    if (!is_asked_) Work(0);
    if (thread_.joinable()) thread_.join();
    return spent_ns_;
  }

 private:
  void Run() {
    started_.set_value(::gettid());
    spent_ns_ = Spin(asked_.get_future().get());
  }

  std::promise<pid_t> started_;
  std::promise<uint64_t> asked_;
  std::future<pid_t> tid_;
  pid_t known_tid_ = 0;
  bool is_asked_ = false;
  uint64_t spent_ns_ = 0;
  std::thread thread_;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_CPU_WORKER_H_
