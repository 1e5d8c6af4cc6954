// libhbbp-preload.so: profiles the program that it is loaded into by LD_PRELOAD.
//
// It contains only the collecting half of libhbbp, for two reasons: loading the other half with
// its libraries would cost milliseconds at every exec, and the program may use libhbbp itself.

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "preload/image_profile.h"
#include "preload/options.h"

namespace hbbp::preload {
namespace {

// Never freed: other threads may still be in it while the process ends.
ImageProfile* current = nullptr;

std::string ImagePath(const std::string& folder) {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  char name[64];
  std::snprintf(name, sizeof(name), "/%d.%012lld%09ld", ::getpid(),
                static_cast<long long>(now.tv_sec), now.tv_nsec);
  return folder + name;
}

SessionSettings SettingsFromEnvironment() {
  SessionSettings settings;
  const char* text = std::getenv(kSessionVariable);
  int event = 0, mode = 0, kernel = 0;
  unsigned long long period = 0, frequency = 0, deadline = 0;
  if (text == nullptr || std::sscanf(text, "%d %d %llu %llu %d %llu", &event, &mode, &period,
                                     &frequency, &kernel, &deadline) != 6) {
    return settings;
  }
  settings.backend.event = static_cast<EventKind>(event);
  settings.backend.period_mode = static_cast<PeriodMode>(mode);
  settings.backend.period = period;
  settings.backend.frequency_hz = frequency;
  settings.backend.include_kernel = kernel != 0;
  settings.deadline_ns = deadline;
  return settings;
}

bool IsRoot() {
  const char* root = std::getenv(kRootVariable);
  return root != nullptr && std::atoi(root) == ::getpid();
}

void StartImage() {
  const char* folder = std::getenv(kFolderVariable);
  if (folder == nullptr || *folder == '\0') return;
  current = new ImageProfile(ImagePath(folder), SettingsFromEnvironment(), IsRoot());
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

void SaveImage() {
  if (current != nullptr) current->Save();
}

}  // namespace hbbp::preload
