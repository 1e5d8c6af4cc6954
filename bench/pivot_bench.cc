// Measures a pivot over ten million instructions that ran in threads of a large program.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mix/pivot.h"
#include "mix/pivot_table.h"

namespace hbbp {
namespace {

constexpr uint32_t kInstructions = 10'000'000;
constexpr uint32_t kBlockLength = 8;
constexpr uint32_t kFunctionBlocks = 20;
constexpr uint32_t kKinds = 1000;
constexpr uint32_t kMnemonics = 200;

// Each thread runs all blocks; blocks times threads times instructions make ten million.
PivotInput MakeInput(uint32_t threads, bool with_replicates) {
  const uint32_t blocks = kInstructions / threads / kBlockLength;
  PivotInput input;
  InstructionTable code;
  for (uint32_t i = 0; i < kKinds; ++i) {
    code.kinds.emplace_back().mnemonic = static_cast<Mnemonic>(1 + i * kMnemonics / kKinds);
  }
  uint64_t random = 1;
  for (uint32_t i = 0; i < blocks; ++i) {
    PivotBlock block;
    block.module = 0;
    block.function = i / kFunctionBlocks;
    block.block = i;
    block.source = SourceKind::kSwbt;
    block.start = {uint64_t{i} * 4 * kBlockLength};
    block.bytes = 4 * kBlockLength;
    block.instruction_count = kBlockLength;
    block.first_instruction = code.instructions.size();
    for (uint32_t j = 0; j < kBlockLength; ++j) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      // A few kinds of instructions make up most of the code, as in real programs.
      const double fraction = static_cast<double>(random >> 11) * 0x1p-53;
      code.instructions.push_back({static_cast<uint32_t>(kKinds * std::pow(fraction, 8)), 4 * j});
    }
    for (uint32_t thread = 0; thread < threads; ++thread) {
      PivotObservation observation{i, thread, {1000, 100}, kNoIndex};
      if (with_replicates) {
        observation.replicates = static_cast<uint32_t>(input.replicates.size());
        input.replicates.emplace_back().sums[random >> 60] = 1000;
      }
      input.observations.push_back(observation);
    }
    input.blocks.push_back(block);
  }
  input.code = std::make_shared<const InstructionTable>(std::move(code));
  return input;
}

enum class Field { kThread, kFunction, kMnemonic, kAddress };

class FieldKey : public PivotKey {
 public:
  FieldKey(Field field, KeyLevel level) : PivotKey("field", level), field_(field) {}
  uint32_t ValueOf(const PivotContext& context) override {
    switch (field_) {
      case Field::kThread:
        return context.observation->thread;
      case Field::kFunction:
        return context.block->function;
      case Field::kMnemonic:
        return static_cast<uint32_t>(context.kind->mnemonic);
      case Field::kAddress:
        return context.block->block * kBlockLength + context.instruction->offset / 4;
    }
    return 0;
  }
  PivotLabel LabelOf(uint32_t value) const override { return NumberLabel(value); }

 private:
  const Field field_;
};

FieldKey thread_key(Field::kThread, KeyLevel::kObservation);
FieldKey function_key(Field::kFunction, KeyLevel::kBlock);
FieldKey mnemonic_key(Field::kMnemonic, KeyLevel::kKind);
FieldKey address_key(Field::kAddress, KeyLevel::kInstruction);

void BM_Pivot(benchmark::State& state, std::vector<PivotKey*> row_keys,
              std::vector<PivotKey*> column_keys, uint32_t threads, bool with_replicates) {
  const PivotInput input = MakeInput(threads, with_replicates);
  size_t cells = 0;
  for (auto _ : state) {
    PivotAxis rows(row_keys), columns(column_keys);
    Pivot pivot = MakePivot(input, {PivotMeasure::kInstructions}, nullptr, &rows, &columns);
    cells = column_keys.empty() ? rows.size() : pivot.cells.size();
    const PivotTable table(std::move(pivot), rows, columns, {}, 20);
    benchmark::DoNotOptimize(table.row_count());
  }
  state.counters["cells"] = static_cast<double>(cells);
  state.SetItemsProcessed(state.iterations() * int64_t{kInstructions});
}
BENCHMARK_CAPTURE(BM_Pivot, mnemonic, {&mnemonic_key}, {}, 1, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Pivot, mnemonic_by_streams, {&mnemonic_key}, {}, 1, true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Pivot, function_and_mnemonic, {&function_key, &mnemonic_key}, {}, 1, false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Pivot, mnemonic_by_thread, {&mnemonic_key}, {&thread_key}, 32, true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Pivot, function_by_thread, {&function_key}, {&thread_key}, 32, true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Pivot, address, {&address_key}, {}, 10, false)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hbbp
