#include "profile/stream_sums.h"

#include "base/random_bits.h"

namespace hbbp {

size_t ReplicateOf(uint64_t burst_number) {
  return RandomBits(burst_number * RandomBits::kStep).Next() % kReplicates;
}

}  // namespace hbbp
