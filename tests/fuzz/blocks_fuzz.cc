// Runs BlockMap over random code, functions and evidence. It must keep its promises about blocks,
// and find the same ones whatever the order of calls and evidence.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"
#include "blocks/block_map.h"
#include "support/fake_module_code.h"

namespace hbbp {
namespace {

constexpr uint64_t kBase = 0x400000;
constexpr size_t kGiantSize = 0x120000;
constexpr uint64_t kWindowSize = 0x10000;
// An input with a giant function takes as long as a thousand others, and a fuzzer that keeps one
// mutates little else. So only those of the corpus are run.
constexpr uint64_t kGiant = 0x6e6f697463697566;
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
constexpr bool kHasGiants = false;
#else
constexpr bool kHasGiants = true;
#endif

void Check(bool condition) {
  if (!condition) std::abort();
}

struct Evidence {
  ModuleAddress address;
  bool is_leader = false;
};

struct Input {
  FakeModuleCode module;
  bool is_giant = false;  // then the functions are windows
  std::vector<AddressRange> functions;
  std::vector<Evidence> evidence;
};

// The input begins with the mark of a giant function or any other byte, the number of functions and
// the number of pieces of evidence. Their offsets follow, then the code, which is also the data
// that jump tables are read from.
bool Parse(std::span<const uint8_t> bytes, Input* input) {
  ByteCursor cursor(bytes);
  uint64_t giant;
  uint8_t function_count;
  uint8_t evidence_count;
  if (!cursor.Read(&giant) || !cursor.Read(&function_count) || !cursor.Read(&evidence_count)) {
    return false;
  }
  std::vector<uint16_t> edges(function_count % 16);
  for (uint16_t& edge : edges) {
    if (!cursor.Read(&edge)) return false;
  }
  std::vector<uint16_t> offsets(evidence_count % 32);
  for (uint16_t& offset : offsets) {
    if (!cursor.Read(&offset)) return false;
  }
  std::vector<uint8_t> code(bytes.begin() + static_cast<ptrdiff_t>(cursor.position()), bytes.end());
  if (code.empty()) return false;
  const size_t period = code.size();
  input->is_giant = kHasGiants && giant == kGiant;
  if (input->is_giant) {
    for (size_t i = 0; code.size() < kGiantSize; ++i) code.push_back(code[i % period]);
    edges.clear();
  }
  for (const uint16_t offset : offsets) {
    const uint64_t position = input->is_giant ? offset * uint64_t{16} : offset % (code.size() + 2);
    input->evidence.push_back({{kBase + position}, offset % 3 == 0});
  }
  for (uint16_t& edge : edges) edge = static_cast<uint16_t>(edge % (code.size() + 1));
  std::sort(edges.begin(), edges.end());
  for (size_t i = 0; i + 1 < edges.size(); ++i) {
    if (edges[i] == edges[i + 1]) continue;
    input->functions.push_back({{kBase + edges[i]}, {kBase + edges[i + 1]}});
    input->module.AddFunction(kBase + edges[i], kBase + edges[i + 1]);
  }
  if (input->is_giant) {
    // Two windows are enough for a disagreement about the edge between them.
    input->functions = {{{kBase}, {kBase + kWindowSize}},
                        {{kBase + kWindowSize}, {kBase + 2 * kWindowSize}}};
  } else if (input->functions.empty()) {
    input->functions.push_back({{kBase}, {kBase + code.size()}});
  }
  input->module.AddCode(kBase, std::move(code));
  return true;
}

void Add(BlockMap* map, const Evidence& evidence) {
  if (evidence.is_leader) {
    map->AddLeaderEvidence(evidence.address);
  } else {
    map->AddInstructionEvidence(evidence.address);
  }
}

std::vector<Block> AllBlocks(BlockMap* map, const std::vector<AddressRange>& functions) {
  std::vector<Block> all;
  for (const AddressRange& function : functions) {
    const auto blocks = map->FunctionBlocks(function.start);
    all.insert(all.end(), blocks.begin(), blocks.end());
  }
  return all;
}

void CheckBlocks(BlockMap* map, const Input& input) {
  uint64_t count = 0;
  uint64_t instructions = 0;
  for (const AddressRange& function : input.functions) {
    ModuleAddress expected = function.start;
    for (const Block& block : map->FunctionBlocks(function.start)) {
      Check(expected <= block.start);
      Check(block.start < block.end);
      Check(block.end <= function.end + (input.is_giant ? kMaxInstructionLength : 0));
      Check(block.instruction_count > 0);
      Check(block.instruction_count <= block.end - block.start);
      Check(map->Find(block.start) == block);
      Check(map->Find(block.end - 1) == block || block.end > function.end);
      expected = block.end;
      ++count;
      instructions += block.instruction_count;
    }
    const auto first = map->Find(function.start);
    Check(!first.has_value() || first->start == function.start || input.is_giant);
  }
  const uint64_t parts = map->statistics().functions;
  if (parts == input.functions.size()) {
    Check(map->statistics().blocks == count);
    Check(map->statistics().instructions == instructions);
  }
  for (const Evidence& evidence : input.evidence) {
    if (!evidence.is_leader) continue;
    const auto function = input.module.FunctionAround(evidence.address);
    if (!function.has_value()) continue;
    ControlFlow flow;
    const auto code = input.module.CodeAt(evidence.address, function->end - evidence.address);
    if (!DecodeControlFlow(code, evidence.address.value, &flow)) continue;
    const auto block = map->Find(evidence.address);
    Check(block.has_value() && block->start == evidence.address);
  }
}

}  // namespace
}  // namespace hbbp

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hbbp;
  Input input;
  if (!Parse({data, size}, &input)) return 0;

  BlockMap evidence_first(&input.module);
  for (const Evidence& evidence : input.evidence) Add(&evidence_first, evidence);
  const auto blocks = AllBlocks(&evidence_first, input.functions);

  BlockMap mixed(&input.module);
  for (size_t i = input.evidence.size(); i-- > 0;) {
    mixed.Find(input.evidence[i].address);
    Add(&mixed, input.evidence[i]);
    if (i % 4 == 0) mixed.Find(input.functions[i % input.functions.size()].start);
  }
  auto backward = input.functions;
  std::reverse(backward.begin(), backward.end());
  AllBlocks(&mixed, backward);
  Check(AllBlocks(&mixed, input.functions) == blocks);

  CheckBlocks(&evidence_first, input);
  CheckBlocks(&mixed, input);
  return 0;
}
