// Makes input of pivots without a program, and keys for it.
#ifndef HBBP_TESTS_UNIT_MIX_SYNTHETIC_PIVOT_H_
#define HBBP_TESTS_UNIT_MIX_SYNTHETIC_PIVOT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mix/pivot_input.h"
#include "mix/pivot_key.h"

namespace hbbp {

// A key whose values a function computes.
class TestKey : public PivotKey {
 public:
  using Value = std::function<uint32_t(const PivotContext&)>;
  TestKey(KeyLevel level, Value value) : PivotKey("test", level), value_(std::move(value)) {}

  uint32_t ValueOf(const PivotContext& context) override {
    ++asked;
    return value_(context);
  }
  PivotLabel LabelOf(uint32_t value) const override {
    if (texts.empty()) return NumberLabel(value);
    return TextLabel(texts[value], value);
  }

  std::vector<std::string> texts;  // not empty: labels are texts
  size_t asked = 0;

 private:
  const Value value_;
};

inline TestKey ThreadTestKey() {
  return {KeyLevel::kObservation,
          [](const PivotContext& context) { return context.observation->thread; }};
}
inline TestKey ModuleTestKey() {
  return {KeyLevel::kBlock, [](const PivotContext& context) { return context.block->module; }};
}
inline TestKey FunctionTestKey() {
  return {KeyLevel::kBlock, [](const PivotContext& context) { return context.block->function; }};
}
inline TestKey MnemonicTestKey() {
  return {KeyLevel::kKind, [](const PivotContext& context) {
            return static_cast<uint32_t>(context.kind->mnemonic);
          }};
}
inline TestKey OffsetTestKey() {
  return {KeyLevel::kInstruction,
          [](const PivotContext& context) { return context.instruction->offset; }};
}

// Adds a block of instructions of these kinds, four bytes each. Kind k has mnemonic k + 1.
inline void AddTestBlock(uint32_t module, uint32_t function, const std::vector<uint32_t>& kinds,
                         PivotInput* input) {
  PivotBlock block;
  block.module = module;
  block.function = function;
  block.block = static_cast<uint32_t>(input->blocks.size());
  block.source = SourceKind::kEbs;
  block.start = {0x1000 + 0x100 * input->blocks.size()};
  block.bytes = static_cast<uint32_t>(4 * kinds.size());
  block.instruction_count = static_cast<uint32_t>(kinds.size());
  InstructionTable code = input->code == nullptr ? InstructionTable() : *input->code;
  block.first_instruction = code.instructions.size();
  for (size_t i = 0; i < kinds.size(); ++i) {
    while (code.kinds.size() <= kinds[i]) {
      const auto mnemonic = static_cast<Mnemonic>(code.kinds.size() + 1);
      code.kinds.emplace_back().mnemonic = mnemonic;
    }
    code.instructions.push_back({kinds[i], static_cast<uint32_t>(4 * i)});
  }
  input->code = std::make_shared<const InstructionTable>(std::move(code));
  input->blocks.push_back(block);
}

}  // namespace hbbp

#endif  // HBBP_TESTS_UNIT_MIX_SYNTHETIC_PIVOT_H_
