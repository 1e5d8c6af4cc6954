// Tests sessions whose options leave the source open: what they take here, without perf events,
// without signal handlers and under a debugger, and that messages of a refused source name one that
// works.
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "checks.h"
#include "support/seccomp_filter.h"

namespace {

uint64_t CpuNs() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The example of README.md, compiled without optimisation: its loop is a block that divides and one
// that compares.
__attribute__((noinline)) double Work(int end) {
  volatile double sum = 0;
  for (int i = 1; i < end; i++) sum = sum + 1.0 / i;
  return sum;
}

void WorkUntilThereAreSamples(hbbp_session* session) {
  constexpr uint64_t kMinSamples = 20;
  constexpr uint64_t kMaxNs = 30'000'000'000;
  HBBP_INIT(hbbp_session_info, info);
  do {
    // It takes much longer than what follows, which empties buffers in this thread, with
    // comparisons.
    (void)Work(20'000'000);
    CHECK_OK(hbbp_session_get_info(session, &info, &error));
  } while (info.samples < kMinSamples && CpuNs() < kMaxNs);
}

struct Run {
  hbbp_profile* profile = nullptr;
  hbbp_source_kind kind = HBBP_SOURCE_NONE;
  std::string note;
};

Run Record(const hbbp_session_options* options) {
  Run run;
  hbbp_session* session = nullptr;
  CHECK_OK(hbbp_session_create(options, &session, &error));
  HBBP_INIT(hbbp_error, refusal);
  if (hbbp_session_start(session, &refusal) != HBBP_OK) {
    report(__FILE__, __LINE__, refusal.message);
    std::exit(end_of_checks());
  }
  WorkUntilThereAreSamples(session);
  CHECK_OK(hbbp_session_stop(session, &error));
  CHECK_OK(hbbp_session_snapshot(session, nullptr, &run.profile, &error));
  hbbp_session_destroy(session);
  HBBP_INIT(hbbp_source_info, source);
  CHECK_ELEMENT(hbbp_profile_copy_sources, run.profile, 0, &source);
  run.kind = source.kind;
  run.note = source.note;
  return run;
}

hbbp_session_options OptionsOf(hbbp_source_kind source) {
  HBBP_INIT(hbbp_session_options, options);
  options.source = source;
  return options;
}

void CheckRefused(hbbp_source_kind source, const char* word) {
  const hbbp_session_options options = OptionsOf(source);
  hbbp_session* session = nullptr;
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  HBBP_INIT(hbbp_error, refusal);
  CHECK(hbbp_session_start(session, &refusal) != HBBP_OK);
  if (std::strstr(refusal.message, word) == nullptr) report(__FILE__, __LINE__, refusal.message);
  hbbp_session_destroy(session);
}

bool Contains(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

// Every iteration divides, compares and jumps once.
void CheckCounts(const hbbp_profile* profile) {
  hbbp_analysis* analysis = nullptr;
  hbbp_mix* mix = nullptr;
  CHECK_OK(hbbp_analysis_create(profile, nullptr, nullptr, &analysis, &error));
  CHECK_OK(hbbp_mix_create(analysis, HBBP_MIX_BY_MNEMONIC, nullptr, &mix, &error));
  std::vector<hbbp_mix_row> rows(hbbp_mix_row_count(mix));
  size_t copied = 0;
  CHECK_OK(hbbp_mix_copy_rows(mix, 0, rows.size(), sizeof(rows[0]), rows.data(), &copied, &error));
  double divisions = 0, comparisons = 0, jumps = 0;
  for (const hbbp_mix_row& row : rows) {
    const std::string mnemonic = row.mnemonic;
    if (mnemonic == "divsd" || mnemonic == "vdivsd") divisions += row.instructions;
    if (mnemonic == "cmp") comparisons += row.instructions;
    if (mnemonic == "jl" || mnemonic == "jle" || mnemonic == "jnl" || mnemonic == "jnle") {
      jumps += row.instructions;
    }
  }
  CHECK(divisions > 0);
  if (std::fabs(comparisons - divisions) > 0.1 * divisions ||
      std::fabs(jumps - divisions) > 0.1 * divisions) {
    std::fprintf(stderr, "%.0f divisions, %.0f comparisons, %.0f jumps\n", divisions, comparisons,
                 jumps);
    CHECK(!"equal counts");
  }
  hbbp_mix_destroy(mix);
  hbbp_analysis_destroy(analysis);
}

// Each test returns nullptr, or why there is nothing to be tested here.
const char* CountsByDefault() {
  const Run open = Record(nullptr);
  const hbbp_session_options options = OptionsOf(HBBP_SOURCE_AUTO);
  const Run automatic = Record(&options);
  CHECK(open.kind == automatic.kind);
  if (open.kind == HBBP_SOURCE_SWBT) CheckCounts(open.profile);
  hbbp_profile_destroy(open.profile);
  hbbp_profile_destroy(automatic.profile);
  return open.kind == HBBP_SOURCE_SWBT ? nullptr : "branch records of the hardware";
}

const char* NeverTracesByPerf() {
  hbbp_session* session = nullptr;
  const hbbp_session_options options = OptionsOf(HBBP_SOURCE_PERF);
  CHECK_OK(hbbp_session_create(&options, &session, &error));
  const bool is_refused = hbbp_session_start(session, nullptr) != HBBP_OK;
  hbbp_session_destroy(session);
  if (is_refused) return "no perf events";
  const Run run = Record(&options);
  CHECK(run.kind == HBBP_SOURCE_EBS || run.kind == HBBP_SOURCE_LBR);
  hbbp_profile_destroy(run.profile);
  return nullptr;
}

const char* WithoutPerfEvents() {
  if (!hbbp::RefuseSystemCall(SYS_perf_event_open)) return "no seccomp filters";
  const Run run = Record(nullptr);
  CHECK(run.kind == HBBP_SOURCE_SWBT);
  CHECK(Contains(run.note, "no lbr: ") && Contains(run.note, "timers"));
  CheckCounts(run.profile);
  hbbp_profile_destroy(run.profile);
  for (const hbbp_source_kind source : {HBBP_SOURCE_EBS, HBBP_SOURCE_LBR, HBBP_SOURCE_IBS,
                                        HBBP_SOURCE_EBS_AND_SWBT, HBBP_SOURCE_PERF}) {
    CheckRefused(source, "; the source swbt works here");
  }
  return nullptr;
}

const char* WithoutHandlers() {
  const hbbp_session_options options = OptionsOf(HBBP_SOURCE_EBS);
  hbbp_profile_destroy(Record(&options).profile);
  if (!hbbp::RefuseSystemCall(SYS_rt_sigaction)) return "no seccomp filters";
  const Run run = Record(nullptr);
  CHECK(run.kind != HBBP_SOURCE_SWBT);
  CHECK(run.kind == HBBP_SOURCE_LBR || Contains(run.note, "no swbt: "));
  hbbp_profile_destroy(run.profile);
  CheckRefused(HBBP_SOURCE_SWBT, "; the source ebs works here");
  return nullptr;
}

const char* UnderDebugger() {
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return "it is traced already";
  const Run run = Record(nullptr);
  CHECK(run.kind == HBBP_SOURCE_LBR || Contains(run.note, "no SWBT: process"));
  CHECK(run.kind != HBBP_SOURCE_SWBT);
  hbbp_profile_destroy(run.profile);
  return nullptr;
}

// Runs the test in a process of its own, which may become that of a debugger.
void RunTest(const char* name, const char* (*test)()) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  CHECK(child >= 0);
  if (child == 0) {
    const char* const obstacle = test();
    if (obstacle != nullptr) std::printf("%s: skipped: %s\n", name, obstacle);
    std::fflush(nullptr);
    ::_exit(end_of_checks());  // a sanitizer would look for leaks, which a debugger forbids
  }
  int status = -1;
  while (::waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
    ::ptrace(PTRACE_CONT, child, nullptr, WSTOPSIG(status));
  }
  if (status != 0) report(__FILE__, __LINE__, name);
}

}  // namespace

int main() {
  RunTest("counts by default", &CountsByDefault);
  RunTest("HBBP_SOURCE_PERF", &NeverTracesByPerf);
  RunTest("without perf events", &WithoutPerfEvents);
  RunTest("without handlers", &WithoutHandlers);
  RunTest("under a debugger", &UnderDebugger);
  return end_of_checks();
}
