#include "isa/operand_kinds.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace hbbp {
namespace {

constexpr std::string_view kOther = "other";

constexpr std::string_view kNames[] = {
    kOther,
    "none",
    "imm",
    "mem",
    "reg",
    "rel",
    "st",
    "sys",
    "tile",
    "imm-imm",
    "imm-reg",
    "mask-mask",
    "mask-mem",
    "mask-reg",
    "mask-rel",
    "mask-vec",
    "mem-imm",
    "mem-mask",
    "mem-reg",
    "mem-sys",
    "mem-tile",
    "mem-vec",
    "reg-imm",
    "reg-mask",
    "reg-mem",
    "reg-reg",
    "reg-sys",
    "reg-vec",
    "st-st",
    "sys-mem",
    "sys-reg",
    "sys-sys",
    "tile-mem",
    "vec-imm",
    "vec-mask",
    "vec-mem",
    "vec-reg",
    "vec-vec",
    "mask-mask-imm",
    "mask-mask-mask",
    "mask-mem-imm",
    "mask-reg-imm",
    "mask-vec-imm",
    "mask-vec-mem",
    "mask-vec-vec",
    "mem-reg-imm",
    "mem-reg-reg",
    "mem-vec-imm",
    "mem-vec-vec",
    "reg-mask-mask",
    "reg-mem-imm",
    "reg-mem-reg",
    "reg-reg-imm",
    "reg-reg-mem",
    "reg-reg-reg",
    "reg-vec-imm",
    "tile-tile-tile",
    "vec-imm-imm",
    "vec-mem-imm",
    "vec-mem-vec",
    "vec-reg-imm",
    "vec-vec-imm",
    "vec-vec-mem",
    "vec-vec-reg",
    "vec-vec-vec",
    "mask-vec-mem-imm",
    "mask-vec-vec-imm",
    "vec-vec-imm-imm",
    "vec-vec-mem-imm",
    "vec-vec-mem-vec",
    "vec-vec-reg-imm",
    "vec-vec-vec-imm",
    "vec-vec-vec-mem",
    "vec-vec-vec-vec",
    "vec-vec-mem-vec-imm",
    "vec-vec-vec-mem-imm",
    "vec-vec-vec-vec-imm",
};

constexpr std::string_view kKindNames[] = {"none", "reg", "vec", "st",  "mask",
                                           "tile", "sys", "mem", "imm", "rel"};

// A Code has four bits per operand, the last operand lowest, and is 0 without operands.
using Code = uint32_t;

constexpr Code Append(Code code, size_t kind) { return code << 4 | static_cast<Code>(kind); }

consteval Code CodeOf(std::string_view name) {
  Code code = 0;
  while (!name.empty()) {
    const size_t end = std::min(name.find('-'), name.size());
    const auto* const kind = std::ranges::find(kKindNames, name.substr(0, end));
    code = Append(code, static_cast<size_t>(kind - std::begin(kKindNames)));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return code;
}

struct Entry {
  Code code = 0;
  uint32_t combination = 0;
};

consteval auto MakeEntries() {
  std::array<Entry, std::size(kNames) - 1> entries;
  for (size_t i = 0; i < entries.size(); ++i) {
    entries[i] = {CodeOf(kNames[i + 1]), static_cast<uint32_t>(i + 1)};
  }
  std::ranges::sort(entries, {}, &Entry::code);
  return entries;
}

constexpr auto kEntries = MakeEntries();

}  // namespace

constinit const uint32_t kOperandKindsCount = std::size(kNames);

std::string_view OperandKindsName(uint32_t combination) {
  return combination < kOperandKindsCount ? kNames[combination] : kOther;
}

uint32_t OperandKindsOf(const InstructionProperties& properties) {
  Code code = 0;
  for (int i = 0; i < properties.operands; ++i) {
    code = Append(code, static_cast<size_t>(properties.operand_kinds[static_cast<size_t>(i)]));
  }
  const auto* const found = std::ranges::lower_bound(kEntries, code, {}, &Entry::code);
  return found != kEntries.end() && found->code == code ? found->combination : 0;
}

}  // namespace hbbp
