#include "preload/machine_facts.h"

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <system_error>

namespace hbbp::preload {
namespace {

constexpr std::string_view kVersion = "1";

constexpr uint32_t CpuidLeaf::*kRegisters[] = {&CpuidLeaf::eax, &CpuidLeaf::ebx, &CpuidLeaf::ecx,
                                               &CpuidLeaf::edx};

void Append(auto number, std::string* text) {
  char digits[64];
  const std::to_chars_result end = std::to_chars(digits, std::end(digits), number);
  *text += ' ';
  text->append(digits, end.ptr);
}

// Words takes numbers from a text, each after a space. After a failure it takes no more.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  template <typename Number>
  void Take(Number* number) {
    if (!ok_ || text_.empty() || text_.front() != ' ') {
      ok_ = false;
      return;
    }
    const char* const begin = text_.data() + 1;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), *number);
    ok_ = error == std::errc();
    if (ok_) text_.remove_prefix(static_cast<size_t>(end - text_.data()));
  }

  bool ok() const { return ok_; }
  bool AreTaken() const { return ok_ && text_.empty(); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

// Quantities are written as their bits: what reads fractions brings the mathematics library along.
void Take(Words* words, ProcessorTiming* timing) {
  for (const auto quantity : kTimingQuantities) {
    uint64_t bits = 0;
    words->Take(&bits);
    timing->*quantity = std::bit_cast<double>(bits);
  }
  unsigned may_read_ticks = 0;
  words->Take(&may_read_ticks);
  timing->may_read_ticks = may_read_ticks != 0;
  for (const auto ticks : kTimingTicks) words->Take(&(timing->accesses.*ticks));
}

bool IsSensible(const ProcessorTiming& timing) {
  constexpr double kMaxQuantity = 1e6;
  for (const auto quantity : kTimingQuantities) {
    if (!(timing.*quantity >= 0 && timing.*quantity <= kMaxQuantity)) return false;
  }
  return timing.ns_per_cycle > 0 && timing.ns_per_tick > 0 && timing.instructions_per_cycle > 0;
}

}  // namespace

std::string ToText(const MachineFacts& facts) {
  std::string text(kVersion);
  for (const CpuidLeaf& leaf : facts.cpuid.leaves) {
    for (const auto part : kRegisters) Append(leaf.*part, &text);
  }
  if (!facts.timing) return text;
  for (const auto quantity : kTimingQuantities) {
    Append(std::bit_cast<uint64_t>(facts.timing.value().*quantity), &text);
  }
  Append(facts.timing->may_read_ticks ? 1u : 0u, &text);
  for (const auto ticks : kTimingTicks) Append(facts.timing->accesses.*ticks, &text);
  return text;
}

std::optional<MachineFacts> ReadMachineFacts(std::string_view text) {
  if (!text.starts_with(kVersion)) return std::nullopt;
  Words words(text.substr(kVersion.size()));
  MachineFacts facts;
  for (CpuidLeaf& leaf : facts.cpuid.leaves) {
    for (const auto part : kRegisters) words.Take(&(leaf.*part));
  }
  if (!words.ok()) return std::nullopt;
  if (words.AreTaken()) return facts;
  Take(&words, &facts.timing.emplace());
  if (!words.AreTaken() || !IsSensible(*facts.timing)) return std::nullopt;
  return facts;
}

}  // namespace hbbp::preload
