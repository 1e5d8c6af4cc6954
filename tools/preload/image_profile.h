// ImageProfile: the profile of one program image, from its start to its exit or exec.
#ifndef HBBP_TOOLS_PRELOAD_IMAGE_PROFILE_H_
#define HBBP_TOOLS_PRELOAD_IMAGE_PROFILE_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "session/session.h"

namespace hbbp::preload {

struct ImageSettings {
  SourceKind source = SourceKind::kEbs;
  SessionSettings session;
};

// In the place of a profile; allocates nothing.
void WriteNoMemory(const char* path);

class ImageProfile : private SessionObserver {
 public:
  // The profile goes to `folder`/`name`, with a suffix.
  ImageProfile(std::string folder, std::string name, const ImageSettings& settings);

  // False if there will be no profile; the reason is written then.
  bool Start();

  // Ends the worker until Resume(), unless there are other threads: false then.
  bool Suspend();
  void Resume();

  // Of the process: the caller, the worker and no other.
  bool HasOneThreadBesidesWorker() const;
  // Threads of the process without the worker, also the main thread if it has ended; 0: not known.
  size_t ThreadsOfProgram() const;
  // Session's of the same names.
  bool Park(int timeout_ms) { return session_->ParkWorker(timeout_ms); }
  void Unpark() { session_->UnparkWorker(); }

  // Likewise, but ends sampling for good, with `note` in the profile, and ends the worker. Not in a
  // signal handler. False if something of it may still run.
  bool End(const char* note);

  bool MayTraceBranches() const;

  // A child made by vfork or a bare clone runs in this memory, or in a copy without worker, and
  // must not touch it.
  bool IsOwner() const;

  // Writes what was counted so far. The image may end right after; if it does not (an exec that
  // fails), profiling goes on. errno is kept. May be called in a signal handler.
  void Save();

 private:
  Status StartSession();
  void OnWorkerStarted() override;
  void OnCheckpoint(ProfileData data, CheckpointKind kind) override;
  void OnNoMemory() override;

  const std::string folder_;
  const std::string name_;
  const std::string error_path_;
  std::string path_;  // of name_, as the worker gets there
  const ImageSettings settings_;
  const pid_t owner_;
  std::unique_ptr<Session> session_;  // null: there is no such source here
};

// For the functions that end an image: saves the current one, if there is one. No signal handler of
// the program runs meanwhile in the calling thread.
void SaveImage();
// Likewise where the process ends, but for what the C library still does: signals stay blocked.
void SaveImageAtEnd();

// The same for the current image. Suspend() is false if there is none.
bool SuspendImage();
void ResumeImage();

// The same, for fork in a signal handler; async-signal-safe.
bool HasOneThreadBesidesWorker();
bool ParkImage(int timeout_ms);
void UnparkImage();
// In the child.
void AbandonImageInChild();

// For the functions that set a seccomp filter: the calling thread, or all threads of the process,
// are about to lose the right to make system calls.
void PrepareForFilter(bool is_of_all_threads);

// Ends sampling for good, with `note` in the profile.
void EndImage(const char* note);

// For the main thread, before it ends and leaves the program to the other threads.
void EndProgramAfterItsThreads();

// For the calling thread, before it ends by exit(2). Async-signal-safe.
void PrepareForEndOfThread(int status);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_IMAGE_PROFILE_H_
