// Measures for how long a thread of another process stands still while a burst of it is traced from
// outside, in real programs. The time is the mean of a stop; counters have its median and 99th
// percentile and the medians of its parts, in microseconds, and the pages of a burst. A stop ends
// when the thread is about to be let go; let_go_us is how long the tracer is in that call, in which
// a thread that was let go may take its CPU.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "attach/process_tracer.h"
#include "attach/thread_stop.h"
#include "backends/burst_weights.h"
#include "base/clock.h"

namespace hbbp {
namespace {

constexpr useconds_t kPauseUs = 2000;
constexpr size_t kInputBytes = size_t{64} << 20;

struct Program {
  const char* name;
  const char* command;  // of the shell, for "input"
};

constexpr Program kPrograms[] = {
    {"spin", "exec perl -e '1 while 1'"},
    {"bzip2", "exec bzip2 -c input"},
    {"gzip", "exec gzip -c input"},
    {"xz", "exec xz -c input"},
    {"perl", "exec perl -e 'for (;;) { my %c; $c{($_ * 7919) % 100003}++ for 1 .. 100000 }'"},
    {"awk", "exec awk 'BEGIN { for (;;) { i++; a[(i * 7919) % 10007] = i \"x\" } }'"},
    {"sort", "exec sort input"},
};

// A directory with the file `input`, which has numbers in no order.
class Input {
 public:
  Input() {
    char directory[] = "/tmp/attach_bench.XXXXXX";
    if (::mkdtemp(directory) == nullptr) std::abort();
    directory_ = directory;
    std::ofstream file(path());
    std::string text;
    for (uint64_t i = 1; text.size() < kInputBytes; ++i) {
      text += std::to_string(i * 2654435761 % 100'000'007) + '\n';
    }
    file << text;
  }
  ~Input() {
    ::unlink(path().c_str());
    ::rmdir(directory_.c_str());
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  const std::string& directory() const { return directory_; }

 private:
  std::string path() const { return directory_ + "/input"; }

  std::string directory_;
};

// Runs a program, again and again.
class Running {
 public:
  Running(const Program& program, const Input& input) : program_(program), input_(input) {
    Start();
  }
  ~Running() { End(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  pid_t pid() const { return pid_; }
  void Restart() {
    End();
    Start();
  }

 private:
  void Start() {
    constexpr useconds_t kStartUs = 300'000;
    pid_ = ::fork();
    if (pid_ == 0) {
      const bool is_there = ::chdir(input_.directory().c_str()) == 0 &&
                            std::freopen("/dev/null", "w", stdout) != nullptr;
      if (is_there) ::execl("/bin/sh", "sh", "-c", program_.command, nullptr);
      ::_exit(127);
    }
    ::usleep(kStartUs);
  }
  void End() const {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  const Program& program_;
  const Input& input_;
  pid_t pid_ = 0;
};

class Quantiles {
 public:
  void Add(uint64_t value) { values_.push_back(value); }
  double Find(double share) {
    if (values_.empty()) return 0;
    const auto at =
        values_.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(values_.size() - 1));
    std::nth_element(values_.begin(), at, values_.end());
    return static_cast<double>(*at);
  }

 private:
  std::vector<uint64_t> values_;
};

void BM_Burst(benchmark::State& state, const Program& program) {
  static const Input input;
  Running running(program, input);
  std::unique_ptr<ProcessTracer> tracer;
  const trace::BurstLimits limits = DefaultBurstLimits(TraceMode::kLookAhead, BurstExtent::kEvents);
  Quantiles all, stop, trace, let_go, cpu, read, unread;
  for (auto _ : state) {
    for (bool is_done = false; !is_done;) {
      if (tracer == nullptr) {
        auto created = ProcessTracer::Create(running.pid());
        if (!created.ok()) return state.SkipWithError("no memory");
        tracer = std::move(*created);
      }
      ::usleep(kPauseUs);
      const uint64_t begin_cpu_ns = ClockNs(CLOCK_THREAD_CPUTIME_ID);
      const uint64_t begin_ns = ClockNs(CLOCK_MONOTONIC);
      ThreadStop thread(running.pid(), running.pid(), true);
      const StopOutcome outcome = thread.Stop();
      if (outcome == StopOutcome::kRefused) return state.SkipWithError("ptrace is refused");
      if (outcome == StopOutcome::kGone) {
        running.Restart();
        tracer.reset();
      }
      if (outcome != StopOutcome::kStopped || thread.IsInSystemCall()) continue;
      const uint64_t stopped_ns = ClockNs(CLOCK_MONOTONIC);
      const TracedBurst burst = tracer->Trace(thread, limits);
      const uint64_t traced_ns = ClockNs(CLOCK_MONOTONIC);
      thread.LetGo();
      let_go.Add(ClockNs(CLOCK_MONOTONIC) - traced_ns);
      is_done = true;
      cpu.Add(ClockNs(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns);
      state.SetIterationTime(static_cast<double>(traced_ns - begin_ns) / 1e9);
      all.Add(traced_ns - begin_ns);
      stop.Add(stopped_ns - begin_ns);
      trace.Add(traced_ns - stopped_ns);
      read.Add(burst.read_pages);
      unread.Add(burst.unread_pages);
    }
    (void)tracer->FlushIfFull();
  }
  state.counters["p50_us"] = all.Find(0.5) / 1e3;
  state.counters["p99_us"] = all.Find(0.99) / 1e3;
  state.counters["stop_us"] = stop.Find(0.5) / 1e3;
  state.counters["trace_us"] = trace.Find(0.5) / 1e3;
  state.counters["let_go_us"] = let_go.Find(0.5) / 1e3;
  state.counters["cpu_us"] = cpu.Find(0.5) / 1e3;
  state.counters["pages"] = read.Find(0.5);
  state.counters["unread_pages"] = unread.Find(0.5);
}

void Register() {
  for (const Program& program : kPrograms) {
    benchmark::RegisterBenchmark((std::string("BM_Burst/") + program.name).c_str(),
                                 [&program](benchmark::State& state) { BM_Burst(state, program); })
        ->UseManualTime()
        ->Iterations(500)
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace
}  // namespace hbbp

int main(int argc, char** argv) {
  hbbp::Register();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
