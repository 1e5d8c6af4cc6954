#include "truth/sde_mix_modules.h"

#include <algorithm>

#include "format.h"
#include "isa/control_flow.h"

namespace hbbp::tools {
namespace {

constexpr char kUnknownModule[] = "???";
// Minimum share of the instructions that blocks must contain to be the truth of a program.
constexpr double kMinShare = 0.99;

const MixImage* ImageAt(const Mix& mix, uint64_t address) {
  const auto after =
      std::upper_bound(mix.images.begin(), mix.images.end(), address,
                       [](uint64_t value, const MixImage& image) { return value < image.low; });
  if (after == mix.images.begin() || address > std::prev(after)->high) return nullptr;
  return &*std::prev(after);
}

// Returns addresses of the instructions of a block that the file does not list.
std::vector<uint64_t> Decode(const ElfImage& image, uint64_t address, uint64_t count) {
  std::vector<uint64_t> instructions;
  while (instructions.size() < count) {
    ControlFlow flow;
    const auto code = image.CodeAt({address}, kMaxInstructionLength);
    if (!DecodeControlFlow(code, address, &flow)) break;
    instructions.push_back(address);
    address += flow.length;
  }
  return instructions;
}

void AddBlock(const MixBlock& block, const MixImage& mix_image, const ElfImage* image,
              ReferenceBuilder* counts) {
  const auto executions = static_cast<double>(block.executions);
  uint64_t first = 0;  // the module's address at the lowest run-time address
  if (image != nullptr) first = image->AddressOfOffset({0}).value_or(ModuleAddress{0}).value;
  const uint64_t start = block.address - mix_image.low + first;
  uint64_t added = 0;
  for (const uint64_t instruction : block.instructions) {
    counts->Add(mix_image.path, instruction - mix_image.low + first, executions);
    ++added;
  }
  if (added == 0 && image != nullptr) {
    for (const uint64_t instruction : Decode(*image, start, block.instruction_count)) {
      counts->Add(mix_image.path, instruction, executions);
      ++added;
    }
  }
  // The code lacks these, which the comparison will report.
  if (added < block.instruction_count) {
    counts->Add(mix_image.path, start,
                executions * static_cast<double>(block.instruction_count - added));
  }
}

}  // namespace

StatusOr<std::vector<ReferenceModule>> CountsFromSdeMix(const Mix& mix, const std::string& name,
                                                        ModuleImages* images) {
  const auto in_blocks = static_cast<double>(mix.block_instructions);
  const auto all = static_cast<double>(mix.total_instructions);
  if (in_blocks < kMinShare * all) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: only %s of its instructions are in blocks, the hottest ones; run SDE "
                      "again with -top_blocks 1000000",
                      name.c_str(), FormatShare(in_blocks / all).c_str());
  }
  ReferenceBuilder counts;
  for (const MixBlock& block : mix.blocks) {
    const MixImage* const mix_image = ImageAt(mix, block.address);
    if (mix_image == nullptr) {
      counts.Add(
          kUnknownModule, block.address,
          static_cast<double>(block.executions) * static_cast<double>(block.instruction_count));
      continue;
    }
    const StatusOr<const ElfImage*> image = images->Open(mix_image->path);
    if (!image.ok() && image.status().code() == StatusCode::kMismatch) return image.status();
    AddBlock(block, *mix_image, image.ok() ? *image : nullptr, &counts);
  }
  return counts.Take();
}

}  // namespace hbbp::tools
