#include "mix/mix_ratios.h"

#include <algorithm>
#include <array>
#include <memory>

#include "mix/pivot.h"
#include "mix/query_keys.h"
#include "mix/where_filter.h"

namespace hbbp {
namespace {

class KindKey : public PivotKey {
 public:
  KindKey() : PivotKey("kind", KeyLevel::kKind) {}
  uint32_t ValueOf(const PivotPlace& place) override { return place.instruction->kind; }
  PivotLabel LabelOf(uint32_t value) const override { return NumberLabel(value); }
};

constexpr char kFloat[] = "floating-point";
constexpr char kMemory[] = "memory";
constexpr char kBranches[] = "branches";
constexpr char kVectors[] = "vectors";
constexpr char kOperations[] = "operations";
constexpr char kShare[] = "share";
constexpr char kInstructions[] = "instructions";

constexpr std::array kWidths = {64, 128, 256, 512};

// Executions of instructions with some property.
struct Counts {
  double all = 0;
  double memory = 0;
  double branches = 0;
  double conditional = 0;
  double calls = 0;
  double scalar = 0;
  double packed = 0;
  std::array<double, kWidths.size()> packed_by_width{};
  // By ElementType.
  std::array<double, static_cast<size_t>(ElementType::kBit) + 1> flops{};
  double all_flops = 0;
  double bytes_read = 0;
  double bytes_written = 0;
};

bool IsBranch(InstructionCategory category) {
  switch (category) {
    case InstructionCategory::kConditionalBranch:
    case InstructionCategory::kJump:
    case InstructionCategory::kIndirectJump:
    case InstructionCategory::kCall:
    case InstructionCategory::kIndirectCall:
    case InstructionCategory::kReturn:
      return true;
    default:
      return false;
  }
}

void AddKind(const InstructionProperties& kind, double number, Counts* counts) {
  const InstructionCategory category = kind.category;
  counts->all += number;
  if (kind.memory != MemoryAccess::kNone) counts->memory += number;
  if (IsBranch(category)) counts->branches += number;
  if (category == InstructionCategory::kConditionalBranch) counts->conditional += number;
  if (category == InstructionCategory::kCall || category == InstructionCategory::kIndirectCall) {
    counts->calls += number;
  }
  if (kind.packing == Packing::kScalar) counts->scalar += number;
  if (kind.packing == Packing::kPacked) {
    counts->packed += number;
    for (size_t i = 0; i < kWidths.size(); ++i) {
      if (kind.vector_bits == kWidths[i]) counts->packed_by_width[i] += number;
    }
  }
  counts->flops[static_cast<size_t>(kind.element_type)] += number * kind.flops;
  counts->all_flops += number * kind.flops;
  counts->bytes_read += number * kind.read_bytes;
  counts->bytes_written += number * kind.written_bytes;
}

std::optional<double> Quotient(double part, double whole) {
  if (!(whole > 0)) return std::nullopt;
  return part / whole;
}

// Streams see the branches of what they count, and of nothing else.
bool OnlyStreamsCount(const ResolvedProfile& profile) {
  const std::vector<SourceRecord>& sources = profile.data().sources;
  for (uint32_t i = 0; i < sources.size(); ++i) {
    if (!HasStreams(sources[i].kind) && profile.SamplesOfSource(i) > 0) return false;
  }
  return std::ranges::all_of(profile.blocks(), [](const BlockRecord& block) {
    return HasStreams(block.source) || block.estimate.count == 0;
  });
}

std::optional<double> TakenBranches(const ResolvedProfile& profile) {
  if (!OnlyStreamsCount(profile)) return std::nullopt;
  double taken = 0;
  for (const TakenBranchRecord& branch : profile.branches()) taken += branch.count;
  if (taken > 0) return taken;
  return std::nullopt;
}

std::vector<MixRatio> RatiosOf(const Counts& counts, std::optional<double> taken_branches) {
  const auto share = [&](double part) { return Quotient(part, counts.all); };
  const auto flops = [&](ElementType type) { return counts.flops[static_cast<size_t>(type)]; };
  const double bytes = counts.bytes_read + counts.bytes_written;
  return {
      {"instructions", "instructions", kInstructions, counts.all},
      {kFloat, "flops", kOperations, counts.all_flops},
      {kFloat, "flops-half", kOperations, flops(ElementType::kHalf)},
      {kFloat, "flops-bfloat16", kOperations, flops(ElementType::kBfloat16)},
      {kFloat, "flops-single", kOperations, flops(ElementType::kSingle)},
      {kFloat, "flops-double", kOperations, flops(ElementType::kDouble)},
      {kFloat, "flops-extended", kOperations, flops(ElementType::kExtended)},
      {kFloat, "flops-by-instruction", "operations/instruction", share(counts.all_flops)},
      {kMemory, "bytes-read", "bytes", counts.bytes_read},
      {kMemory, "bytes-written", "bytes", counts.bytes_written},
      {kMemory, "bytes-by-instruction", "bytes/instruction", share(bytes)},
      {kMemory, "memory-instructions", kShare, share(counts.memory)},
      {kMemory, "arithmetic-intensity", "operations/byte", Quotient(counts.all_flops, bytes)},
      {kBranches, "branches", kShare, share(counts.branches)},
      {kBranches, "conditional-branches", kShare, share(counts.conditional)},
      {kBranches, "calls", kShare, share(counts.calls)},
      {kBranches, "instructions-by-branch", kInstructions, Quotient(counts.all, counts.branches)},
      {kBranches, "instructions-by-taken-branch", kInstructions,
       taken_branches ? Quotient(counts.all, *taken_branches) : std::nullopt},
      {kVectors, "scalar", kShare, share(counts.scalar)},
      {kVectors, "packed", kShare, share(counts.packed)},
      {kVectors, "packed-64-bit", kShare, share(counts.packed_by_width[0])},
      {kVectors, "packed-128-bit", kShare, share(counts.packed_by_width[1])},
      {kVectors, "packed-256-bit", kShare, share(counts.packed_by_width[2])},
      {kVectors, "packed-512-bit", kShare, share(counts.packed_by_width[3])},
      {kVectors, "packed-of-vectors", kShare,
       Quotient(counts.packed, counts.packed + counts.scalar)},
  };
}

}  // namespace

StatusOr<std::vector<MixRatio>> ComputeMixRatios(const ResolvedProfile& profile,
                                                 const std::string& where,
                                                 const std::vector<Taxonomy>& taxonomies) {
  QueryKeys keys(profile, taxonomies);
  std::unique_ptr<PivotFilter> filter;
  if (!where.empty()) {
    HBBP_ASSIGN_OR_RETURN(filter, ParseWhere(where, &keys));
  }
  PivotDetail detail;
  detail.instructions = true;
  detail.threads = keys.Use("thread") || keys.Use("process");
  detail.slices = keys.Use("slice");
  const PivotInput input = MakePivotInput(profile, detail);
  KindKey kind_key;
  PivotAxis kinds({&kind_key});
  PivotAxis none({});
  const Pivot pivot = MakePivot(input, {PivotMeasure::kInstructions}, filter.get(), &kinds, &none);
  Counts counts;
  for (uint32_t line = 0; line < kinds.size(); ++line) {
    uint32_t kind[1];
    kinds.ValuesOf(line, kind);
    AddKind(input.kinds[kind[0]], pivot.rows.ValueAt(line, 0), &counts);
  }
  return RatiosOf(counts, where.empty() ? TakenBranches(profile) : std::nullopt);
}

}  // namespace hbbp
