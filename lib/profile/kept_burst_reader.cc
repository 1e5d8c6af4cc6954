#include "profile/kept_burst_reader.h"

#include "base/leb128.h"

namespace hbbp {
namespace {

std::vector<uint64_t> MakePredictor(const std::vector<uint8_t>& bytes) {
  return std::vector<uint64_t>(bytes.empty() ? 0 : NumberPredictor::kSlots);
}

}  // namespace

KeptBurstReader::KeptBurstReader(const RecordedBursts& bursts)
    : bursts_(bursts),
      cursor_(bursts.bytes),
      accesses_{ByteCursor(bursts.access_bytes), false, MakePredictor(bursts.access_bytes)},
      values_{ByteCursor(bursts.value_bytes), true, MakePredictor(bursts.value_bytes)},
      predicted_(bursts.branches.size(), kNoPrediction),
      is_damaged_(!FindNextBurst(&accesses_) || !FindNextBurst(&values_)) {}

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
  return ReadBranches(*number, &burst->branches) &&
         ReadNumbers(*burst, &accesses_, &burst->accesses) &&
         ReadNumbers(*burst, &values_, &burst->values);
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

bool KeptBurstReader::FindNextBurst(Numbers* numbers) const {
  const uint64_t first = numbers->next_burst ? read_ + 1 : 0;
  numbers->next_burst.reset();
  if (numbers->cursor.remaining() == 0) return true;
  const auto without = ReadNumber(&numbers->cursor);
  if (!without || *without > bursts_.number) return false;
  numbers->next_burst = first + *without;
  return true;
}

bool KeptBurstReader::ReadNumbers(const KeptBurst& burst, Numbers* numbers,
                                  std::vector<RecordedAccess>* read) {
  read->clear();
  if (numbers->next_burst != read_) return true;
  const auto count = ReadNumber(&numbers->cursor);
  if (!count || *count > numbers->cursor.remaining()) return false;
  RecordedAccess access;
  uint32_t position = 0;
  for (uint64_t i = 0; i < *count; ++i) {
    const auto later = ReadNumber(&numbers->cursor);
    const auto further = ReadNumber(&numbers->cursor);
    const auto difference = ReadNumber(&numbers->cursor);
    if (!later || !further || !difference) return false;
    if (*later >= burst.branches.size() - access.branch) return false;
    position = static_cast<uint32_t>(*later == 0 ? position + *further : *further);
    SetPosition(numbers->are_values, position, &access);
    access.branch += static_cast<uint32_t>(*later);
    uint64_t& last =
        numbers->last[NumberPredictor::FindSlot(burst.branches[access.branch], position)];
    last += FromZigzag(*difference);
    access.number = last;
    read->push_back(access);
  }
  return FindNextBurst(numbers);
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
