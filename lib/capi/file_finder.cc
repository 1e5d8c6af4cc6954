#include "capi/file_finder.h"

#include <memory>

#include "collect/recorded_files.h"

namespace hbbp::capi {

std::function<void(ProfileData*, CancelCheck*)> FileFinder(const ImportOptions& files) {
  // The search reads the root once, for all snapshots.
  struct Search {
    explicit Search(const ImportOptions& given) : options(given), files(options) {}

    const ImportOptions options;
    RecordedFiles files;
  };
  return [search = std::make_shared<Search>(files)](ProfileData* data, CancelCheck* check) {
    search->files.Find(data, nullptr, check);
  };
}

}  // namespace hbbp::capi
