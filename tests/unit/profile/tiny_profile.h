// Makes the profile of a tiny library, with samples at known instructions.
#ifndef HBBP_TESTS_UNIT_PROFILE_TINY_PROFILE_H_
#define HBBP_TESTS_UNIT_PROFILE_TINY_PROFILE_H_

#include <fcntl.h>

#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "image/build_id.h"
#include "profile/profile_data.h"
#include "support/tiny_library.h"
#include "unit/profile/sample_profiles.h"

namespace hbbp {

inline constexpr uint64_t kTinyPeriod = 1000;

// It has two threads and two sources of the same kind. The period is 1000; samples of tiny_work:
//   entry (2 instructions): 4 by thread 0
//   loop (3 instructions):  9 by thread 0 on two instructions, 6 by thread 1, 3 of source 1
//   return (1):             none
// and of tiny_twice (3 instructions): 1 by thread 1.
inline ProfileData TinyProfile(const std::string& library) {
  const uint64_t work = TinyWorkOffset(library);
  ProfileData data;
  data.pid = 10;
  data.sources.resize(2);
  for (SourceRecord& source : data.sources) {
    source.kind = SourceKind::kEbs;
    source.event = EventKind::kTaskClock;
    source.period = kTinyPeriod;
  }
  data.threads = {{10, 10, "first"}, {10, 11, "second"}};
  data.modules.resize(1);
  data.modules[0].path = library;
  const UniqueFd fd(::open(library.c_str(), O_RDONLY | O_CLOEXEC));
  data.modules[0].build_id = ReadBuildIdOfFd(fd.get());
  data.counts = {
      MakeCount(0, 0, 0, work, 4, kTinyPeriod),
      MakeCount(0, 0, 0, work + kTinyLoop, 5, kTinyPeriod),
      MakeCount(0, 0, 1, work + kTinyLoop, 6, kTinyPeriod),
      MakeCount(0, 1, 0, work + kTinyLoop, 3, kTinyPeriod),
      MakeCount(0, 0, 0, work + kTinyLoop + 2, 4, kTinyPeriod),
      MakeCount(0, 0, 1, work + kTinyTwice, 1, kTinyPeriod),
  };
  return data;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_UNIT_PROFILE_TINY_PROFILE_H_
