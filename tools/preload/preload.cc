// libhbbp-preload.so: profiles the program that it is loaded into by LD_PRELOAD.
//
// It contains only the collecting half of libhbbp, for two reasons: loading the other half with
// its libraries would cost milliseconds at every exec, and the program may use libhbbp itself.

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "preload/image_profile.h"
#include "preload/options.h"
#include "session/session_registry.h"

namespace hbbp::preload {
namespace {

// Never freed: other threads may still be in it while the process ends.
ImageProfile* current = nullptr;

std::string ImageName() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  char name[64];
  std::snprintf(name, sizeof(name), "%d.%012lld%09ld", ::getpid(),
                static_cast<long long>(now.tv_sec), now.tv_nsec);
  return name;
}

ImageSettings SettingsFromEnvironment() {
  ImageSettings settings;
  const char* text = std::getenv(kSessionVariable);
  int event = 0, period_mode = 0, kernel = 0, source = 0, trace_mode = 0, ebs_method = 0,
      imprecise = 0;
  unsigned burst = 0;
  unsigned long long period = 0, frequency = 0, deadline = 0, branch_period = 0, expected = 0;
  unsigned long long event_config = 0, slice = 0;
  unsigned event_type = 0;
  char event_name[256] = "";
  if (text == nullptr ||
      std::sscanf(text, "%d %d %llu %llu %d %llu %d %d %u %llu %llu %u %llu %d %d %llu %255s",
                  &event, &period_mode, &period, &frequency, &kernel, &deadline, &source,
                  &trace_mode, &burst, &branch_period, &expected, &event_type, &event_config,
                  &ebs_method, &imprecise, &slice, event_name) < 16) {
    return settings;
  }
  if (source != 0) settings.source = static_cast<SourceKind>(source);
  BackendConfig& backend = settings.session.backend;
  backend.event = static_cast<EventKind>(event);
  backend.event_name = event_name;
  backend.event_type = event_type;
  backend.event_config = event_config;
  backend.ebs_method = static_cast<EbsMethod>(ebs_method);
  backend.imprecise = imprecise != 0;
  backend.period_mode = static_cast<PeriodMode>(period_mode);
  backend.period = period;
  backend.branch_period = branch_period;
  backend.frequency_hz = frequency;
  backend.expected_seconds = expected;
  backend.include_kernel = kernel != 0;
  backend.trace_mode = static_cast<TraceMode>(trace_mode);
  backend.burst_branches = burst;
  settings.session.deadline_ns = deadline;
  settings.session.slice_ns = slice;
  return settings;
}

bool IsRoot() {
  const char* root = std::getenv(kRootVariable);
  return root != nullptr && std::atoi(root) == ::getpid();
}

void StartImage() {
  const char* folder = std::getenv(kFolderVariable);
  if (folder == nullptr || *folder == '\0') return;
  current = new ImageProfile(folder, ImageName(), SettingsFromEnvironment(), IsRoot());
  current->Start();
}

void StartInForkedChild() {
  // What the parent had belongs to the parent; its session let go of it already.
  current = nullptr;
  StartImage();
}

__attribute__((constructor)) void OnLoad() {
  StartImage();
  if (current != nullptr) ::pthread_atfork(nullptr, nullptr, &StartInForkedChild);
}

__attribute__((destructor)) void OnExit() { SaveImage(); }

}  // namespace

namespace {

sigset_t mask_of_main_thread;

// In place of the last thread of the program, which would run the exit handlers if there were no
// worker. The worker itself cannot: it has none of the program's descriptors.
void* ExitAfterLastThread(void*) {
  constexpr useconds_t kPollMicroseconds = 20'000;
  SessionRegistry::Get().AddWorker(::gettid());
  while (!SessionRegistry::Get().ProgramHasEnded()) ::usleep(kPollMicroseconds);
  ::pthread_sigmask(SIG_SETMASK, &mask_of_main_thread, nullptr);
  std::exit(0);
}

}  // namespace

void EndProgramAfterItsThreads() {
  if (current == nullptr) return;
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &mask_of_main_thread);
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, &ExitAfterLastThread, nullptr) == 0) {
    ::pthread_detach(thread);
  }
  ::pthread_sigmask(SIG_SETMASK, &mask_of_main_thread, nullptr);
}

void SaveImage() {
  if (current != nullptr) current->Save();
}

}  // namespace hbbp::preload
