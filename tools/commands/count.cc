// hbbp count: counts executed instructions exactly, by single-stepping.
#include <hbbp/version.h>
#include <signal.h>

#include <cstdio>
#include <memory>

#include "base/files.h"
#include "command.h"
#include "count/callgrind_writer.h"
#include "count/counted_process.h"
#include "count/stepper.h"
#include "format.h"
#include "options.h"
#include "progress.h"

namespace hbbp::tools {
namespace {

constexpr char kName[] = "count";

std::string CommandLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

Status WriteCounts(const std::string& path, const CountedProcess& process,
                   const std::string& command) {
  const std::string text =
      CallgrindText(process, std::string("hbbp count ") + hbbp_version_string(), command);
  return WriteFileAtomically(path, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

}  // namespace

int RunCount(int argc, char** argv) {
  std::string output = "hbbp-count.out";
  StepRequest request;
  CountedModules modules;
  Options options(kName, "Count every instruction that a program executes, exactly and slowly");
  options.Value("-o,--output", &output, "FILE", "where the counts go (" + output + ")");
  options.Value("--max-instructions", &request.max_instructions, "N",
                "kill a program that executes more, and fail");
  options.Command(&request.command, "CMD ARG...", "the program to count");
  options.Footer(
      "The program runs one instruction at a time, some ten thousand a second: this is for small\n"
      "programs, where the counts of hbbp compare --truth must be beyond doubt. FILE has\n"
      "callgrind's format; processes that the program starts get files of their own, FILE.PID.\n"
      "The exit status is the program's. docs/guide/truth.md says what counts as an instruction.");
  if (const std::optional<int> status = options.Parse(argc, argv)) return *status;

  if (output == kStandardOutput) return Fail(kName, kOutputIsOfProgram);
  const std::string command = CommandLine(request.command);
  pid_t first = 0;
  request.started = [&](pid_t pid) {
    first = pid;
    for (const int signal_number : {SIGINT, SIGQUIT, SIGPIPE}) ::signal(signal_number, SIG_IGN);
  };
  const auto write = [&](const CountedProcess& process) {
    const bool is_first = process.pid() == first;
    return WriteCounts(is_first ? output : output + "." + std::to_string(process.pid()), process,
                       is_first ? command : "started by " + command);
  };
  request.start_process = [&](pid_t pid) {
    return std::make_unique<CountedProcess>(pid, &modules, write);
  };
  StatusOr<StepResult> result = OkStatus();
  {
    Progress progress(request.max_instructions);
    request.progress = [&](uint64_t instructions) { progress.Show(instructions); };
    result = StepThrough(request);
  }
  if (!result.ok()) {
    std::string message = result.status().message();
    if (result.status().code() == StatusCode::kUnsupported) {
      message +=
          " and was killed; give a larger --max-instructions, or count it with valgrind "
          "--tool=callgrind --dump-instr=yes, which is a thousand times faster";
    }
    return Fail(kName, message);
  }
  for (const std::string& problem : modules.problems()) Note(kName, problem);
  const std::string line = Plural(result->instructions, "instruction", "instructions") + " of " +
                           Plural(result->processes, "process", "processes") + " with " +
                           Plural(result->threads, "thread", "threads") + ": " + output;
  std::fprintf(stderr, "hbbp count: %s\n", Printable(line).c_str());
  return result->exit_status;
}

}  // namespace hbbp::tools
