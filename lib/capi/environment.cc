// Profiles a program that has libhbbp.so if the environment asks for it: HBBP_OUTPUT names the file
// of the profile, and HBBP_OPTIONS has the options of the session. Begin runs when the library is
// loaded, and does nothing but look for the variable where there is none. End runs at exit.
//
// Nothing is written by children of fork, which have no samples. Programs that are started inherit
// the variable with ".%p" at its end, so that they do not replace the file.
#include "capi/environment.h"

#include <hbbp/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <string>

#include "base/files.h"
#include "capi/option_text.h"
#include "capi/session_handle.h"

namespace hbbp::capi {
namespace {

constexpr char kOutputVariable[] = "HBBP_OUTPUT";
constexpr char kOptionsVariable[] = "HBBP_OPTIONS";
// `hbbp record` sets it for the programs that it profiles.
constexpr char kRecordVariable[] = "HBBP_PRELOAD_LIBRARY";
constexpr char kPid[] = "%p";

// It is never destroyed: threads may run while the process ends.
struct Run {
  std::string output;
  std::string event_name;
  pid_t pid = 0;
  std::mutex mutex;  // guards what follows
  hbbp_session* session = nullptr;
  bool is_running = false;
};
Run* run = nullptr;

// Messages are one line each.
void Print(const std::string& message) { ::dprintf(STDERR_FILENO, "hbbp: %s\n", message.c_str()); }

// Replaces each %p.
std::string WithPid(std::string name, pid_t pid) {
  const std::string number = std::to_string(pid);
  for (size_t at = 0; (at = name.find(kPid, at)) != std::string::npos; at += number.size()) {
    name.replace(at, sizeof(kPid) - 1, number);
  }
  return name;
}

void Save(hbbp_session* session, const std::string& output) {
  HBBP_INIT(hbbp_error, error);
  hbbp_profile* profile = nullptr;
  const bool is_replaced = ::access(output.c_str(), F_OK) == 0;
  if (hbbp_session_snapshot(session, nullptr, &profile, &error) != HBBP_OK ||
      hbbp_profile_save(profile, output.c_str(), nullptr, &error) != HBBP_OK) {
    Print(std::string(kOutputVariable) + ": no profile was written: " + error.message);
  } else if (is_replaced) {
    Print("replaced " + output + "; with %p in " + kOutputVariable +
          ", which is the process id, each run has a file of its own");
  }
  hbbp_profile_destroy(profile);
}

bool Stop() {
  const std::lock_guard lock(run->mutex);
  if (!run->is_running) return false;
  run->is_running = false;
  return hbbp_session_stop(run->session, nullptr) == HBBP_OK;
}

void EndForHost() {
  if (::getpid() != run->pid || !Stop()) return;
  Print("the program starts a session of its own that traces branches: the profile of " +
        std::string(kOutputVariable) + " ends here");
}

void End() {
  if (::getpid() != run->pid) return;
  yield_to_host = nullptr;
  (void)Stop();
  Save(run->session, run->output);
  hbbp_session_destroy(run->session);
}

Status Start(const char* option_text) {
  HBBP_INIT(hbbp_session_options, options);
  if (option_text != nullptr) {
    const Status status = ReadOptionText(option_text, &options, &run->event_name);
    if (!status.ok()) return status.Annotate(kOptionsVariable);
  }
  HBBP_INIT(hbbp_error, error);
  hbbp_status status = hbbp_session_create(&options, &run->session, &error);
  if (status == HBBP_OK) status = hbbp_session_start(run->session, &error);
  if (status == HBBP_OK) return OkStatus();
  return Status(static_cast<StatusCode>(status), error.message);
}

void BeginRun(const char* output) {
  run = new Run;
  run->pid = ::getpid();
  const std::string name = AbsolutePath(output);
  run->output = WithPid(name, run->pid);
  // The program may change the directory, and start others.
  const bool has_pid = name.find(kPid) != std::string::npos;
  ::setenv(kOutputVariable, (has_pid ? name : name + "." + kPid).c_str(), 1);
  const Status status = Start(::secure_getenv(kOptionsVariable));
  if (!status.ok()) {
    Print(std::string(kOutputVariable) + ": the program is not profiled: " + status.message());
    hbbp_session_destroy(run->session);
    return;
  }
  run->is_running = true;
  if (run->session->may_trace_branches) yield_to_host = &EndForHost;
  // What the library made until now is destroyed after this.
  std::atexit(&End);
}

__attribute__((constructor)) void Begin() {
  const char* const output = ::secure_getenv(kOutputVariable);
  if (output == nullptr || *output == '\0') return;
  if (::getenv(kRecordVariable) != nullptr) {
    Print(std::string(kOutputVariable) + " has no effect: hbbp record profiles the program");
    return;
  }
  try {
    BeginRun(output);
  } catch (const std::bad_alloc&) {
    Print("no memory for a profile");
  }
}

}  // namespace
}  // namespace hbbp::capi
