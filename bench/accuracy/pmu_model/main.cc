// hbbp_pmu_model: SIMULATION of a PMU. Traces a program exactly, samples the trace as a PMU with
// such parameters would, and writes recordings of perf and the exact counts.
//
//   hbbp_pmu_model --method all -o out/ --truth out/truth.callgrind -- ./program ARG
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "pmu_model/callgrind_writer.h"
#include "pmu_model/methods.h"
#include "pmu_model/recording.h"
#include "pmu_model/trace_file.h"
#include "pmu_model/tracer.h"

namespace hbbp::simulation {
namespace {

constexpr char kAllMethods[] = "all";

struct Request {
  std::vector<std::string> command;
  std::string tracer = "lackey";
  uint64_t max_instructions = 50'000'000;
  std::string saved_trace, trace_to_save;
  std::string method = "hybrid";
  std::string output = "simulated.data";
  std::string truth;
  uint64_t repeats = 1;
  MethodOptions options;
  std::string period_mode;
  uint64_t phase = 0;
  bool has_phase = false;
  PmuParameters parameters;
};

void AddParameters(CLI::App* app, PmuParameters* parameters) {
  const auto add = [app](const char* name, auto* value, const char* help) {
    app->add_option(name, *value, help)
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str()
        ->take_last()
        ->group("Parameters of the PMU");
  };
  ClockParameters& clock = parameters->clock;
  add("--issue-width", &clock.issue_width, "instructions that start in a cycle");
  add("--retire-width", &clock.retire_width, "instructions that retire in a cycle");
  add("--window", &clock.window, "instructions started and not retired");
  add("--division-cycles", &clock.latency[static_cast<size_t>(InstructionClass::kDivide)],
      "latency of divisions");
  add("--load-miss-chance", &clock.load_miss_chance, "of a load");
  add("--load-miss-cycles", &clock.load_miss_cycles, "that it then takes longer");
  add("--misprediction-cycles", &clock.misprediction_cycles, "until the right code starts");
  add("--skid", &parameters->skid_cycles, "cycles from an overflow to the interrupt, at least");
  add("--skid-spread", &parameters->skid_spread_cycles, "mean of what comes on top of that");
  add("--shadow", &parameters->pebs_shadow_cycles, "cycles until PEBS is armed");
  add("--prec-dist-shadow", &parameters->precise_dist_shadow_cycles, "the same with PREC_DIST");
  add("--next-ip", &parameters->reports_next_ip, "does PEBS report the next instruction?");
  add("--lbr-depth", &parameters->lbr_depth, "branches in a stack");
  add("--lbr-skid", &parameters->lbr_skid_cycles, "cycles until the stack is frozen, at least");
  add("--lbr-skid-spread", &parameters->lbr_skid_spread_cycles, "mean of what comes on top");
  add("--sticky-share", &parameters->sticky_share, "of the branches that stay in entry[0]");
  add("--sticky-chance", &parameters->sticky_chance, "that one stays for another branch");
  add("--repeat-chance", &parameters->repeat_chance, "that entry[0] is a copy of entry[1]");
}

std::map<std::string, PeriodMode> PeriodModes() {
  return {{"fixed", PeriodMode::kFixed},
          {"prime", PeriodMode::kPrime},
          {"random", PeriodMode::kRandom},
          {"poisson", PeriodMode::kPoisson}};
}

void AddOptions(CLI::App* app, Request* request) {
  app->add_option("--tracer", request->tracer, "lackey (valgrind) or step (ptrace, slow)")
      ->check(CLI::IsMember({"lackey", "step"}))
      ->capture_default_str();
  app->add_option("--max-instructions", request->max_instructions, "the program is then killed")
      ->capture_default_str();
  auto* saved = app->add_option("--trace", request->saved_trace, "a saved trace, for no CMD");
  app->add_option("--save-trace", request->trace_to_save, "where the trace goes");
  std::vector<std::string> methods = MethodNames();
  methods.emplace_back(kAllMethods);
  app->add_option("--method", request->method, CLI::detail::join(methods, "|"))
      ->check(CLI::IsMember(methods))
      ->capture_default_str();
  app->add_option("-o,--output", request->output,
                  "the recording; of `all` or with --repeat a directory, METHOD.N.data in it")
      ->capture_default_str();
  app->add_option("--truth", request->truth, "where the exact counts go, as callgrind has them");
  app->add_option("--repeat", request->repeats, "recordings with seeds SEED, SEED + 1, ...")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app->add_option("--period", request->options.period, "in instructions")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--branch-period", request->options.branch_period, "in taken branches")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--hybrid-ebs", request->options.hybrid_ebs, "the other half of hybrid")
      ->check(CLI::IsMember(EbsMethodNames()))
      ->capture_default_str();
  app->add_option("--period-mode", request->period_mode,
                  "fixed|prime|random|poisson, instead of that of the method")
      ->check(CLI::IsMember(PeriodModes()));
  app->add_option("--samples-by-draw", request->options.samples_by_draw,
                  "that have the same random period")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--seed", request->parameters.seed, "of all that is random")
      ->capture_default_str();
  app->add_option("--phase", request->phase, "events before the first overflow (random)")
      ->each([request](const std::string&) { request->has_phase = true; });
  AddParameters(app, &request->parameters);
  app->add_option("CMD", request->command, "the program to trace, and its arguments")
      ->excludes(saved);
  app->footer(
      "SIMULATION: no number from here says anything of a processor; docs/lab/pmu-model.md.");
}

StatusOr<Trace> TraceOf(const Request& request) {
  if (!request.saved_trace.empty()) {
    HBBP_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(request.saved_trace));
    return DecodeTrace(file.bytes(), request.saved_trace);
  }
  const Tracer tracer = request.tracer == "step" ? Tracer::kSingleStep : Tracer::kLackey;
  return TraceCommand(tracer, request.command, request.max_instructions);
}

Status Write(const std::string& path, std::string_view text) {
  return WriteFileAtomically(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

Status Record(const Trace& trace, const std::string& method, const std::string& path, uint64_t seed,
              const Request& request, const std::vector<std::string>& words) {
  PmuParameters parameters = request.parameters;
  MethodOptions options = request.options;
  options.seed = seed;
  if (request.has_phase) options.phase = request.phase;
  if (!request.period_mode.empty()) options.period_mode = PeriodModes().at(request.period_mode);
  const std::vector<MethodEvent> events = MakeEvents(method, options);
  std::vector<EventParameters> counted;
  counted.reserve(events.size());
  for (const MethodEvent& event : events) counted.push_back(event.parameters);
  Recording recording(trace, events);
  parameters.seed = seed;
  const SimulationSummary summary =
      Simulate(trace, parameters, counted,
               [&recording](const SimulatedSample& sample) { recording.Add(sample); });
  HBBP_RETURN_IF_ERROR(WriteFileAtomically(path, recording.File(words)));
  std::fprintf(stderr,
               "hbbp_pmu_model: SIMULATION %s: %" PRIu64 " samples, %" PRIu64
               " dropped, of %" PRIu64 " instructions, %" PRIu64 " taken branches, %" PRIu64
               " cycles: %s\n",
               method.c_str(), summary.samples, summary.dropped, summary.instructions,
               summary.taken_branches, summary.cycles, path.c_str());
  return OkStatus();
}

Status Run(const Request& request, const std::vector<std::string>& words) {
  HBBP_ASSIGN_OR_RETURN(const Trace trace, TraceOf(request));
  if (!request.trace_to_save.empty()) {
    HBBP_RETURN_IF_ERROR(WriteFileAtomically(request.trace_to_save, EncodeTrace(trace)));
  }
  if (!request.truth.empty()) HBBP_RETURN_IF_ERROR(Write(request.truth, CallgrindText(trace)));
  if (trace.outside > 0) {
    std::fprintf(stderr, "hbbp_pmu_model: %" PRIu64 " instructions in no file were left out\n",
                 trace.outside);
  }
  const bool is_all = request.method == kAllMethods;
  const std::vector<std::string> methods =
      is_all ? MethodNames() : std::vector<std::string>{request.method};
  const bool is_directory = is_all || request.repeats > 1;
  if (is_directory) {
    std::error_code error;
    std::filesystem::create_directories(request.output, error);
    if (error) return ErrnoStatus(error.value(), request.output);
  }
  for (uint64_t i = 0; i < request.repeats; ++i) {
    for (const std::string& method : methods) {
      const std::string path =
          is_directory ? request.output + "/" + method + "." + std::to_string(i) + ".data"
                       : request.output;
      HBBP_RETURN_IF_ERROR(
          Record(trace, method, path, request.parameters.seed + i, request, words));
    }
  }
  return OkStatus();
}

int Main(int argc, char** argv) {
  Request request;
  CLI::App app("SIMULATION of a PMU: samples an exact trace of a program, as perf would record it");
  AddOptions(&app, &request);
  CLI11_PARSE(app, argc, argv);
  if (request.command.empty() == request.saved_trace.empty()) {
    std::fputs("hbbp_pmu_model: give a program behind --, or --trace FILE; see --help\n", stderr);
    return 2;
  }
  const Status status = Run(request, std::vector<std::string>(argv, argv + argc));
  if (status.ok()) return 0;
  std::fprintf(stderr, "hbbp_pmu_model: %s\n", status.message().c_str());
  return 1;
}

}  // namespace
}  // namespace hbbp::simulation

int main(int argc, char** argv) {
  try {
    return hbbp::simulation::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hbbp_pmu_model: %s\n", error.what());
    return 1;
  }
}
