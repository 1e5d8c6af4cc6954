#include "profile/profile_data.h"

#include <algorithm>
#include <tuple>

namespace hbbp {
namespace {

auto KeyOf(const IpCount& count) {
  return std::tie(count.module, count.offset, count.source, count.thread);
}

}  // namespace

void Normalize(std::vector<IpCount>* counts) {
  std::sort(counts->begin(), counts->end(),
            [](const IpCount& a, const IpCount& b) { return KeyOf(a) < KeyOf(b); });
  size_t kept = 0;
  for (const IpCount& count : *counts) {
    if (kept > 0 && KeyOf((*counts)[kept - 1]) == KeyOf(count)) {
      IpCount& sum = (*counts)[kept - 1];
      sum.samples += count.samples;
      sum.period_sum += count.period_sum;
      sum.period_squares += count.period_squares;
    } else {
      (*counts)[kept++] = count;
    }
  }
  counts->resize(kept);
}

}  // namespace hbbp
