// The functions of session.h. hbbp_session_create checks the options one by one (CheckedConfig what
// backends get, ReadHostOptions what the session gets) and makes the backend; start, stop, snapshot
// and info are those of hbbp::Session; hbbp_profile_call calls these. A session that is destroyed
// in its own log ends in a thread of its own, since it would wait for itself.
#include <hbbp/session.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "base/loaded_code.h"
#include "capi/boundary.h"
#include "capi/environment.h"
#include "capi/host_handle.h"
#include "capi/kept_bursts.h"
#include "capi/profile_access.h"
#include "capi/session_handle.h"
#include "capi/slice_option.h"
#include "perf/ibs_samples.h"
#include "session/session_registry.h"
#include "session/worker_thread.h"

using hbbp::BackendConfig;
using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(static_cast<int>(hbbp::SourceKind::kEbs) == HBBP_SOURCE_EBS);
static_assert(static_cast<int>(hbbp::SourceKind::kLbr) == HBBP_SOURCE_LBR);
static_assert(static_cast<int>(hbbp::SourceKind::kIbs) == HBBP_SOURCE_IBS);
static_assert(static_cast<int>(hbbp::SourceKind::kSwbt) == HBBP_SOURCE_SWBT);
static_assert(static_cast<int>(hbbp::SourceKind::kTruth) == HBBP_SOURCE_TRUTH);
static_assert(static_cast<int>(hbbp::SourceKind::kAuto) == HBBP_SOURCE_AUTO);
static_assert(static_cast<int>(hbbp::SourceKind::kCombined) == HBBP_SOURCE_COMBINED);
static_assert(static_cast<int>(hbbp::SourceKind::kEbsAndSwbt) == HBBP_SOURCE_EBS_AND_SWBT);
static_assert(static_cast<int>(hbbp::SourceKind::kPerf) == HBBP_SOURCE_PERF);
static_assert(static_cast<int>(hbbp::EventKind::kAuto) == HBBP_EVENT_AUTO);
static_assert(static_cast<int>(hbbp::EventKind::kTaskClock) == HBBP_EVENT_TASK_CLOCK);
static_assert(static_cast<int>(hbbp::EventKind::kCpuClock) == HBBP_EVENT_CPU_CLOCK);
static_assert(static_cast<int>(hbbp::EventKind::kInstructions) == HBBP_EVENT_INSTRUCTIONS);
static_assert(static_cast<int>(hbbp::EventKind::kCycles) == HBBP_EVENT_CYCLES);
static_assert(static_cast<int>(hbbp::EventKind::kTakenBranches) == HBBP_EVENT_TAKEN_BRANCHES);
static_assert(static_cast<int>(hbbp::EventKind::kOther) == HBBP_EVENT_OTHER);
static_assert(static_cast<int>(hbbp::EventKind::kUops) == HBBP_EVENT_UOPS);
static_assert(static_cast<int>(hbbp::PeriodMode::kPrime) == HBBP_PERIOD_PRIME);
static_assert(static_cast<int>(hbbp::PeriodMode::kFixed) == HBBP_PERIOD_FIXED);
static_assert(static_cast<int>(hbbp::PeriodMode::kRandom) == HBBP_PERIOD_RANDOM);
static_assert(static_cast<int>(hbbp::PeriodMode::kByFrequency) == HBBP_PERIOD_BY_FREQUENCY);

static_assert(static_cast<int>(hbbp::TraceMode::kLookAhead) == HBBP_TRACE_LOOKAHEAD);
static_assert(static_cast<int>(hbbp::TraceMode::kBreakpoint) == HBBP_TRACE_BREAKPOINT);
static_assert(static_cast<int>(hbbp::TraceMode::kVerify) == HBBP_TRACE_VERIFY);

constinit std::atomic<YieldToHost> hbbp::capi::yield_to_host{nullptr};

namespace {

constexpr uint32_t kMaxBufferBytes = 1u << 30;
constexpr uint64_t kMaxFrequencyHz = 1'000'000;

Status OutOfRange(const char* option, const char* range) {
  return MakeStatus(StatusCode::kInvalidArgument, "hbbp_session_options.%s: must be %s", option,
                    range);
}

Status CheckTraceOptions(const hbbp_session_options& options) {
  if (options.trace_mode < HBBP_TRACE_LOOKAHEAD || options.trace_mode > HBBP_TRACE_VERIFY) {
    return OutOfRange("trace_mode", "a HBBP_TRACE_ value");
  }
  if (options.burst_branches > HBBP_MAX_BURST_BRANCHES) {
    return OutOfRange("burst_branches", "at most 65536");
  }
  if (options.burst_branches == 1) {
    return OutOfRange("burst_branches", "at least 2: one branch makes no stream");
  }
  if (options.include_kernel != 0) {
    return OutOfRange("include_kernel", "0 with HBBP_SOURCE_SWBT, which traces user code only");
  }
  return OkStatus();
}

bool TracesBranches(hbbp_source_kind source) {
  return source == HBBP_SOURCE_SWBT || source == HBBP_SOURCE_EBS_AND_SWBT;
}

Status CheckEnableOnExec(const hbbp_session_options& options) {
  const bool may_wait = options.pid != 0 && options.source != HBBP_SOURCE_EXTERNAL;
  if (options.enable_on_exec <= (may_wait ? 1 : 0)) return OkStatus();
  return OutOfRange("enable_on_exec", "0, or 1 with pid");
}

Status CheckNamedEvent(const hbbp_session_options& options) {
  if (*options.event_name == '\0') return OutOfRange("event_name", "a name, or NULL");
  if (options.event < HBBP_EVENT_AUTO || options.event > HBBP_EVENT_UOPS) {
    return OutOfRange("event", "a HBBP_EVENT_ value");
  }
  if (options.event_type > UINT32_MAX) return OutOfRange("event_type", "below 2^32");
  return OkStatus();
}

bool IsOneOf(hbbp_source_kind source, std::initializer_list<hbbp_source_kind> list) {
  return std::find(list.begin(), list.end(), source) != list.end();
}

// Refuses options that nothing in the session would heed.
Status CheckOptionsOfSource(const hbbp_session_options& options) {
  const hbbp_source_kind source = options.source;
  const bool has_stacks = IsOneOf(source, {HBBP_SOURCE_PERF, HBBP_SOURCE_LBR, HBBP_SOURCE_AUTO});
  const bool has_pointers =
      has_stacks || IsOneOf(source, {HBBP_SOURCE_EBS, HBBP_SOURCE_EBS_AND_SWBT});
  if (options.branch_period != 0 && !has_stacks) {
    return OutOfRange("branch_period", "0 with a source that takes no branch stacks");
  }
  if (options.imprecise != 0 && !has_pointers) {
    return OutOfRange("imprecise", "0 with a source that takes no instruction pointers");
  }
  if (options.ebs_method == HBBP_EBS_IP_PLUS_ONE && !has_pointers) {
    return OutOfRange("ebs_method", "another one with a source that takes no instruction pointers");
  }
  if (options.expected_seconds != 0 && source == HBBP_SOURCE_SWBT) {
    return OutOfRange("expected_seconds",
                      "0 with HBBP_SOURCE_SWBT, whose periods do not depend on it");
  }
  const bool names_event = options.event_name != nullptr || options.event != HBBP_EVENT_AUTO;
  const bool names_ibs =
      options.event_name != nullptr && !hbbp::IbsKindsOf(options.event_name).empty();
  if (names_event && source == HBBP_SOURCE_IBS &&
      (!names_ibs || options.event != HBBP_EVENT_AUTO)) {
    return OutOfRange("event", "HBBP_EVENT_AUTO with HBBP_SOURCE_IBS, and event_name one of IBS");
  }
  if (names_ibs && source != HBBP_SOURCE_IBS) {
    return OutOfRange("event_name", "one of another source");
  }
  if (source == HBBP_SOURCE_EXTERNAL) {
    const char* const given = names_event                   ? "event"
                              : options.period != 0         ? "period"
                              : options.frequency_hz != 0   ? "frequency_hz"
                              : options.include_kernel != 0 ? "include_kernel"
                              : options.thread_count != 0   ? "thread_count"
                                                            : nullptr;
    if (given != nullptr) return OutOfRange(given, "0 with HBBP_SOURCE_EXTERNAL");
  }
  const bool draws_periods = options.period_mode != HBBP_PERIOD_PRIME;
  if (options.frequency_hz != 0 && draws_periods && source != HBBP_SOURCE_SWBT) {
    return OutOfRange("period_mode",
                      "HBBP_PERIOD_PRIME with frequency_hz, as the kernel chooses periods then");
  }
  return OkStatus();
}

Status CheckedConfig(const hbbp_session_options& options, BackendConfig* config) {
  if (!IsOneOf(options.source, {HBBP_SOURCE_EBS, HBBP_SOURCE_LBR, HBBP_SOURCE_IBS, HBBP_SOURCE_SWBT,
                                HBBP_SOURCE_AUTO, HBBP_SOURCE_EBS_AND_SWBT, HBBP_SOURCE_EXTERNAL,
                                HBBP_SOURCE_PERF})) {
    return OutOfRange("source", "a HBBP_SOURCE_ value that can be live");
  }
  if (options.event_name == nullptr) {
    if (options.event < HBBP_EVENT_AUTO || options.event > HBBP_EVENT_CYCLES) {
      return OutOfRange("event", "a HBBP_EVENT_ value of an option");
    }
  } else {
    HBBP_RETURN_IF_ERROR(CheckNamedEvent(options));
    config->event_name = options.event_name;
    config->event_type = static_cast<uint32_t>(options.event_type);
    config->event_config = options.event_config;
  }
  if (options.period_mode < HBBP_PERIOD_PRIME || options.period_mode > HBBP_PERIOD_RANDOM) {
    return OutOfRange("period_mode", "a HBBP_PERIOD_ value");
  }
  if (options.ebs_method < HBBP_EBS_AUTO || options.ebs_method > HBBP_EBS_IP_PLUS_ONE) {
    return OutOfRange("ebs_method", "a HBBP_EBS_ value");
  }
  if (options.period != 0 && options.frequency_hz != 0) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_session_options: set period or frequency_hz, not both");
  }
  if (options.period > INT64_MAX) return OutOfRange("period", "below 2^63");
  if (options.branch_period > INT64_MAX) return OutOfRange("branch_period", "below 2^63");
  if (options.frequency_hz > kMaxFrequencyHz) {
    return OutOfRange("frequency_hz", "at most 1000000");
  }
  if (options.imprecise > 1) return OutOfRange("imprecise", "0 or 1");
  if (options.include_kernel > 1) return OutOfRange("include_kernel", "0 or 1");
  if (options.buffer_bytes > kMaxBufferBytes) return OutOfRange("buffer_bytes", "at most 1 GiB");
  if (options.pid > INT32_MAX) return OutOfRange("pid", "a process id");
  if (TracesBranches(options.source)) {
    HBBP_RETURN_IF_ERROR(CheckTraceOptions(options));
  } else if (options.trace_mode != 0 || options.burst_branches != 0) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_session_options: trace_mode and burst_branches are of "
                      "HBBP_SOURCE_SWBT; leave them 0");
  }
  HBBP_RETURN_IF_ERROR(CheckOptionsOfSource(options));
  HBBP_RETURN_IF_ERROR(CheckEnableOnExec(options));
  if (options.keep_accesses != 0 || options.keep_values != 0) {
    const bool looks_ahead =
        TracesBranches(options.source) && options.trace_mode == HBBP_TRACE_LOOKAHEAD;
    HBBP_RETURN_IF_ERROR(CheckRecordedKinds(options, looks_ahead));
  }
  config->pid = static_cast<pid_t>(options.pid);
  config->event = static_cast<hbbp::EventKind>(options.event);
  const bool is_any = options.event_name != nullptr && options.event == HBBP_EVENT_AUTO;
  if (is_any) config->event = hbbp::EventKind::kOther;
  config->period_mode = static_cast<hbbp::PeriodMode>(options.period_mode);
  config->period = options.period;
  config->branch_period = options.branch_period;
  config->frequency_hz = options.frequency_hz;
  config->ebs_method = static_cast<hbbp::EbsMethod>(options.ebs_method);
  config->expected_seconds = options.expected_seconds;
  config->imprecise = options.imprecise != 0;
  config->include_kernel = options.include_kernel != 0;
  config->enable_on_exec = options.enable_on_exec != 0;
  config->buffer_bytes = options.buffer_bytes;
  config->trace_mode = static_cast<hbbp::TraceMode>(options.trace_mode);
  config->burst_branches = options.burst_branches;
  // The bits of HBBP_VALUE_* are in the order of RecordedKind, which begins with kAddress.
  static_assert(HBBP_VALUE_DIVISOR << 1 == hbbp::SetOf(hbbp::RecordedKind::kDivisor));
  static_assert(HBBP_VALUE_RDI << 1 == hbbp::SetOf(hbbp::RecordedKind::kRdi));
  static_assert(HBBP_VALUE_R9 << 1 == hbbp::SetOf(hbbp::RecordedKind::kR9));
  config->recorded_kinds =
      static_cast<hbbp::RecordedKinds>(options.keep_values << 1 | options.keep_accesses);
  return OkStatus();
}

Status ReadThreads(const hbbp_session_options& options, std::vector<pid_t>* threads) {
  if (options.thread_count == 0) return OkStatus();
  if (options.threads == nullptr) return NullArgument("hbbp_session_create", "options.threads");
  for (uint32_t i = 0; i < options.thread_count; ++i) {
    if (options.threads[i] == 0 || options.threads[i] > INT32_MAX) {
      return OutOfRange("threads", "ids of threads, as gettid gives them");
    }
    threads->push_back(static_cast<pid_t>(options.threads[i]));
  }
  std::sort(threads->begin(), threads->end());
  threads->erase(std::unique(threads->begin(), threads->end()), threads->end());
  return OkStatus();
}

Status ReadHostOptions(const hbbp_session_options& options, hbbp::SessionSettings* settings) {
  HBBP_RETURN_IF_ERROR(ReadThreads(options, &settings->backend.threads));
  if (!(options.max_overhead >= 0 && options.max_overhead <= 1)) {
    return OutOfRange("max_overhead", "a fraction, from 0 to 1");
  }
  settings->backend.max_overhead = options.max_overhead;
  settings->backend.max_buffer_bytes = options.max_memory / hbbp::kBuffersInMemory;
  if (options.drained_by_host > 1) return OutOfRange("drained_by_host", "0 or 1");
  settings->drained_by_host = options.drained_by_host != 0;
  return ReadHost("hbbp_session_options", options, settings);
}

void* DestroySession(void* session) {
  hbbp::SessionRegistry::Get().AddWorker(::gettid());
  delete static_cast<hbbp_session*>(session);
  return nullptr;
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_session_create(const hbbp_session_options* options,
                                         hbbp_session** session, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (session == nullptr) return NullArgument("hbbp_session_create", "session");
    HBBP_INIT(hbbp_session_options, full);
    if (options != nullptr) {
      HBBP_RETURN_IF_ERROR(ReadInput(options, "hbbp_session_options", &full));
    }
    if (full.source == HBBP_SOURCE_NONE) full.source = HBBP_SOURCE_AUTO;
    // Options that only branch tracing has choose it.
    const bool has_trace_options = full.trace_mode != 0 || full.burst_branches != 0 ||
                                   full.keep_accesses != 0 || full.keep_values != 0;
    if (full.source == HBBP_SOURCE_AUTO && has_trace_options) full.source = HBBP_SOURCE_SWBT;
    hbbp::SessionSettings settings;
    HBBP_RETURN_IF_ERROR(CheckSlice("hbbp_session_options", full.slice_ns));
    settings.slice_ns = full.slice_ns;
    HBBP_RETURN_IF_ERROR(ReadKeptDetail("hbbp_session_options", full.kept_burst_bytes, &settings));
    HBBP_RETURN_IF_ERROR(CheckedConfig(full, &settings.backend));
    settings.kept_kinds = settings.backend.recorded_kinds;
    HBBP_RETURN_IF_ERROR(ReadHostOptions(full, &settings));
    hbbp::KeepThisCodeLoaded();
    const bool has_backend = full.source != HBBP_SOURCE_EXTERNAL;
    std::unique_ptr<hbbp::Backend> backend;
    if (has_backend) {
      backend = hbbp::MakeBackend(hbbp::SourceKind{full.source}, static_cast<pid_t>(full.pid));
    }
    if (has_backend && backend == nullptr) {
      return MakeStatus(StatusCode::kUnsupported,
                        "software branch tracing is not in this library: link libhbbp, or take "
                        "HBBP_SOURCE_PERF");
    }
    const bool may_trace = full.source == HBBP_SOURCE_AUTO || TracesBranches(full.source);
    *session =
        new hbbp_session(std::make_unique<hbbp::Session>(std::move(backend), settings), may_trace);
    return OkStatus();
  });
}

HBBP_API void hbbp_session_destroy(hbbp_session* session) {
  const bool is_in_call =
      session != nullptr && (session->session->IsInLog() || session->session->IsInExternalSource());
  if (!is_in_call) {
    delete session;
    return;
  }
  // Without a thread, it goes on in silence: nothing else is safe here.
  session->session->SilenceLog();
  const auto thread = hbbp::StartWorkerThread(&DestroySession, session);
  if (thread.ok()) ::pthread_detach(*thread);
}

HBBP_API hbbp_status hbbp_session_start(hbbp_session* session, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (session == nullptr) return NullArgument("hbbp_session_start", "session");
    const YieldToHost yield = session->may_trace_branches ? yield_to_host.load() : nullptr;
    if (yield != nullptr) yield();
    return session->session->Start();
  });
}

HBBP_API hbbp_status hbbp_session_drain(hbbp_session* session, uint32_t* next_ms,
                                        hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (session == nullptr) return NullArgument("hbbp_session_drain", "session");
    int interval_ms = 0;
    HBBP_RETURN_IF_ERROR(session->session->Drain(&interval_ms));
    if (next_ms != nullptr) *next_ms = static_cast<uint32_t>(interval_ms);
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_session_stop(hbbp_session* session, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (session == nullptr) return NullArgument("hbbp_session_stop", "session");
    return session->session->Stop();
  });
}

HBBP_API hbbp_status hbbp_session_snapshot(hbbp_session* session, const hbbp_work_options* work,
                                           hbbp_profile** profile, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (session == nullptr) return NullArgument("hbbp_session_snapshot", "session");
    if (profile == nullptr) return NullArgument("hbbp_session_snapshot", "profile");
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    *profile = NewProfile(session->session->Snapshot(chosen));
    return OkStatus();
  });
}

HBBP_API hbbp_status hbbp_profile_call(hbbp_call call, void* user_data,
                                       const hbbp_session_options* options, hbbp_profile** profile,
                                       hbbp_error* error) {
  if (call == nullptr) return Report(NullArgument("hbbp_profile_call", "call"), error);
  if (profile == nullptr) return Report(NullArgument("hbbp_profile_call", "profile"), error);
  struct SessionOwner {
    hbbp_session* session = nullptr;
    ~SessionOwner() { hbbp_session_destroy(session); }
  } owner;
  hbbp_status status = hbbp_session_create(options, &owner.session, error);
  if (status == HBBP_OK) status = hbbp_session_start(owner.session, error);
  if (status != HBBP_OK) return status;
  call(user_data);
  status = hbbp_session_stop(owner.session, error);
  if (status != HBBP_OK) return status;
  return hbbp_session_snapshot(owner.session, nullptr, profile, error);
}

HBBP_API hbbp_status hbbp_session_get_info(hbbp_session* session, hbbp_session_info* info,
                                           hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (session == nullptr) return NullArgument("hbbp_session_get_info", "session");
    if (info == nullptr) return NullArgument("hbbp_session_get_info", "info");
    const hbbp::SessionInfo now = session->session->Info();
    HBBP_INIT(hbbp_session_info, full);
    full.running = now.running ? 1 : 0;
    full.samples = now.samples;
    full.lost = now.lost;
    full.throttled = now.throttled;
    full.duration_ns = now.duration_ns;
    full.dropped = now.dropped;
    full.cpu_ns = now.cpu_ns;
    full.overhead_ns = now.overhead_ns;
    full.recent_overhead = now.recent_overhead;
    full.period_factor = now.period_factor;
    full.period_changes = now.period_changes;
    full.memory_bytes = now.memory_bytes;
    full.peak_memory_bytes = now.peak_memory_bytes;
    return WriteOutput(full, "hbbp_session_info", info);
  });
}

}  // extern "C"
