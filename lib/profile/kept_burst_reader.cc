#include "profile/kept_burst_reader.h"

#include "base/leb128.h"

namespace hbbp {

KeptBurstReader::KeptBurstReader(const RecordedBursts& bursts)
    : bursts_(bursts), cursor_(bursts.bytes), predicted_(bursts.branches.size(), kNoPrediction) {}

bool KeptBurstReader::Next(KeptBurst* burst) {
  if (is_damaged_ || cursor_.remaining() == 0) return false;
  if (!Read(burst)) {
    is_damaged_ = true;
    return false;
  }
  ++read_;
  return true;
}

Status KeptBurstReader::status() const {
  if (!is_damaged_ && (cursor_.remaining() != 0 || read_ == bursts_.number)) return OkStatus();
  return MakeStatus(StatusCode::kBadFormat,
                    "the bursts of the profile are damaged at byte %zu of their codes, after %llu "
                    "of %llu",
                    cursor_.position(), static_cast<unsigned long long>(read_),
                    static_cast<unsigned long long>(bursts_.number));
}

bool KeptBurstReader::Read(KeptBurst* burst) {
  constexpr double kMaxWeight = 1e36;
  const auto source = ReadMapped(bursts_.sources);
  const auto thread = ReadMapped(bursts_.threads);
  const auto difference = ReadNumber();
  float weight = 0;
  if (!source || !thread || !difference || !cursor_.Read(&weight)) return false;
  const auto number = ReadNumber();
  if (!number || *number == 0 || *number > kMaxKeptBranches) return false;
  if (!(weight >= 0 && static_cast<double>(weight) < kMaxWeight)) return false;
  time_ns_ += (*difference >> 1) ^ (0 - (*difference & 1));
  burst->source = *source;
  burst->thread = *thread;
  burst->time_ns = time_ns_;
  burst->weight = static_cast<double>(weight);
  return ReadBranches(*number, &burst->branches);
}

bool KeptBurstReader::ReadBranches(size_t number, std::vector<uint32_t>* branches) {
  branches->clear();
  const auto first = ReadIndex(predicted_.size());
  if (!first) return false;
  branches->push_back(*first);
  while (branches->size() < number) {
    const auto as_predicted = ReadNumber();
    if (!as_predicted || *as_predicted > number - branches->size()) return false;
    for (uint64_t i = 0; i < *as_predicted; ++i) {
      const uint32_t next = predicted_[branches->back()];
      if (next == kNoPrediction) return false;
      branches->push_back(next);
    }
    if (branches->size() == number) break;
    const auto other = ReadIndex(predicted_.size());
    if (!other) return false;
    predicted_[branches->back()] = *other;
    branches->push_back(*other);
  }
  return true;
}

std::optional<uint64_t> KeptBurstReader::ReadNumber() {
  uint64_t number = 0;
  if (!ReadUleb128(&cursor_, &number)) return std::nullopt;
  return number;
}

std::optional<uint32_t> KeptBurstReader::ReadIndex(size_t size) {
  const auto index = ReadNumber();
  if (!index || *index >= size) return std::nullopt;
  return static_cast<uint32_t>(*index);
}

std::optional<uint32_t> KeptBurstReader::ReadMapped(const std::vector<uint32_t>& map) {
  const auto index = ReadIndex(map.size());
  if (!index) return std::nullopt;
  return map[*index];
}

}  // namespace hbbp
