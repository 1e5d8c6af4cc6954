// Measures nanoseconds per instruction over the code of libc: items_per_second counts instructions,
// bytes_per_second their code.
#include <benchmark/benchmark.h>
#include <elf.h>

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/files.h"
#include "isa/control_flow.h"
#include "isa/decoder.h"
#include "isa/instruction_properties.h"
#include "isa/taxonomy.h"

namespace hbbp {
namespace {

// Returns the largest executable section, or nothing if libc is somewhere else.
const std::vector<uint8_t>& LibcText() {
  static const std::vector<uint8_t> text = [] {
    std::vector<uint8_t> largest;
    auto file = MappedFile::Open("/lib/x86_64-linux-gnu/libc.so.6");
    if (!file.ok()) return largest;
    const std::span<const uint8_t> bytes = file->bytes();
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    for (int i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      std::memcpy(&section, bytes.data() + header.e_shoff + i * sizeof(section), sizeof(section));
      if (!(section.sh_flags & SHF_EXECINSTR) || section.sh_size < largest.size()) continue;
      const auto code = bytes.subspan(section.sh_offset, section.sh_size);
      largest.assign(code.begin(), code.end());
    }
    return largest;
  }();
  return text;
}

// `decode(code, address)` returns the length, or 0 if there is no instruction.
template <typename Decode>
void Sweep(benchmark::State& state, const Decode& decode) {
  const std::span<const uint8_t> text = LibcText();
  if (text.empty()) {
    state.SkipWithError("no libc.so.6 at its usual path");
    return;
  }
  int64_t instructions = 0;
  for (auto _ : state) {
    for (size_t offset = 0; offset < text.size(); ++instructions) {
      const int length = decode(text.subspan(offset), offset);
      benchmark::DoNotOptimize(length);
      offset += length > 0 ? static_cast<size_t>(length) : 1;
    }
  }
  state.SetItemsProcessed(instructions);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}

void BM_DecodeControlFlow(benchmark::State& state) {
  Sweep(state, [](std::span<const uint8_t> code, uint64_t address) {
    ControlFlow flow;
    return DecodeControlFlow(code, address, &flow) ? int{flow.length} : 0;
  });
}
BENCHMARK(BM_DecodeControlFlow)->Unit(benchmark::kMillisecond);

void BM_DecodeInstruction(benchmark::State& state) {
  Sweep(state, [](std::span<const uint8_t> code, uint64_t address) {
    Instruction instruction;
    return DecodeInstruction(code, address, &instruction) ? int{instruction.length} : 0;
  });
}
BENCHMARK(BM_DecodeInstruction)->Unit(benchmark::kMillisecond);

void BM_DescribeInstruction(benchmark::State& state) {
  Sweep(state, [](std::span<const uint8_t> code, uint64_t) {
    InstructionProperties properties;
    const bool is_described = DescribeInstruction(code, &properties);
    benchmark::DoNotOptimize(properties);
    return is_described ? int{properties.length} : 0;
  });
}
BENCHMARK(BM_DescribeInstruction)->Unit(benchmark::kMillisecond);

// Matches every instruction of libc, which was decoded before, with the 17 groups of the default
// taxonomy.
void BM_GroupOf(benchmark::State& state) {
  std::vector<InstructionProperties> described;
  const std::span<const uint8_t> text = LibcText();
  for (size_t offset = 0; offset < text.size();) {
    InstructionProperties properties;
    const bool is_described = DescribeInstruction(text.subspan(offset), &properties);
    if (is_described) described.push_back(properties);
    offset += is_described ? properties.length : 1;
  }
  const auto taxonomies = ParseTaxonomies(DefaultTaxonomyText());
  if (described.empty() || !taxonomies.ok()) {
    state.SkipWithError("no libc.so.6 at its usual path");
    return;
  }
  for (auto _ : state) {
    for (const InstructionProperties& properties : described) {
      benchmark::DoNotOptimize(taxonomies->front().GroupOf(properties));
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * described.size()));
}
BENCHMARK(BM_GroupOf)->Unit(benchmark::kMillisecond);

void BM_ParseDefaultTaxonomy(benchmark::State& state) {
  for (auto _ : state) {
    auto taxonomies = ParseTaxonomies(DefaultTaxonomyText());
    benchmark::DoNotOptimize(taxonomies);
  }
}
BENCHMARK(BM_ParseDefaultTaxonomy)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace hbbp
