// The interface between main.cc and a sub-command, and how every sub-command reports failure.
//
// A sub-command is a function of its own arguments: argv[0] is its name ("record"), argv[1] the
// first word after it. It parses them with Options (options.h), prints its result with
// WriteOutput and returns the exit status of the process.
#ifndef HBBP_TOOLS_COMMAND_H_
#define HBBP_TOOLS_COMMAND_H_

#include <string>
#include <string_view>

namespace hbbp::tools {

using CommandFunction = int (*)(int argc, char** argv);

int RunAssert(int argc, char** argv);
int RunRecord(int argc, char** argv);
int RunMix(int argc, char** argv);
int RunBlocks(int argc, char** argv);
int RunAnnotate(int argc, char** argv);
int RunInfo(int argc, char** argv);
int RunDoctor(int argc, char** argv);
int RunCompare(int argc, char** argv);
int RunCount(int argc, char** argv);
int RunExport(int argc, char** argv);
int RunDiff(int argc, char** argv);
int RunImport(int argc, char** argv);
int RunMerge(int argc, char** argv);
int RunIbs(int argc, char** argv);
int RunLoops(int argc, char** argv);
int RunPhases(int argc, char** argv);
int RunProbe(int argc, char** argv);
int RunSimd(int argc, char** argv);
int RunTop(int argc, char** argv);
int RunTrain(int argc, char** argv);

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitFailure = 2;
// Of commands that check limits.
inline constexpr int kExitLimitBroken = 1;
inline constexpr int kExitUndecided = 3;

// Prints "hbbp COMMAND: message" on stderr and returns kExitFailure. The message is one line:
// what failed, where, and what to do next.
int Fail(std::string_view command, std::string_view message);

// Prints "hbbp COMMAND: note: message" on stderr.
void Note(std::string_view command, std::string_view message);

// Writes all of `text` to stdout and returns the exit status: a reader that went away
// (`hbbp mix FILE | head`) is success, a full disk is a failure.
int WriteOutput(std::string_view command, std::string_view text);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_COMMAND_H_
