// KeptBurstReader reads the bursts of a recording, one after the other.
#ifndef HBBP_LIB_PROFILE_KEPT_BURST_READER_H_
#define HBBP_LIB_PROFILE_KEPT_BURST_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/byte_cursor.h"
#include "base/recorded_access.h"
#include "base/status.h"
#include "profile/kept_bursts.h"

namespace hbbp {

struct KeptBurst {
  uint32_t source = 0;  // indices of the vectors of ProfileData
  uint32_t thread = 0;
  uint64_t time_ns = 0;
  double weight = 0;
  std::vector<uint32_t> branches;  // indices of RecordedBursts::branches, oldest first; never empty
  // In their order; empty if they were not recorded.
  std::vector<RecordedAccess> accesses;  // of the kind kAddress
  std::vector<RecordedAccess> values;    // of other kinds
};

class KeptBurstReader {
 public:
  // `bursts` must outlive the reader.
  explicit KeptBurstReader(const RecordedBursts& bursts);

  // Replaces `burst` by the next one. Returns false at the end, and where the bytes are damaged,
  // which status() reports.
  bool Next(KeptBurst* burst);
  Status status() const;

 private:
  // The bytes of accesses or of values.
  struct Numbers {
    ByteCursor cursor;
    bool are_values = false;
    std::vector<uint64_t> last;               // of NumberPredictor; empty if there are no bytes
    std::optional<uint64_t> next_burst = {};  // that has some: the number of bursts before it
  };

  bool Read(KeptBurst* burst);
  bool ReadBranches(size_t number, std::vector<uint32_t>* branches);
  bool FindNextBurst(Numbers* numbers) const;
  bool ReadNumbers(const KeptBurst& burst, Numbers* numbers, std::vector<RecordedAccess>* read);
  static std::optional<uint64_t> ReadNumber(ByteCursor* cursor);
  std::optional<uint32_t> ReadIndex(size_t size);
  std::optional<uint32_t> ReadMapped(const std::vector<uint32_t>& map);

  const RecordedBursts& bursts_;
  ByteCursor cursor_;
  Numbers accesses_;
  Numbers values_;
  std::vector<uint32_t> predicted_;  // by branch
  uint64_t time_ns_ = 0;
  uint64_t read_ = 0;
  bool is_damaged_ = false;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROFILE_KEPT_BURST_READER_H_
