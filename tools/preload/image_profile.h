// ImageProfile: the profile of one program image, from its start to its exit or exec.
#ifndef HBBP_TOOLS_PRELOAD_IMAGE_PROFILE_H_
#define HBBP_TOOLS_PRELOAD_IMAGE_PROFILE_H_

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>

#include "session/session.h"

namespace hbbp::preload {

struct ImageSettings {
  SourceKind source = SourceKind::kEbs;
  SessionSettings session;
};

class ImageProfile : private SessionObserver {
 public:
  // The profile goes to `folder`/`name`, with a suffix. `is_root`: the program that the user asked
  // for, which is not run if it cannot be profiled.
  ImageProfile(std::string folder, std::string name, const ImageSettings& settings, bool is_root);

  void Start();

  // Writes what was counted so far. The image may end right after; if it does not (an exec that
  // fails), profiling goes on. errno is kept. May be called in a signal handler.
  void Save();

 private:
  // A child made by vfork or a bare clone runs in this memory, or in a copy without worker, and
  // must not touch it.
  bool IsOwner() const;
  Status StartSession();
  void OnWorkerStarted() override;
  void OnCheckpoint(ProfileData data) override;

  const std::string folder_;
  const std::string name_;
  std::string path_;  // of name_, as the worker gets there
  const bool is_root_;
  const ImageSettings settings_;
  const pid_t owner_;
  std::unique_ptr<Session> session_;  // null: there is no such source here
};

// For the functions that end an image: saves the current one, if there is one.
void SaveImage();

// For the main thread, before it ends and leaves the program to the other threads.
void EndProgramAfterItsThreads();

}  // namespace hbbp::preload

#endif  // HBBP_TOOLS_PRELOAD_IMAGE_PROFILE_H_
