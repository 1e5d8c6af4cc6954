// hbbp top: shows what runs now in a process, one interval after the other. RunTop reads the
// options and checks the process; Top observes it (top/interval_sampler.h), waits for the end of
// each interval, for keys and signals, and draws the views (top/interval_view.h) on the terminal
// or writes them one below the other.
#include <limits.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "command.h"
#include "format.h"
#include "options.h"
#include "pager.h"
#include "record/record_options.h"
#include "top/interval_sampler.h"
#include "top/interval_view.h"
#include "top/process_status.h"
#include "top/screen.h"
#include "top/signal_queue.h"
#include "top/view.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "top";
constexpr uint64_t kRowsInFile = 10;
// An analysis takes ten milliseconds and more.
constexpr double kMinDelayS = 0.1;
constexpr double kMaxDelayS = 1e5;

struct TopOptions {
  RecordOptions record;
  uint64_t pid = 0;
  double delay_s = 1;
  uint64_t iterations = 0;  // 0: to the end of the process
  uint64_t rows = 0;        // 0: as many as fit
};

class Top {
 public:
  // The options must stay valid.
  Top(const TopOptions& options, UniqueFd process, ProcessStatus status, SignalQueue signals)
      : options_(options),
        process_(std::move(process)),
        signals_(std::move(signals)),
        sampler_(SessionOptionsOf(options.record), static_cast<uint64_t>(options.delay_s * 1e9)),
        meter_(static_cast<pid_t>(options.pid)),
        observed_{static_cast<pid_t>(options.pid), std::move(status), {}} {
    if (CanPage()) screen_.emplace();
  }

  // Returns when the process has ended, all intervals were shown, or the user quits. Throws
  // hbbp::error if the process cannot be observed.
  Status Run();

 private:
  enum class Event { kIntervalOver, kEnd, kQuit, kSuspension, kRedrawing };

  Event Wait();
  bool HasEnded() const;
  Status ShowInterval();
  Status ShowLast();
  Status Suspend();
  Status Show(View view);
  Status Draw();
  Status Finish();
  ViewLimits Limits() const;
  Status Write(std::string_view text);

  const TopOptions& options_;
  const UniqueFd process_;  // becomes readable when it ends
  SignalQueue signals_;
  IntervalSampler sampler_;
  CpuMeter meter_;
  ObservedProcess observed_;
  std::optional<Screen> screen_;
  View view_;
  uint64_t views_ = 0;
  bool is_reader_gone_ = false;
};

Top::Event Top::Wait() {
  for (;;) {
    if (signals_.quits() || is_reader_gone_) return Event::kQuit;
    if (signals_.TakeSuspension()) return Event::kSuspension;
    const bool is_continued = signals_.TakeContinuation();
    const bool is_resized = signals_.TakeResize();
    if (screen_ && is_continued) screen_->Enter();
    if (screen_ && (is_continued || is_resized)) return Event::kRedrawing;

    const uint64_t remaining_ns = sampler_.NsToEnd();
    if (remaining_ns == 0) return Event::kIntervalOver;
    const timespec left = {static_cast<time_t>(remaining_ns / 1'000'000'000),
                           static_cast<long>(remaining_ns % 1'000'000'000)};
    enum { kSignals, kProcess, kKeys, kOutput, kCount };
    // That the reader of a pipe is gone is an error of it, which is always reported.
    pollfd fds[kCount] = {{signals_.fd(), POLLIN, 0},
                          {process_.get(), POLLIN, 0},
                          {screen_ ? screen_->keys() : -1, POLLIN, 0},
                          {STDOUT_FILENO, 0, 0}};
    if (::ppoll(fds, kCount, &left, nullptr) <= 0) continue;
    if (fds[kSignals].revents != 0) signals_.Read();
    if (fds[kKeys].revents != 0 && screen_->ReadQuit()) return Event::kQuit;
    if ((fds[kOutput].revents & (POLLERR | POLLHUP)) != 0) is_reader_gone_ = true;
    if (fds[kProcess].revents != 0) return Event::kEnd;
  }
}

bool Top::HasEnded() const {
  // It is seen as ended only some time after it cannot be observed any longer.
  constexpr int kMaxWaitMs = 200;
  pollfd wait = {process_.get(), POLLIN, 0};
  return ::poll(&wait, 1, kMaxWaitMs) > 0;
}

Status Top::Run() {
  sampler_.Start();
  if (screen_) {
    screen_->Enter();
    view_.header = {TitleOf(observed_) + ": the first interval lasts " +
                    FormatDuration(static_cast<uint64_t>(options_.delay_s * 1e9)) + "; q quits"};
    HBBP_RETURN_IF_ERROR(Draw());
  }
  for (;;) {
    switch (Wait()) {
      case Event::kIntervalOver:
        HBBP_RETURN_IF_ERROR(ShowInterval());
        if (views_ == options_.iterations) return Finish();
        break;
      case Event::kRedrawing:
        HBBP_RETURN_IF_ERROR(Draw());
        break;
      case Event::kSuspension:
        HBBP_RETURN_IF_ERROR(Suspend());
        break;
      case Event::kQuit:
        if (views_ == 0) HBBP_RETURN_IF_ERROR(ShowLast());
        return Finish();
      case Event::kEnd:
        HBBP_RETURN_IF_ERROR(ShowLast());
        HBBP_RETURN_IF_ERROR(Finish());
        Note(kName, "process " + TitleOf(observed_) + " has ended");
        return OkStatus();
    }
  }
}

Status Top::ShowInterval() {
  observed_.cpu_share = meter_.Share();
  StatusOr<ProcessStatus> status = ReadProcessStatus(observed_.pid);
  if (status.ok()) observed_.status = *std::move(status);
  const Interval interval = sampler_.Take();
  const Status renewed = CatchError([&] { sampler_.RenewIfLarge(); });
  HBBP_RETURN_IF_ERROR(Show(MakeView(observed_, interval)));
  if (renewed.ok() || HasEnded()) return OkStatus();
  return renewed;
}

Status Top::ShowLast() {
  if (!sampler_.is_running()) return OkStatus();
  observed_.cpu_share = meter_.Share();
  View view = MakeView(observed_, sampler_.TakeLast());
  // The view before it says more than one of too few samples.
  if (views_ > 0 && view.functions.empty()) return OkStatus();
  return Show(std::move(view));
}

// Nothing may observe the process while this one is stopped: threads would wait for it.
Status Top::Suspend() {
  sampler_.Stop();
  if (screen_) screen_->Leave();
  signals_.Suspend();
  if (screen_) screen_->Enter();
  const Status started = CatchError([&] { sampler_.Start(); });
  if (!started.ok() && !HasEnded()) return started;
  (void)meter_.Share();
  return screen_ ? Draw() : OkStatus();
}

Status Top::Show(View view) {
  view_ = std::move(view);
  ++views_;
  return Draw();
}

ViewLimits Top::Limits() const {
  constexpr uint64_t kAny = 10'000;
  if (!screen_) return {options_.rows == 0 ? kRowsInFile : options_.rows};
  const Screen::Size size = Screen::size();
  return {options_.rows == 0 ? kAny : options_.rows, size.columns - 1, size.lines};
}

std::string TextOf(const std::vector<ViewLine>& lines) {
  std::string text;
  for (const ViewLine& line : lines) text += line.text + '\n';
  return text;
}

Status Top::Draw() {
  const std::vector<ViewLine> lines = Render(view_, Limits());
  if (screen_) return Write(Redraw(lines));
  return Write((views_ > 1 ? "\n" : "") + TextOf(lines));
}

// Leaves the last view where the user goes on to type.
Status Top::Finish() {
  if (!screen_) return OkStatus();
  const std::vector<ViewLine> lines = Render(view_, Limits());
  screen_.reset();
  return Write(TextOf(lines));
}

// Gives up without an error if nothing reads any longer, or if a signal quits while nothing does.
Status Top::Write(std::string_view text) {
  while (!text.empty() && !is_reader_gone_) {
    pollfd fds[] = {{STDOUT_FILENO, POLLOUT, 0}, {signals_.fd(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0) continue;
    if (fds[1].revents != 0) signals_.Read();
    if (fds[0].revents == 0) {
      if (signals_.quits()) return OkStatus();
      continue;
    }
    // So many bytes do not block if any can be written.
    const ssize_t written =
        ::write(STDOUT_FILENO, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE || errno == EIO) {
      is_reader_gone_ = true;
    } else if (errno != EINTR && errno != EAGAIN) {
      return ErrnoStatus(errno, "standard output");
    }
  }
  return OkStatus();
}

Status CheckOptions(TopOptions* options) {
  RecordOptions& record = options->record;
  if (options->pid == 0) {
    return MakeStatus(StatusCode::kInvalidArgument, "--pid PID is missing; see hbbp top --help");
  }
  if (options->pid > INT_MAX) {
    return ErrnoStatus(ESRCH, "process " + std::to_string(options->pid));
  }
  record.pids = {static_cast<pid_t>(options->pid)};
  if (!(options->delay_s >= kMinDelayS && options->delay_s <= kMaxDelayS)) {
    return MakeStatus(StatusCode::kInvalidArgument, "--delay: give from 100ms to %.0f seconds",
                      kMaxDelayS);
  }
  HBBP_RETURN_IF_ERROR(FindEventOf(&record));
  return CheckRecordOptions(record);
}

Status Observe(TopOptions options) {
  HBBP_RETURN_IF_ERROR(CheckOptions(&options));
  const auto pid = static_cast<pid_t>(options.pid);
  const std::string title = "process " + std::to_string(pid);
  const StatusOr<ProcessStatus> status = ReadProcessStatus(pid);
  if (status.ok()) HBBP_RETURN_IF_ERROR(CheckHasUserCode(pid, *status));
  UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid()) return ErrnoStatus(errno, title);
  if (!status.ok()) return status.status().Annotate(title);
  HBBP_ASSIGN_OR_RETURN(SignalQueue signals, SignalQueue::Open());
  return Top(options, std::move(process), *status, std::move(signals)).Run();
}

}  // namespace

int RunTop(int argc, char** argv) {
  TopOptions top;
  RecordOptions& record = top.record;
  Options options(kName, "Show what runs now in a process, and go on to show it");
  options.Value("-p,--pid", &top.pid, "PID", "the process");
  options.Seconds("-d,--delay", &top.delay_s, "TIME",
                  "how long each interval lasts, such as 500ms, 5 or 1m (1)");
  options.Count("-n,--iterations", &top.iterations,
                "end after N views; without it, at the end of the process, or by q or Ctrl-C");
  options.Count("--top", &top.rows,
                "only the first N of each list; else what fits, and 10 where there is no terminal");
  options.Choice(
      "--source", &record.source, {"auto", "ebs", "lbr", "swbt"},
      "what observes the process, as of hbbp record (auto: lbr where there is a PMU that "
      "has it, else ebs)");
  options.Value("-e,--event", &record.event, "EVENT",
                "what a sampling period counts, as of hbbp record (auto)");
  options.Value("-c,--period", &record.period, "N",
                "occurrences of the event between samples (ns for clocks), such as 250000, 1M or "
                "1e6; by default 1M of ebs and 10M of swbt where they are by a clock, else as of "
                "hbbp record");
  options.Value("-F,--freq", &record.frequency_hz, "HZ",
                "samples a second of CPU time, instead of a period");
  options.Footer(
      "Each view is of what ran since the view before. share: of all instructions, or of the time\n"
      "where the source samples a clock; std. error: one sigma of what is before it. loop: "
      "address\n"
      "of its header; trip count: iterations by entries, by branches or by counts of blocks.\n"
      "Nothing is written to disk. Where output is not a terminal, views follow each other as "
      "text.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;
  const Status status = Observe(std::move(top));
  return status.ok() ? kExitSuccess : Fail(kName, status.message());
}

}  // namespace hbbp::tools
