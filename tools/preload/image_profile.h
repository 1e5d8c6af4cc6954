// ImageProfile is the profile of one program image, from its start to its exit or exec.
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

// Writes the reason instead of a profile; allocates nothing.
void WriteNoMemory(const char* path);

class ImageProfile : private SessionObserver {
 public:
  // The profile is written to `directory`/`name`, with a suffix.
  ImageProfile(std::string directory, std::string name, const ImageSettings& settings);

  // Returns false if there will be no profile; the reason is written then.
  bool Start();

  // Ends the worker until Resume(). Returns false if there are other threads, and does nothing
  // then.
  bool Suspend();
  void Resume();

  // Returns whether the process has only the caller and the worker.
  bool HasOneThreadBesidesWorker() const;
  bool ProgramHasOneThread() const;
  // Returns the threads of the process without the worker, but with the main thread even if it has
  // ended; 0: unknown.
  size_t ThreadsOfProgram() const;

  // Does the same, but ends sampling for good, with `note` in the profile, and ends the worker. It
  // must not run in a signal handler. Returns false if a part of it may still run.
  bool End(const char* note);

  bool MayTraceBranches() const;

  // A child made by vfork or a bare clone runs in this memory, or in a copy without worker, and
  // must not touch it.
  bool IsOwner() const;

  // Writes the counts so far. The image may end right after; if it does not (an exec that fails),
  // profiling continues. It preserves errno, and may be called in a signal handler.
  void Save();

  // The last thread of the program is about to end. Async-signal-safe.
  void WakeWorker() {
    if (session_ != nullptr) session_->WakeWorker();
  }

  // Says with the next counts that there may be a child that is not yet profiled.
  void SetHasForked() { has_forked_ = true; }

 private:
  Status StartSession();
  bool HasWorker() const;
  void OnWorkerStarted() override;
  void HoldLiveFifo() const;
  void OnCheckpoint(ProfileData data, CheckpointKind kind) override;
  void OnNoMemory() override;

  const std::string directory_;
  const std::string name_;
  const std::string error_path_;
  std::string path_;  // path of name_ from the worker's directory
  const ImageSettings settings_;
  const pid_t owner_;
  std::atomic<bool> has_forked_{false};
  bool is_fork_marked_ = false;       // of the worker
  std::unique_ptr<Session> session_;  // null: the source is unavailable here
};

// Saves the current image, if there is one, for the functions that end an image. No signal handler
// of the program runs meanwhile in the calling thread.
void SaveImage();
// Does the same where the process ends, apart from the rest of the C library: signals stay blocked.
void SaveImageAtEnd();

// Call it where a child is made.
void SetImageHasForked();

// These call the current image. SuspendImage() returns false if there is none.
bool SuspendImage();
void ResumeImage();

// These call the current image; async-signal-safe. They preserve errno, and make no system call
// that a seccomp filter of the program may forbid.
bool HasOneThreadBesidesWorker();
bool ProgramHasOneThread();
// Returns whether there is one, and whether this is its process, and not a child of vfork.
bool IsImageHere();
// Runs in the child of a fork in a signal handler.
void AbandonImageInChild();

// Call it in functions that set a seccomp filter and the like: the calling thread, or all threads
// of the process, are about to lose the right to make system calls. The profile gets the note if
// sampling ends.
void PrepareForFilter(bool is_of_all_threads, const char* note);

// Ends sampling for good, with `note` in the profile.
void EndImage(const char* note);

// Call it where the process asks for a tracer, which would stop at the signals of samples.
void PrepareForTracer();

// Runs in a thread before it ends by exit(2). Async-signal-safe.
void PrepareForEndOfThread(int status);

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_IMAGE_PROFILE_H_
