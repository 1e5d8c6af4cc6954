// LeakSanitizer stops all threads of its program by ptrace when the program ends, and fails if
// another process has stopped one at that moment, as tracing branches from outside does.
#ifndef HBBP_TOOLS_RECORD_LEAK_DETECTION_H_
#define HBBP_TOOLS_RECORD_LEAK_DETECTION_H_

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace hbbp::tools {

// Return kUnsupported if a program that this process starts, or a process that runs, may look for
// leaks: it has a sanitizer, and its environment does not say that it should not.
Status CheckLeakDetectionOfProgram(const std::string& name, const char* path);
Status CheckLeakDetectionOfProcess(pid_t pid);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_RECORD_LEAK_DETECTION_H_
