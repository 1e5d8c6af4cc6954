// LeakSanitizer stops all threads of its program by ptrace when the program ends, and fails if
// another process has stopped one at that moment, as tracing branches from outside does.
#ifndef HBBP_TOOLS_RECORD_LEAK_DETECTION_H_
#define HBBP_TOOLS_RECORD_LEAK_DETECTION_H_

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace hbbp::tools {

// Return kUnsupported if the environment of a program with a sanitizer, which this process starts,
// or that of a process does not say that it should not look for leaks. Processes without a
// sanitizer do not.
Status CheckLeakDetectionOfProgram(const std::string& name);
Status CheckLeakDetectionOfProcess(pid_t pid);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_LEAK_DETECTION_H_
