// hbbp probe: profiles by productions on the instructions of a whole run, or on whole bursts.
// RunProbe reads the options and checks that they go together. Then RunStream takes the
// instructions of the program by single steps or from valgrind, or RunOnBursts those of a profile,
// which it records if that is asked for, and the tables are printed.
#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/quantity.h"
#include "command.h"
#include "format.h"
#include "options.h"
#include "print_options.h"
#include "probe/compare_probes.h"
#include "probe/load_productions.h"
#include "probe/probe_by_steps.h"
#include "probe/probe_by_valgrind.h"
#include "probe/probe_report.h"
#include "probe/probed_bursts.h"
#include "probe/probed_program.h"
#include "probe/sample_profile.h"
#include "progress.h"
#include "record/record_options.h"
#include "record/temporary_recording.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "probe";
constexpr char kStep[] = "step";
constexpr char kValgrind[] = "valgrind";
constexpr char kKeptBytes[] = "64M";
constexpr uint64_t kTableRows = 20;
constexpr size_t kMaxEngines = 100;

// Reads "100,1k".
StatusOr<std::vector<uint64_t>> ReadNumbers(const std::string& option, const std::string& text) {
  std::vector<uint64_t> numbers;
  for (size_t begin = 0; begin <= text.size() && !text.empty();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const StatusOr<uint64_t> number = ParseNumber(text.substr(begin, end - begin));
    if (!number.ok()) return number.status().Annotate(option);
    if (*number == 0 || *number > kMaxCounter) {
      return Status(StatusCode::kInvalidArgument,
                    option + ": the number must be from 1 to " + std::to_string(kMaxCounter));
    }
    numbers.push_back(*number);
    begin = end + 1;
  }
  return numbers;
}

struct Choices {
  std::string sample_freqs;
  std::string burst_lengths;
  bool is_exhaustive = false;
  bool compares = false;
  uint64_t max_rows = ProductionEngineOptions().max_rows;
};

// Returns the engines that the stream runs through; when comparing, the exhaustive one is first.
StatusOr<std::vector<ProductionEngineOptions>> MakeEngines(const Choices& choices) {
  HBBP_ASSIGN_OR_RETURN(std::vector<uint64_t> freqs,
                        ReadNumbers("--sample-freq", choices.sample_freqs));
  HBBP_ASSIGN_OR_RETURN(std::vector<uint64_t> lengths,
                        ReadNumbers("--burst-length", choices.burst_lengths));
  if (choices.is_exhaustive && (choices.compares || !freqs.empty() || !lengths.empty())) {
    return Status(StatusCode::kInvalidArgument,
                  "--exhaustive records everything: it has no --sample-freq, --burst-length and "
                  "--compare-exhaustive");
  }
  if (!choices.compares && (freqs.size() > 1 || lengths.size() > 1)) {
    return Status(StatusCode::kInvalidArgument,
                  "several values of --sample-freq or --burst-length need --compare-exhaustive");
  }
  if (freqs.empty()) freqs.push_back(0);
  if (lengths.empty()) lengths.push_back(0);
  ProductionEngineOptions engine;
  engine.max_rows = choices.max_rows;
  engine.max_symbols = std::max<uint64_t>(engine.max_symbols, choices.max_rows);
  std::vector<ProductionEngineOptions> engines;
  engine.is_exhaustive = choices.is_exhaustive || choices.compares;
  if (engine.is_exhaustive) engines.push_back(engine);
  if (choices.is_exhaustive) return engines;
  engine.is_exhaustive = false;
  for (const uint64_t freq : freqs) {
    for (const uint64_t length : lengths) {
      if (engines.size() > kMaxEngines) {
        return Status(StatusCode::kInvalidArgument, "more than " + std::to_string(kMaxEngines) +
                                                        " sample frequencies and burst lengths");
      }
      engine.sample_freq = freq;
      engine.burst_length = length;
      engines.push_back(engine);
    }
  }
  return engines;
}

// What to do with whole bursts instead of all instructions of a run.
struct BurstRequest {
  std::string profile;
  bool is_live = false;
  std::string compared;  // the file of --compare
  RecordOptions record;  // of --live

  bool is_wanted() const { return is_live || !profile.empty(); }
  // Returns the name of an option of --live that was given, or nothing.
  std::string GivenOption() const {
    const RecordOptions defaults;
    if (record.event != defaults.event) return "--event";
    if (record.period != defaults.period) return "--period";
    if (record.frequency_hz != defaults.frequency_hz) return "--freq";
    if (record.source != defaults.source) return "--source";
    if (record.burst != defaults.burst) return "--burst";
    return record.keep_bursts.empty() ? "" : "--keep-bursts";
  }
};

// Checks that the options go together.
Status CheckBursts(const BurstRequest& bursts, const StepRequest& steps, const std::string& stream,
                   bool compares) {
  std::string conflict;
  if (!bursts.is_wanted()) {
    if (!bursts.compared.empty()) conflict = "--compare";
    if (!bursts.GivenOption().empty()) conflict = bursts.GivenOption();
    if (conflict.empty()) return OkStatus();
    return Status(StatusCode::kInvalidArgument,
                  conflict + " goes with --live" +
                      (conflict == "--compare" ? " or --profile" : "") +
                      ", not with all instructions of a run");
  }
  if (steps.max_instructions != 0) conflict = "--max-instructions";
  if (!stream.empty()) conflict = "--stream";
  if (compares) conflict = "--compare-exhaustive";
  if (!bursts.profile.empty()) {
    if (!bursts.GivenOption().empty()) conflict = bursts.GivenOption();
    if (!steps.command.empty()) conflict = "a command";
    if (bursts.is_live) conflict = "--live";
  }
  if (conflict.empty()) return OkStatus();
  return Status(StatusCode::kInvalidArgument,
                std::string(bursts.profile.empty() ? "--live probes the bursts that it records"
                                                   : "--profile probes the bursts of a recording") +
                    ", without " + conflict);
}

// Returns the rows of the bursts, or their overlaps with those of the file of --compare.
StatusOr<Table> ProbeProfile(const BurstRequest& bursts, const std::string& profile,
                             const ProductionSet& set, const ProductionEngineOptions& engine,
                             ProbeReportOptions report) {
  HBBP_ASSIGN_OR_RETURN(const auto probe, ProbeBursts(profile, &set, engine));
  const ProbedBursts probed(probe.get());
  if (bursts.compared.empty()) return ListProbes(probed, probe->engine(), report);
  HBBP_ASSIGN_OR_RETURN(const std::string reference, ReadTextFile(bursts.compared));
  report.top = 0;
  report.format = Format::kJson;
  const std::string estimate = ListProbes(probed, probe->engine(), report).ToJson();
  HBBP_ASSIGN_OR_RETURN(Table table, CompareProbes(reference, bursts.compared, estimate));
  for (const std::string& note : probed.Notes()) table.AddNote(note);
  return table;
}

struct RunResult {
  int exit_status = 0;
  std::vector<std::string> notes;
};

StatusOr<RunResult> RunStream(StepRequest request, const std::string& stream,
                              ProbedProgram* program) {
  Progress progress(request.max_instructions);
  request.progress = [&](uint64_t instructions) { progress.Show(instructions); };
  request.started = [](pid_t) {
    for (const int signal_number : {SIGINT, SIGQUIT, SIGPIPE}) ::signal(signal_number, SIG_IGN);
  };
  RunResult result;
  if (stream == kValgrind) {
    HBBP_ASSIGN_OR_RETURN(const ValgrindResult ran, ProbeByValgrind(request, program));
    result.exit_status = ran.exit_status;
    if (ran.threads > 1) {
      result.notes.push_back(
          "the program had " + FormatCount(ran.threads) +
          " threads, which valgrind's stream does not distinguish: their bursts are mixed, and "
          "where it switches from one to another, next, taken, the targets of indirect branches, "
          "caller, stride, reuse, trips and paths are wrong; --stream step does distinguish them");
    }
    if (ran.executed_another) {
      result.notes.push_back(
          "the process executed another program, which valgrind does not run; only the first one "
          "is listed");
    }
    return result;
  }
  HBBP_ASSIGN_OR_RETURN(const StepResult ran, ProbeBySteps(request, program));
  result.exit_status = ran.exit_status;
  if (ran.processes > 1) {
    result.notes.push_back("the program started other processes, which were not probed");
  }
  return result;
}

Status WriteSampleProfile(const ProbedProgram& program, const std::string& module,
                          const std::string& path, std::vector<std::string>* notes) {
  HBBP_ASSIGN_OR_RETURN(const std::string text,
                        MakeSampleProfile(program, program.engines().front(), module, notes));
  return WriteFileAtomically(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

// Returns the exit status of the process.
int RunOnBursts(BurstRequest bursts, const ProductionSet& set,
                const ProductionEngineOptions& engine, const ProbeReportOptions& report,
                const PrintOptions& print, const std::string& output) {
  std::optional<TemporaryRecording> recording;
  int status = kExitSuccess;
  if (bursts.is_live) {
    StatusOr<TemporaryRecording> created = TemporaryRecording::Create();
    if (!created.ok()) return Fail(kName, created.status().message());
    recording.emplace(*std::move(created));
    bursts.record.keep_accesses = (set.keys() & kAddresses) != 0;
    bursts.record.keep_values = NamesOfValues(set.keys());
    const bool keeps_numbers = bursts.record.keep_accesses || !bursts.record.keep_values.empty();
    if (keeps_numbers && bursts.record.source == "auto") bursts.record.source = "swbt";
    if (bursts.record.keep_bursts.empty()) bursts.record.keep_bursts = kKeptBytes;
    status = recording->Run(bursts.record);
    if (!recording->has_profile()) return status;
  }
  const StatusOr<Table> table =
      ProbeProfile(bursts, recording ? recording->profile() : bursts.profile, set, engine, report);
  if (recording && table.status().code() == StatusCode::kNotFound) {
    return Fail(
        kName,
        "the recording has no bursts: the program ran too briefly for the period (-c N), or "
        "branches could not be observed ('hbbp doctor' says why)");
  }
  if (!table.ok()) return Fail(kName, table.status().message());
  const int written = print.Print(kName, *table, output);
  return written != kExitSuccess ? written : status;
}

}  // namespace

int RunProbe(int argc, char** argv) {
  std::string output = kStandardOutput;
  std::vector<std::string> words;
  std::string groups;
  std::string sample_profile;
  std::string module;
  std::string stream;
  BurstRequest bursts;
  Choices choices;
  StepRequest request;
  ProbeReportOptions report;
  uint64_t top = 0;
  uint64_t min_length = report.streams.min_length;
  uint64_t max_length = report.streams.max_length;
  PrintOptions print;
  Options options(kName,
                  "Profile by productions on the executed instructions, exactly and slowly, or on "
                  "the bursts of a profile");
  options.Values("-p,--productions", &words, "NAME|FILE",
                 "built-in productions, or a file of them (hot-methods)");
  options.Value("--sample-freq", &choices.sample_freqs, "N",
                "boundaries between bursts (that of the productions)");
  options.Value("--burst-length", &choices.burst_lengths, "N",
                "boundaries in a burst (that of the productions)");
  options.Flag("--exhaustive", &choices.is_exhaustive, "record everything, without bursts");
  options.Flag("--compare-exhaustive", &choices.compares,
               "list how far sampled profiles overlap with the exhaustive one of the same run, for "
               "each N of --sample-freq and --burst-length, which may be lists");
  options.Choice("--stream", &stream, {kStep, kValgrind},
                 "where instructions come from: single steps, or valgrind --tool=lackey (step)");
  options.Flag("--live", &bursts.is_live,
               "let CMD run as fast as hbbp record does, and estimate from its whole bursts");
  options.Value("--profile", &bursts.profile, "FILE",
                "instead of CMD: estimate from the whole bursts of a profile, recorded or imported "
                "with --keep-bursts");
  options.Value("--compare", &bursts.compared, "FILE",
                "with these, list how far the estimate overlaps with an exact profile: the JSON of "
                "--exhaustive with the same productions");
  options.Value("-e,--event", &bursts.record.event, "EVENT",
                "--live: what begins bursts (hbbp record -e)");
  options.Value("-c,--period", &bursts.record.period, "N",
                "--live: events between bursts (hbbp record -c)");
  options.Value("-F,--freq", &bursts.record.frequency_hz, "HZ",
                "--live: bursts a second, instead of a period (hbbp record -F)");
  options.Choice("--source", &bursts.record.source, {"auto", "lbr", "swbt"},
                 "--live: what records bursts (hbbp record --source)");
  options.Value("--burst", &bursts.record.burst, "N",
                "--live: taken branches of a burst (hbbp record --burst)");
  options.Value("--keep-bursts", &bursts.record.keep_bursts, "BYTES",
                "--live: memory for bursts in each process (64M)");
  options.Value("--groups", &groups, "FILE", "groups of instructions that conditions may name");
  options.Value("-o,--output", &output, "FILE", "where the tables go (standard output)");
  options.Value("--sample-profile", &sample_profile, "FILE",
                "write lines and calls that were counted by pc as text for clang "
                "(-fprofile-sample-use)");
  options.Value("--module", &module, "FILE", "only this file, in the sample profile");
  options.Count("--top", &top, "only the first N of each table; with --format table 20 by default");
  options.Value("--min-length", &min_length, "N", "shortest hot stream (10)");
  options.Value("--max-length", &max_length, "N", "longest hot stream (100)");
  options.Value("--min-heat", &report.streams.min_heat, "SHARE",
                "least share of a trace that a hot stream covers (0.001)");
  options.Count("--max-rows", &choices.max_rows, "rows that a table may have (1M)");
  options.Value("--max-instructions", &request.max_instructions, "N",
                "kill a program that executes more, and fail");
  print.AddTo(&options);
  options.Command(&request.command, "CMD ARG...", "the program to profile",
                  [&bursts] { return !bursts.profile.empty(); });
  options.Footer(
      "Built-in productions:\n" + DescribeBuiltins() +
      "\nSingle steps are some ten thousand instructions a second, valgrind some hundred "
      "thousand;\nit has no values and registers, and does not distinguish threads. Processes that "
      "the program\nstarts are profiled with --live only. The exit status is the program's. "
      "docs/guide/productions.md explains\nproductions.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  if (words.empty()) words = {"hot-methods"};
  const StatusOr<ProductionSet> set = LoadProductions(words, groups);
  if (!set.ok()) return Fail(kName, set.status().message());
  const Status are_compatible = CheckBursts(bursts, request, stream, choices.compares);
  if (!are_compatible.ok()) return Fail(kName, are_compatible.message());
  if (stream == kValgrind) {
    const Status fits = CheckForValgrind(*set);
    if (!fits.ok()) return Fail(kName, fits.message());
  }
  if (!module.empty() && sample_profile.empty()) {
    return Fail(kName, "--module chooses the file of --sample-profile, which is not there");
  }
  if (!sample_profile.empty() && bursts.is_wanted()) {
    return Fail(kName,
                "--sample-profile is of exact counts; of a recording, hbbp export --format llvm "
                "writes one");
  }
  if (!sample_profile.empty()) {
    const Status fits = CheckForSampleProfile(*set);
    if (!fits.ok()) return Fail(kName, fits.message());
  }
  StatusOr<std::vector<ProductionEngineOptions>> engines = MakeEngines(choices);
  if (!engines.ok()) return Fail(kName, engines.status().message());
  if (min_length < 2 || min_length > max_length) {
    return Fail(kName, "--min-length must be from 2 to --max-length");
  }
  if (!(report.streams.min_heat > 0 && report.streams.min_heat <= 1)) {
    return Fail(kName, "--min-heat must be a share, above 0 and at most 1");
  }
  report.streams.min_length = min_length;
  report.streams.max_length = max_length;
  report.format = print.format();
  report.top = top == 0 && print.is_table() ? kTableRows : top;

  if (bursts.is_wanted()) {
    bursts.record.command = request.command;
    return RunOnBursts(bursts, *set, engines->front(), report, print, output);
  }

  ProbedProgram program(&*set, *std::move(engines));
  StatusOr<RunResult> result = RunStream(request, stream, &program);
  if (!result.ok()) return Fail(kName, result.status().message());
  Table table = choices.compares ? ListOverlaps(program, report)
                                 : ListProbes(program, program.engines().front(), report);
  const Status profiled = sample_profile.empty()
                              ? OkStatus()
                              : WriteSampleProfile(program, module, sample_profile, &result->notes);
  for (const std::string& note : result->notes) table.AddNote(note);
  const int written = print.Print(kName, table, output);
  if (!profiled.ok()) return Fail(kName, "no sample profile: " + profiled.message());
  return written != kExitSuccess ? written : result->exit_status;
}

}  // namespace hbbp::tools
