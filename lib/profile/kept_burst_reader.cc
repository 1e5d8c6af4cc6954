#include "profile/kept_burst_reader.h"

#include "base/leb128.h"

namespace hbbp {

KeptBurstReader::KeptBurstReader(const RecordedBursts& bursts)
    : bursts_(bursts),
      cursor_(bursts.bytes),
      access_cursor_(bursts.access_bytes),
      predicted_(bursts.branches.size(), kNoPrediction),
      last_addresses_(bursts.access_bytes.empty() ? 0 : AddressPredictor::kSlots),
      is_damaged_(!FindNextWithAccesses()) {}

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
  const auto difference = ReadNumber(&cursor_);
  float weight = 0;
  if (!source || !thread || !difference || !cursor_.Read(&weight)) return false;
  const auto number = ReadNumber(&cursor_);
  if (!number || *number == 0 || *number > kMaxKeptBranches) return false;
  if (!(weight >= 0 && static_cast<double>(weight) < kMaxWeight)) return false;
  time_ns_ += FromZigzag(*difference);
  burst->source = *source;
  burst->thread = *thread;
  burst->time_ns = time_ns_;
  burst->weight = static_cast<double>(weight);
  burst->accesses.clear();
  if (!ReadBranches(*number, &burst->branches)) return false;
  if (read_ != next_with_accesses_) return true;
  return ReadAccesses(burst) && FindNextWithAccesses();
}

bool KeptBurstReader::ReadBranches(size_t number, std::vector<uint32_t>* branches) {
  branches->clear();
  const auto first = ReadIndex(predicted_.size());
  if (!first) return false;
  branches->push_back(*first);
  while (branches->size() < number) {
    const auto as_predicted = ReadNumber(&cursor_);
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

bool KeptBurstReader::FindNextWithAccesses() {
  const uint64_t first = next_with_accesses_ ? read_ + 1 : 0;
  next_with_accesses_.reset();
  if (access_cursor_.remaining() == 0) return true;
  const auto without = ReadNumber(&access_cursor_);
  if (!without || *without > bursts_.number) return false;
  next_with_accesses_ = first + *without;
  return true;
}

bool KeptBurstReader::ReadAccesses(KeptBurst* burst) {
  const auto number = ReadNumber(&access_cursor_);
  if (!number || *number > access_cursor_.remaining()) return false;
  RecordedAccess access;
  for (uint64_t i = 0; i < *number; ++i) {
    const auto later = ReadNumber(&access_cursor_);
    const auto offset = ReadNumber(&access_cursor_);
    const auto difference = ReadNumber(&access_cursor_);
    if (!later || !offset || !difference) return false;
    if (*later >= burst->branches.size() - access.branch) return false;
    access.offset = static_cast<uint32_t>(*later == 0 ? access.offset + *offset : *offset);
    access.branch += static_cast<uint32_t>(*later);
    uint64_t& last =
        last_addresses_[AddressPredictor::FindSlot(burst->branches[access.branch], access.offset)];
    last += FromZigzag(*difference);
    access.address = last;
    burst->accesses.push_back(access);
  }
  return true;
}

std::optional<uint64_t> KeptBurstReader::ReadNumber(ByteCursor* cursor) {
  uint64_t number = 0;
  if (!ReadUleb128(cursor, &number)) return std::nullopt;
  return number;
}

std::optional<uint32_t> KeptBurstReader::ReadIndex(size_t size) {
  const auto index = ReadNumber(&cursor_);
  if (!index || *index >= size) return std::nullopt;
  return static_cast<uint32_t>(*index);
}

std::optional<uint32_t> KeptBurstReader::ReadMapped(const std::vector<uint32_t>& map) {
  const auto index = ReadIndex(map.size());
  if (!index) return std::nullopt;
  return map[*index];
}

}  // namespace hbbp
