#include "mix/pivot_key.h"

#include <cinttypes>
#include <cstdio>
#include <tuple>

namespace hbbp {

bool IsBefore(const PivotLabel& a, const PivotLabel& b) {
  const bool a_is_text = a.kind == LabelKind::kText;
  const bool b_is_text = b.kind == LabelKind::kText;
  if (a_is_text != b_is_text) return b_is_text;
  if (a_is_text) return std::tie(a.text, a.index) < std::tie(b.text, b.index);
  return std::tie(a.number, a.index) < std::tie(b.number, b.index);
}

PivotLabel TextLabel(std::string text, uint32_t index) {
  PivotLabel label;
  label.text = std::move(text);
  label.index = index;
  return label;
}

PivotLabel NumberLabel(uint64_t number, uint32_t index) {
  PivotLabel label;
  label.kind = LabelKind::kNumber;
  label.text = std::to_string(number);
  label.number = number;
  label.index = index;
  return label;
}

PivotLabel AddressLabel(uint64_t address, uint32_t index) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, address);
  PivotLabel label;
  label.kind = LabelKind::kAddress;
  label.text = text;
  label.number = address;
  label.index = index;
  return label;
}

PivotLabel NoCodeLabel() { return TextLabel("no-code"); }

}  // namespace hbbp
