// hbbp: the command. It finds the sub-command and calls it.
#include <hbbp/version.h>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest_name.h"
#include "command.h"

namespace hbbp::tools {
namespace {

struct Command {
  const char* name;
  const char* summary;
  CommandFunction run;
};

constexpr Command kCommands[] = {
    {"record", "profile a program", RunRecord},
    {"top", "what runs now in a process, again and again", RunTop},
    {"info", "what is in a profile: sources, losses, threads, modules", RunInfo},
    {"mix", "executed instructions, bytes and operations by any keys", RunMix},
    {"report", "the functions that executed most, as hbbp mix --by module,function", RunMix},
    {"simd", "what of a program is vector code, and what is not", RunSimd},
    {"diff", "what changed between two mixes, and how sure that is", RunDiff},
    {"blocks", "how often each basic block ran", RunBlocks},
    {"annotate", "instructions of functions with counts and source lines", RunAnnotate},
    {"loops", "the loops that ran, how often they went round, what they executed", RunLoops},
    {"phases", "what ran in each slice of time", RunPhases},
    {"assert", "check what a profile must satisfy, for tests", RunAssert},
    {"compare", "how far a profile is from exact counts or from another profile", RunCompare},
    {"count", "exact counts of a small program, by single-stepping", RunCount},
    {"probe", "what productions record of every instruction of a program", RunProbe},
    {"train", "learn from exact counts which source to believe of which block", RunTrain},
    {"import", "make a profile of a recording of perf", RunImport},
    {"export", "a report to look at, as one HTML page", RunExport},
    {"merge", "several profiles as one", RunMerge},
    {"ibs", "what instruction-based sampling of AMD reports of instructions", RunIbs},
    {"doctor", "what this machine, kernel and user can do", RunDoctor},
};

std::string Help() {
  std::string text =
      "hbbp counts how often each basic block of a program runs, and which instructions.\n\n"
      "Usage: hbbp COMMAND [OPTIONS] ...\n\n"
      "Commands:\n";
  for (const Command& command : kCommands) {
    std::string name = command.name;
    name.resize(10, ' ');
    text += "  " + name + command.summary + '\n';
  }
  text +=
      "\nhbbp help COMMAND explains one; hbbp --version prints the version.\n"
      "Exit status: 0, or 2 with one line on stderr that says what went wrong. assert, and diff "
      "with\n"
      "--fail-above, have 1 if a limit is not kept, and 3 with --strict if that is undecided.\n";
  return text;
}

// argv[0] is the command.
int RunCommand(int argc, char** argv) {
  const std::string_view word = argv[0];
  for (const Command& command : kCommands) {
    if (word != command.name) continue;
    try {
      return command.run(argc, argv);
    } catch (const std::exception& error) {
      return Fail(word, error.what());
    }
  }
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  return Fail(
      "", "unknown command " + std::string(word) + DidYouMean(word, names) + "; see hbbp --help");
}

int Run(int argc, char** argv) {
  if (argc < 2) return Fail("", "no command; see hbbp --help");
  const std::string_view word = argv[1];
  if (word == "help" && argc > 2) {
    char help[] = "--help";
    char* words[] = {argv[2], help, nullptr};
    return RunCommand(2, words);
  }
  if (word == "--help" || word == "-h" || word == "help") return WriteOutput("", Help());
  if (word == "--version" || word == "-V") {
    return WriteOutput("", std::string("hbbp ") + hbbp_version_string() + '\n');
  }
  return RunCommand(argc - 1, argv + 1);
}

}  // namespace
}  // namespace hbbp::tools

int main(int argc, char** argv) { return hbbp::tools::Run(argc, argv); }
