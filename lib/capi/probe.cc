// The functions of probe.h. hbbp_probe_create parses the productions and makes a BurstProbe,
// hbbp_probe_run passes it the bursts of an analysis, hbbp_probe_start has a worker do that with
// those of a session, and the others copy what it has recorded.
// Rows and hot streams of a table are made when they are first asked for after a run; the grammars
// that have the streams grow with each burst of a run, which can be cancelled.
#include <hbbp/probe.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "capi/analysis_handle.h"
#include "capi/boundary.h"
#include "capi/host_handle.h"
#include "capi/probe_worker.h"
#include "capi/session_handle.h"
#include "capi/taxonomy_handle.h"
#include "probes/builtin_productions.h"
#include "probes/burst_probe.h"
#include "probes/hot_streams.h"
#include "probes/trace_grammar.h"
#include "session/session_registry.h"
#include "session/worker_thread.h"

using hbbp::BranchKind;
using hbbp::BurstProbe;
using hbbp::CountTable;
using hbbp::HotStream;
using hbbp::HotStreamOptions;
using hbbp::kMaxCounter;
using hbbp::kMaxFields;
using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::ProbeKey;
using hbbp::ProbeTable;
using hbbp::ProductionEngine;
using hbbp::ProductionEngineOptions;
using hbbp::ProductionSet;
using hbbp::Sequitur;
using hbbp::Status;
using hbbp::StatusCode;
using hbbp::TableKind;
using hbbp::TraceBuffer;
using hbbp::TraceGrammar;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(kMaxFields == HBBP_MAX_PROBE_FIELDS);
static_assert(kMaxCounter == HBBP_MAX_PROBE_COUNTER);
static_assert(sizeof(hbbp_probe_row::values) == kMaxFields * sizeof(uint64_t));
static_assert(sizeof(hbbp_probe_call::values) == kMaxFields * sizeof(uint64_t));
static_assert(static_cast<int>(TableKind::kCount) == HBBP_PROBE_COUNTS);
static_assert(static_cast<int>(TableKind::kTrace) == HBBP_PROBE_TRACE);
static_assert(static_cast<int>(TableKind::kCall) == HBBP_PROBE_CALLS);
static_assert(HBBP_NO_INDEX == hbbp::kNoModule);

namespace {

// The hot streams of a trace, with the fields of their elements one after the other.
struct FoundStreams {
  struct Stream {
    std::vector<uint64_t> values;
    uint64_t length = 0;
    uint64_t frequency = 0;
    double share = 0;
  };
  std::vector<Stream> streams;
};

FoundStreams WithValues(const hbbp::HotStreams& found, const TraceBuffer& trace, size_t fields) {
  FoundStreams result;
  for (const HotStream& stream : found.streams) {
    FoundStreams::Stream& added = result.streams.emplace_back();
    for (const uint32_t symbol : stream.symbols) {
      const hbbp::ProbeRow& row = trace.rows()[symbol];
      added.values.insert(added.values.end(), row.begin(), row.begin() + fields);
    }
    added.length = stream.symbols.size();
    added.frequency = stream.frequency;
    added.share = static_cast<double>(stream.heat()) / static_cast<double>(found.length);
  }
  return result;
}

// What is made of a table after a run.
struct TableResults {
  MadeOnce<std::vector<CountTable::Entry>> rows;
  MadeOnce<FoundStreams> streams;
};

}  // namespace

// Const functions may be called by any thread, if none runs it.
struct hbbp_probe {
 public:
  hbbp_probe(ProductionSet productions, const ProductionEngineOptions& engine,
             const HotStreamOptions& streams, hbbp_probe_handler handler, void* user_data)
      : set_(std::move(productions)),
        stream_options_(streams),
        handler_(handler),
        user_data_(user_data),
        probe_(
            &set_, engine,
            handler == nullptr ? hbbp::BurstHandler()
                               : [this](const hbbp::BurstCall& call) { return CallHandler(call); },
            [this] { FollowTraces(); }),
        grammars_(set_.tables().size()) {
    DropResults();
  }

  const ProductionSet& set() const { return set_; }
  const BurstProbe& probe() const { return probe_; }
  const ProductionEngine& engine() const { return probe_.engine(); }

  Status Run(const hbbp::Analysis& analysis, uint64_t first, const hbbp::Work& work);
  Status StartWorker(hbbp::Session* session, int interval_ms);
  Status StopWorker();
  // Return kInvalidState while the worker has the probe, and where it cannot run.
  Status CheckIdle(const char* function) const;
  Status CheckMayRun(const char* function) const;
  bool HasWorker() const { return worker_ != nullptr; }
  bool IsInWorker() const { return worker_ != nullptr && worker_->IsThisThread(); }
  bool IsLost() const { return worker_ != nullptr && worker_->IsLost(); }

  // Both are of tables of any kind, and live until the next run.
  const std::vector<CountTable::Entry>& RowsOf(size_t table) const {
    const auto sort = [&]() -> hbbp::StatusOr<std::vector<CountTable::Entry>> {
      return engine().counts(table).Sorted();
    };
    return **results_[table]->rows.Get(sort);
  }
  const std::vector<FoundStreams::Stream>& StreamsOf(size_t table) const {
    const auto find = [&]() -> hbbp::StatusOr<FoundStreams> {
      const TraceBuffer& trace = engine().trace(table);
      // A grammar that found no memory is of a part of the trace.
      const hbbp::HotStreams found = has_failed_
                                         ? hbbp::FindHotStreams(trace.sequences(), stream_options_)
                                         : grammars_[table].FindHotStreams(stream_options_);
      return WithValues(found, trace, set_.tables()[table].fields.size());
    };
    return (*results_[table]->streams.Get(find))->streams;
  }

  // Lives as long as this object.
  const char* Keep(std::string text) const {
    std::lock_guard lock(texts_mutex_);
    return texts_.insert(std::move(text)).first->c_str();
  }

 private:
  bool CallHandler(const hbbp::BurstCall& of_burst) const;
  Status RunInThisThread(const hbbp::Analysis& analysis, uint64_t first, const hbbp::Work& work);
  Status FollowSession(hbbp::Session* session, uint64_t* next, bool* has_bursts,
                       const hbbp::Work& work);

  void FollowTraces() {
    for (size_t i = 0; i < grammars_.size(); ++i) grammars_[i].Follow(engine().trace(i));
  }

  void DropResults() {
    results_.clear();
    for (size_t i = 0; i < set_.tables().size(); ++i) {
      results_.push_back(std::make_unique<TableResults>());
    }
  }

  const ProductionSet set_;
  const HotStreamOptions stream_options_;
  const hbbp_probe_handler handler_;
  void* const user_data_;
  BurstProbe probe_;
  std::vector<TraceGrammar> grammars_;                  // by table
  std::vector<std::unique_ptr<TableResults>> results_;  // by table
  bool is_running_ = false;
  bool has_failed_ = false;
  mutable std::mutex texts_mutex_;
  mutable std::set<std::string> texts_;
  std::unique_ptr<ProbeWorker> worker_;  // the last member, since it uses the others
};

bool hbbp_probe::CallHandler(const hbbp::BurstCall& of_burst) const {
  const hbbp::ProbeCall& made = of_burst.call;
  const hbbp::InstructionEvent& event = made.event;
  const BranchKind kind = event.instruction->flow.kind;
  const bool is_known = (event.unknown & SetOf(ProbeKey::kNext)) == 0;
  HBBP_INIT(hbbp_probe_call, call);
  call.production = made.production;
  call.table = made.table;
  call.thread = of_burst.thread;
  call.pc = event.instruction->pc;
  const bool has_target = (event.unknown & SetOf(ProbeKey::kTarget)) == 0;
  if (hbbp::EndsBlock(kind) && has_target) call.target = event.target();
  if (is_known) call.next = event.next;
  call.flow = static_cast<hbbp_flow>(kind);
  call.taken = event.is_taken() ? 1 : 0;
  call.value_count = static_cast<uint32_t>(set_.tables()[made.table].fields.size());
  call.unknown = made.unknown;
  std::ranges::copy(made.values, call.values);
  call.burst = of_burst.burst;
  call.time_ns = of_burst.time_ns;
  call.weight = of_burst.weight;
  return handler_(&call, user_data_) != HBBP_PROBE_GO_ON;
}

Status hbbp_probe::CheckIdle(const char* function) const {
  if (worker_ == nullptr) return OkStatus();
  return MakeStatus(StatusCode::kInvalidState, "%s: the probe has a worker: hbbp_probe_stop first",
                    function);
}

Status hbbp_probe::Run(const hbbp::Analysis& analysis, uint64_t first, const hbbp::Work& work) {
  HBBP_RETURN_IF_ERROR(CheckIdle("hbbp_probe_run"));
  return RunInThisThread(analysis, first, work);
}

Status hbbp_probe::StartWorker(hbbp::Session* session, int interval_ms) {
  HBBP_RETURN_IF_ERROR(CheckIdle("hbbp_probe_start"));
  HBBP_RETURN_IF_ERROR(CheckMayRun("hbbp_probe_start"));
  auto worker = std::make_unique<ProbeWorker>(
      [this, session, next = uint64_t{0}, has_bursts = false](const hbbp::Work& work) mutable {
        return FollowSession(session, &next, &has_bursts, work);
      },
      interval_ms);
  worker_ = std::move(worker);
  Status status = worker_->Start();
  if (!status.ok()) worker_.reset();
  return status;
}

Status hbbp_probe::StopWorker() {
  if (worker_ == nullptr) {
    return MakeStatus(StatusCode::kInvalidState, "hbbp_probe_stop: the probe has no worker");
  }
  if (worker_->IsThisThread()) {
    return MakeStatus(StatusCode::kInvalidState, "hbbp_probe_stop: its handler cannot stop it");
  }
  if (worker_->IsLost()) {
    return MakeStatus(StatusCode::kInvalidState,
                      "hbbp_probe_stop: the process forked while the worker was running the probe, "
                      "which this child cannot use");
  }
  Status status = worker_->Stop();
  worker_.reset();
  return status;
}

// Runs the bursts of the session from number `*next` on.
Status hbbp_probe::FollowSession(hbbp::Session* session, uint64_t* next, bool* has_bursts,
                                 const hbbp::Work& work) {
  HBBP_ASSIGN_OR_RETURN(const hbbp::Analysis analysis,
                        hbbp::Analyze(session->Snapshot(work), {}, work));
  const uint64_t before = probe_.totals().bursts;
  Status status = RunInThisThread(analysis, *next, work);
  *next = probe_.next();
  *has_bursts |= probe_.totals().bursts != before;
  if (!status.ok() || *has_bursts) return status;
  return MakeStatus(StatusCode::kNotFound, "the session has no bursts that count (yet)");
}

Status hbbp_probe::CheckMayRun(const char* function) const {
  if (!is_running_ && !has_failed_) return OkStatus();
  return MakeStatus(StatusCode::kInvalidState, "%s: %s", function,
                    is_running_ ? "the probe is running; its handler cannot run it"
                                : "there was no memory for what another run recorded; create "
                                  "another probe");
}

Status hbbp_probe::RunInThisThread(const hbbp::Analysis& analysis, uint64_t first,
                                   const hbbp::Work& work) {
  HBBP_RETURN_IF_ERROR(CheckMayRun("hbbp_probe_run"));
  is_running_ = has_failed_ = true;
  DropResults();
  struct AtEnd {
    ~AtEnd() { *is_running = false; }
    bool* is_running;
  } at_end{&is_running_};
  Status status = probe_.Run(analysis, first, work);
  DropResults();  // which a handler may have asked for
  has_failed_ = false;
  return status;
}

namespace {

Status CheckCounter(const char* name, uint64_t value) {
  if (value <= kMaxCounter) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument,
                    "hbbp_probe_options.%s: must be at most HBBP_MAX_PROBE_COUNTER, or 0", name);
}

Status ReadEngine(const hbbp_probe_options& given, ProductionEngineOptions* engine) {
  if (given.is_exhaustive > 1) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_probe_options.is_exhaustive: must be 0 or 1");
  }
  HBBP_RETURN_IF_ERROR(CheckCounter("sample_freq", given.sample_freq));
  HBBP_RETURN_IF_ERROR(CheckCounter("burst_length", given.burst_length));
  if (given.max_symbols > Sequitur::kMaxSymbol) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_probe_options.max_symbols: must be at most 2^30, or 0");
  }
  engine->is_exhaustive = given.is_exhaustive != 0;
  engine->sample_freq = given.sample_freq;
  engine->burst_length = given.burst_length;
  if (given.max_rows != 0) engine->max_rows = given.max_rows;
  if (given.max_symbols != 0) engine->max_symbols = given.max_symbols;
  return OkStatus();
}

Status ReadStreams(const hbbp_probe_options& given, HotStreamOptions* streams) {
  if (given.min_stream_length != 0) streams->min_length = given.min_stream_length;
  if (given.max_stream_length != 0) streams->max_length = given.max_stream_length;
  if (given.min_stream_heat != 0) streams->min_heat = given.min_stream_heat;
  if (streams->min_length < 2 || streams->min_length > streams->max_length) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_probe_options.min_stream_length: must be from 2 to max_stream_length");
  }
  if (!(streams->min_heat > 0 && streams->min_heat <= 1)) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_probe_options.min_stream_heat: must be a share, above 0 and at most 1");
  }
  return OkStatus();
}

hbbp_probe_field_kind KindOf(ProbeKey field) {
  if (hbbp::IsCodeAddress(field)) return HBBP_PROBE_CODE;
  switch (field) {
    case ProbeKey::kStride:
    case ProbeKey::kDivisor:
      return HBBP_PROBE_SIGNED;
    case ProbeKey::kPath:
      return HBBP_PROBE_PATH;
    case ProbeKey::kReuse:
      return HBBP_PROBE_REUSE;
    default:
      return HBBP_PROBE_NUMBER;
  }
}

hbbp_probe_production GetProduction(const hbbp_probe& probe, size_t index) {
  HBBP_INIT(hbbp_probe_production, production);
  production.name = probe.set().productions()[index].name.c_str();
  production.firings = probe.engine().firings(index);
  return production;
}

hbbp_probe_table GetTable(const hbbp_probe& probe, size_t index) {
  const ProbeTable& found = probe.set().tables()[index];
  const ProductionEngine& engine = probe.engine();
  HBBP_INIT(hbbp_probe_table, table);
  table.kind = static_cast<hbbp_probe_table_kind>(found.kind);
  table.name = found.name.c_str();
  table.unknown = engine.unknown_records(index);
  switch (found.kind) {
    case TableKind::kCount:
      table.records = engine.counts(index).total();
      table.dropped = engine.counts(index).dropped();
      table.estimate = engine.counts(index).total_estimate();
      break;
    case TableKind::kTrace:
      table.records = engine.trace(index).total();
      table.dropped = engine.trace(index).dropped();
      break;
    case TableKind::kCall:
      table.records = engine.calls(index);
      break;
  }
  return table;
}

hbbp_probe_field GetField(const ProbeTable& table, size_t index) {
  HBBP_INIT(hbbp_probe_field, field);
  field.kind = KindOf(table.fields[index]);
  field.name = NameOf(table.fields[index]).data();
  return field;
}

hbbp_probe_row GetRow(const CountTable::Entry& entry, double total) {
  HBBP_INIT(hbbp_probe_row, row);
  std::ranges::copy(entry.row, row.values);
  row.estimate = entry.estimate;
  row.share = total > 0 ? entry.estimate / total : 0;
  row.records = entry.count;
  return row;
}

hbbp_probe_stream GetStream(const FoundStreams::Stream& found, size_t fields) {
  HBBP_INIT(hbbp_probe_stream, stream);
  stream.field_count = static_cast<uint32_t>(fields);
  stream.values = found.values.data();
  stream.length = found.length;
  stream.frequency = found.frequency;
  stream.share = found.share;
  return stream;
}

bool HasWorker(const hbbp_probe* probe) { return probe != nullptr && probe->HasWorker(); }

bool HasTable(const hbbp_probe* probe, size_t table) {
  return probe != nullptr && table < probe->set().tables().size();
}

Status CheckTable(const char* function, const hbbp_probe* probe, size_t table) {
  if (probe == nullptr) return NullArgument(function, "probe");
  HBBP_RETURN_IF_ERROR(probe->CheckIdle(function));
  if (HasTable(probe, table)) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s: table %zu of %zu", function, table,
                    probe->set().tables().size());
}

void* DestroyProbe(void* probe) {
  hbbp::SessionRegistry::Get().AddWorker(::gettid());
  delete static_cast<hbbp_probe*>(probe);
  return nullptr;
}

}  // namespace

extern "C" {

HBBP_API size_t hbbp_probe_builtin_count(void) { return hbbp::AllBuiltinProductions().size(); }

HBBP_API const char* hbbp_probe_builtin_name(size_t index) {
  const auto builtins = hbbp::AllBuiltinProductions();
  return index < builtins.size() ? builtins[index].name.data() : nullptr;
}

HBBP_API hbbp_status hbbp_probe_create(const hbbp_probe_options* options, hbbp_probe** probe,
                                       hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (options == nullptr) return NullArgument("hbbp_probe_create", "options");
    if (probe == nullptr) return NullArgument("hbbp_probe_create", "probe");
    HBBP_INIT(hbbp_probe_options, full);
    HBBP_RETURN_IF_ERROR(ReadInput(options, "hbbp_probe_options", &full));
    if (full.productions == nullptr) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "hbbp_probe_options.productions is NULL; \"use call-pairs\" are some");
    }
    ProductionEngineOptions engine;
    HotStreamOptions streams;
    HBBP_RETURN_IF_ERROR(ReadEngine(full, &engine));
    HBBP_RETURN_IF_ERROR(ReadStreams(full, &streams));
    HBBP_ASSIGN_OR_RETURN(auto taxonomies, TaxonomiesOf(full.taxonomy));
    HBBP_ASSIGN_OR_RETURN(ProductionSet set,
                          ProductionSet::Parse(full.productions, std::move(taxonomies)));
    *probe = new hbbp_probe(std::move(set), engine, streams, full.handler, full.user_data);
    return OkStatus();
  });
}

HBBP_API void hbbp_probe_destroy(hbbp_probe* probe) {
  if (probe == nullptr || probe->IsLost()) return;
  if (!probe->IsInWorker()) {
    delete probe;
    return;
  }
  // Its worker cannot wait for its own end. Without a thread, it goes on: nothing else is safe.
  const auto thread = hbbp::StartWorkerThread(&DestroyProbe, probe);
  if (thread.ok()) ::pthread_detach(*thread);
}

HBBP_API hbbp_status hbbp_probe_run(hbbp_probe* probe, const hbbp_analysis* analysis,
                                    uint64_t first_burst, const hbbp_work_options* work,
                                    uint64_t* next_burst, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (probe == nullptr) return NullArgument("hbbp_probe_run", "probe");
    if (analysis == nullptr) return NullArgument("hbbp_probe_run", "analysis");
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    const Status status = probe->Run(analysis->analysis(), first_burst, chosen);
    const bool has_begun = status.ok() || status.code() == StatusCode::kCancelled ||
                           status.code() == StatusCode::kBadFormat ||
                           status.code() == StatusCode::kNotFound;
    if (next_burst != nullptr && has_begun) *next_burst = probe->probe().next();
    return status;
  });
}

HBBP_API hbbp_status hbbp_probe_start(hbbp_probe* probe, hbbp_session* session,
                                      uint32_t interval_ms, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr uint32_t kDefaultMs = 1000, kMaxMs = 3'600'000;
    if (probe == nullptr) return NullArgument("hbbp_probe_start", "probe");
    if (session == nullptr) return NullArgument("hbbp_probe_start", "session");
    if (interval_ms > kMaxMs) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "hbbp_probe_start: interval_ms: must be at most an hour, %u", kMaxMs);
    }
    return probe->StartWorker(session->session.get(),
                              static_cast<int>(interval_ms == 0 ? kDefaultMs : interval_ms));
  });
}

HBBP_API hbbp_status hbbp_probe_stop(hbbp_probe* probe, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (probe == nullptr) return NullArgument("hbbp_probe_stop", "probe");
    return probe->StopWorker();
  });
}

HBBP_API hbbp_status hbbp_probe_get_info(const hbbp_probe* probe, hbbp_probe_info* info,
                                         hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (probe == nullptr) return NullArgument("hbbp_probe_get_info", "probe");
    if (info == nullptr) return NullArgument("hbbp_probe_get_info", "info");
    HBBP_RETURN_IF_ERROR(probe->CheckIdle("hbbp_probe_get_info"));
    const hbbp::BurstProbeTotals& totals = probe->probe().totals();
    const std::vector<hbbp::BurstSource>& sources = probe->probe().sources();
    HBBP_INIT(hbbp_probe_info, full);
    full.is_exhaustive = probe->engine().is_exhaustive() ? 1 : 0;
    full.sample_freq = probe->engine().sample_freq();
    full.burst_length = probe->engine().burst_length();
    full.bursts = totals.bursts;
    full.begun_bursts = probe->engine().bursts();
    full.instructions = totals.instructions;
    full.streams = totals.streams;
    full.skipped_streams = totals.faults;
    full.streams_without_code = totals.without_code;
    full.other_bursts = totals.other_sources;
    full.not_kept = totals.not_kept;
    const bool are_executions =
        !sources.empty() && std::ranges::all_of(sources, &hbbp::BurstSource::counts_executions);
    full.counts_executions = are_executions ? 1 : 0;
    return WriteOutput(full, "hbbp_probe_info", info);
  });
}

HBBP_API size_t hbbp_probe_production_count(const hbbp_probe* probe) {
  return probe == nullptr ? 0 : probe->set().productions().size();
}

HBBP_API hbbp_status hbbp_probe_copy_productions(const hbbp_probe* probe, size_t first,
                                                 size_t count, size_t size,
                                                 hbbp_probe_production* productions, size_t* copied,
                                                 hbbp_error* error) {
  constexpr char kFunction[] = "hbbp_probe_copy_productions";
  if (HasWorker(probe)) return Report(probe->CheckIdle(kFunction), error);
  return CopyHandleList({kFunction, "hbbp_probe_production", "productions"}, "probe", probe,
                        hbbp_probe_production_count(probe), {first, count, size}, productions,
                        copied, error, &GetProduction);
}

HBBP_API size_t hbbp_probe_table_count(const hbbp_probe* probe) {
  return probe == nullptr ? 0 : probe->set().tables().size();
}

HBBP_API hbbp_status hbbp_probe_copy_tables(const hbbp_probe* probe, size_t first, size_t count,
                                            size_t size, hbbp_probe_table* tables, size_t* copied,
                                            hbbp_error* error) {
  constexpr char kFunction[] = "hbbp_probe_copy_tables";
  if (HasWorker(probe)) return Report(probe->CheckIdle(kFunction), error);
  return CopyHandleList({kFunction, "hbbp_probe_table", "tables"}, "probe", probe,
                        hbbp_probe_table_count(probe), {first, count, size}, tables, copied, error,
                        &GetTable);
}

HBBP_API size_t hbbp_probe_field_count(const hbbp_probe* probe, size_t table) {
  return HasTable(probe, table) ? probe->set().tables()[table].fields.size() : 0;
}

HBBP_API hbbp_status hbbp_probe_copy_fields(const hbbp_probe* probe, size_t table, size_t first,
                                            size_t count, size_t size, hbbp_probe_field* fields,
                                            size_t* copied, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_probe_copy_fields";
    HBBP_RETURN_IF_ERROR(CheckTable(kFunction, probe, table));
    const ProbeTable& found = probe->set().tables()[table];
    return CopyList({kFunction, "hbbp_probe_field", "fields"}, found.fields.size(),
                    {first, count, size}, fields, copied,
                    [&](size_t index) { return GetField(found, index); });
  });
}

HBBP_API size_t hbbp_probe_row_count(const hbbp_probe* probe, size_t table) {
  const bool may_read = HasTable(probe, table) && !HasWorker(probe);
  return may_read ? probe->engine().counts(table).rows() : 0;
}

HBBP_API hbbp_status hbbp_probe_copy_rows(const hbbp_probe* probe, size_t table, size_t first,
                                          size_t count, size_t size, hbbp_probe_row* rows,
                                          size_t* copied, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_probe_copy_rows";
    HBBP_RETURN_IF_ERROR(CheckTable(kFunction, probe, table));
    const std::vector<CountTable::Entry>& found = probe->RowsOf(table);
    const double total = probe->engine().counts(table).total_estimate();
    return CopyList({kFunction, "hbbp_probe_row", "rows"}, found.size(), {first, count, size}, rows,
                    copied, [&](size_t index) { return GetRow(found[index], total); });
  });
}

HBBP_API size_t hbbp_probe_stream_count(const hbbp_probe* probe, size_t table) {
  const bool may_read = HasTable(probe, table) && !HasWorker(probe);
  return GuardCount([&] { return may_read ? probe->StreamsOf(table).size() : 0; });
}

HBBP_API hbbp_status hbbp_probe_copy_streams(const hbbp_probe* probe, size_t table, size_t first,
                                             size_t count, size_t size, hbbp_probe_stream* streams,
                                             size_t* copied, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    constexpr char kFunction[] = "hbbp_probe_copy_streams";
    HBBP_RETURN_IF_ERROR(CheckTable(kFunction, probe, table));
    const auto& found = probe->StreamsOf(table);
    const size_t fields = probe->set().tables()[table].fields.size();
    return CopyList({kFunction, "hbbp_probe_stream", "streams"}, found.size(), {first, count, size},
                    streams, copied, [&](size_t index) { return GetStream(found[index], fields); });
  });
}

HBBP_API hbbp_status hbbp_probe_locate(const hbbp_probe* probe, uint64_t code,
                                       hbbp_probe_location* location, hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (probe == nullptr) return NullArgument("hbbp_probe_locate", "probe");
    if (location == nullptr) return NullArgument("hbbp_probe_locate", "location");
    const hbbp::BurstCodeLocation found = probe->probe().code().Locate(code);
    if (!found.is_known) {
      return MakeStatus(StatusCode::kNotFound,
                        "hbbp_probe_locate: 0x%llx is not a code number of this probe",
                        static_cast<unsigned long long>(code));
    }
    HBBP_INIT(hbbp_probe_location, full);
    full.module = found.module;
    full.path = probe->Keep(found.path);
    full.address = found.address.value;
    full.function = found.function.value != 0 ? found.function.value : HBBP_NO_ADDRESS;
    full.name = probe->Keep(found.function_name);
    return WriteOutput(full, "hbbp_probe_location", location);
  });
}

}  // extern "C"
