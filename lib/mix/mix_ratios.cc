// ComputeMixRatios prepares a query without rows (filter, needs, input), RatioSummer adds the
// amounts of each observation's block to CorrelatedSums, one sum for each Count, and ComputeRatios
// forms the ratios of kForms from these. lib/capi calls it.
#include "mix/mix_ratios.h"

#include <algorithm>
#include <array>
#include <memory>

#include "mix/correlated_sums.h"
#include "mix/query_keys.h"
#include "mix/where_filter.h"

namespace hbbp {
namespace {

constexpr char kFloat[] = "floating-point";
constexpr char kMemory[] = "memory";
constexpr char kBranches[] = "branches";
constexpr char kVectors[] = "vectors";
constexpr char kOperations[] = "operations";
constexpr char kShare[] = "share";
constexpr char kInstructions[] = "instructions";

// The amounts that are summed: executions of instructions with some property, and what they add up
// to.
enum class Count : uint8_t {
  kAll,
  kOfMemory,
  kOfBranches,
  kConditionalBranches,
  kCalls,
  kTakenBranches,
  kScalar,
  kPacked,
  kScalarOrPacked,
  kPacked64,
  kPacked128,
  kPacked256,
  kPacked512,
  kFlops,
  kFlopsHalf,
  kFlopsBfloat16,
  kFlopsSingle,
  kFlopsDouble,
  kFlopsExtended,
  kBytesRead,
  kBytesWritten,
  kBytes,
  kNumber,
};

class Amounts {
 public:
  double& operator[](Count count) { return amounts_[static_cast<size_t>(count)]; }
  Amounts& operator+=(const Amounts& more) {
    for (size_t i = 0; i < amounts_.size(); ++i) amounts_[i] += more.amounts_[i];
    return *this;
  }
  std::span<const double> all() const { return amounts_; }

 private:
  std::array<double, static_cast<size_t>(Count::kNumber)> amounts_{};
};

struct RatioForm {
  const char* group;
  const char* name;
  const char* unit;
  Count part;
  std::optional<Count> whole;  // empty: the ratio is the part itself
};

constexpr RatioForm kForms[] = {
    {"instructions", "instructions", kInstructions, Count::kAll, {}},
    {kFloat, "flops", kOperations, Count::kFlops, {}},
    {kFloat, "flops-half", kOperations, Count::kFlopsHalf, {}},
    {kFloat, "flops-bfloat16", kOperations, Count::kFlopsBfloat16, {}},
    {kFloat, "flops-single", kOperations, Count::kFlopsSingle, {}},
    {kFloat, "flops-double", kOperations, Count::kFlopsDouble, {}},
    {kFloat, "flops-extended", kOperations, Count::kFlopsExtended, {}},
    {kFloat, "flops-by-instruction", "operations/instruction", Count::kFlops, Count::kAll},
    {kMemory, "bytes-read", "bytes", Count::kBytesRead, {}},
    {kMemory, "bytes-written", "bytes", Count::kBytesWritten, {}},
    {kMemory, "bytes-by-instruction", "bytes/instruction", Count::kBytes, Count::kAll},
    {kMemory, "memory-instructions", kShare, Count::kOfMemory, Count::kAll},
    {kMemory, "arithmetic-intensity", "operations/byte", Count::kFlops, Count::kBytes},
    {kBranches, "branches", kShare, Count::kOfBranches, Count::kAll},
    {kBranches, "conditional-branches", kShare, Count::kConditionalBranches, Count::kAll},
    {kBranches, "calls", kShare, Count::kCalls, Count::kAll},
    {kBranches, "instructions-by-branch", kInstructions, Count::kAll, Count::kOfBranches},
    {kBranches, "instructions-by-taken-branch", kInstructions, Count::kAll, Count::kTakenBranches},
    {kVectors, "scalar", kShare, Count::kScalar, Count::kAll},
    {kVectors, "packed", kShare, Count::kPacked, Count::kAll},
    {kVectors, "packed-64-bit", kShare, Count::kPacked64, Count::kAll},
    {kVectors, "packed-128-bit", kShare, Count::kPacked128, Count::kAll},
    {kVectors, "packed-256-bit", kShare, Count::kPacked256, Count::kAll},
    {kVectors, "packed-512-bit", kShare, Count::kPacked512, Count::kAll},
    {kVectors, "packed-of-vectors", kShare, Count::kPacked, Count::kScalarOrPacked},
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

std::optional<Count> FlopsOf(ElementType type) {
  switch (type) {
    case ElementType::kHalf:
      return Count::kFlopsHalf;
    case ElementType::kBfloat16:
      return Count::kFlopsBfloat16;
    case ElementType::kSingle:
      return Count::kFlopsSingle;
    case ElementType::kDouble:
      return Count::kFlopsDouble;
    case ElementType::kExtended:
      return Count::kFlopsExtended;
    default:
      return std::nullopt;
  }
}

std::optional<Count> PackedOfWidth(uint16_t bits) {
  switch (bits) {
    case 64:
      return Count::kPacked64;
    case 128:
      return Count::kPacked128;
    case 256:
      return Count::kPacked256;
    case 512:
      return Count::kPacked512;
    default:
      return std::nullopt;
  }
}

// Returns the amounts of one execution.
Amounts AmountsOf(const InstructionProperties& kind) {
  const InstructionCategory category = kind.category;
  Amounts amounts;
  amounts[Count::kAll] = 1;
  amounts[Count::kOfMemory] = kind.memory != MemoryAccess::kNone ? 1 : 0;
  amounts[Count::kOfBranches] = IsBranch(category) ? 1 : 0;
  amounts[Count::kConditionalBranches] =
      category == InstructionCategory::kConditionalBranch ? 1 : 0;
  const bool is_call =
      category == InstructionCategory::kCall || category == InstructionCategory::kIndirectCall;
  amounts[Count::kCalls] = is_call ? 1 : 0;
  amounts[Count::kScalar] = kind.packing == Packing::kScalar ? 1 : 0;
  if (kind.packing == Packing::kPacked) {
    amounts[Count::kPacked] = 1;
    if (const auto width = PackedOfWidth(kind.vector_bits)) amounts[*width] = 1;
  }
  amounts[Count::kScalarOrPacked] = kind.packing != Packing::kNone ? 1 : 0;
  amounts[Count::kFlops] = kind.flops;
  if (const auto flops = FlopsOf(kind.element_type)) amounts[*flops] = kind.flops;
  amounts[Count::kBytesRead] = kind.read_bytes;
  amounts[Count::kBytesWritten] = kind.written_bytes;
  amounts[Count::kBytes] = static_cast<double>(kind.read_bytes) + kind.written_bytes;
  return amounts;
}

// Streams count the branches of what they observe, and no others.
bool OnlyStreamsCount(const Analysis& analysis) {
  const std::vector<SourceRecord>& sources = analysis.data().sources;
  for (uint32_t i = 0; i < sources.size(); ++i) {
    if (!HasStreams(sources[i].kind) && analysis.IsCounted(i) &&
        analysis.totals().of_source[i] > 0) {
      return false;
    }
  }
  return std::ranges::all_of(analysis.blocks(), [](const BlockRecord& block) {
    return HasStreams(block.source) || block.estimate.count == 0;
  });
}

class RatioSummer {
 public:
  RatioSummer(const PivotInput& input, PivotFilter* filter) : input_(input), filter_(filter) {
    of_kinds_.reserve(input.code->kinds.size());
    for (const InstructionProperties& kind : input.code->kinds)
      of_kinds_.push_back(AmountsOf(kind));
  }

  CorrelatedSums Sum(const Work& work) {
    WorkMeter meter(work, input_.observations.size());
    uint32_t block = kNoIndex;
    uint32_t observation_class = 0;
    Amounts amounts;
    for (const PivotObservation& observation : input_.observations) {
      meter.AdvanceOrThrow();
      const uint32_t next_class = filter_ == nullptr ? 0 : filter_->ClassOf(observation);
      if (observation.block != block || next_class != observation_class) {
        block = observation.block;
        observation_class = next_class;
        amounts = OfBlock(input_.blocks[block], observation_class);
      }
      if (observation.replicates == kNoIndex) {
        sums_.Add(amounts.all(), observation.estimate);
      } else {
        sums_.Add(amounts.all(), observation.estimate.count,
                  input_.replicates[observation.replicates]);
      }
    }
    return std::move(sums_);
  }

 private:
  Amounts OfBlock(const PivotBlock& block, uint32_t observation_class) {
    Amounts amounts;
    PivotContext context;
    context.block = &block;
    for (uint32_t i = 0; i < block.instruction_count; ++i) {
      context.instruction = &input_.code->instructions[block.first_instruction + i];
      context.kind = &input_.code->kinds[context.instruction->kind];
      if (filter_ != nullptr && !filter_->Keeps(observation_class, context)) continue;
      amounts += of_kinds_[context.instruction->kind];
    }
    return amounts;
  }

  const PivotInput& input_;
  PivotFilter* const filter_;
  std::vector<Amounts> of_kinds_;
  CorrelatedSums sums_{static_cast<size_t>(Count::kNumber)};
};

}  // namespace

std::vector<MixRatio> ComputeRatios(const PivotInput& input, PivotFilter* filter,
                                    const std::vector<TakenBranchRecord>& taken_branches,
                                    const Work& work) {
  CorrelatedSums sums = RatioSummer(input, filter).Sum(work);
  Amounts of_taken;
  of_taken[Count::kTakenBranches] = 1;
  for (const TakenBranchRecord& branch : taken_branches) {
    sums.Add(of_taken.all(), branch.count, branch.replicates);
  }
  std::vector<MixRatio> ratios;
  for (const RatioForm& form : kForms) {
    const auto part = static_cast<size_t>(form.part);
    MixRatio& ratio = ratios.emplace_back(MixRatio{form.group, form.name, form.unit, {}});
    ratio.value = form.whole ? sums.Ratio(part, static_cast<size_t>(*form.whole))
                             : std::optional(sums.Sum(part));
  }
  return ratios;
}

StatusOr<QueryNeeds> FindNeedsOfRatios(const Analysis& analysis, const std::string& where,
                                       const std::vector<Taxonomy>& taxonomies) {
  const PivotSubject subject(analysis);
  QueryKeys keys(subject, taxonomies);
  if (!where.empty()) HBBP_RETURN_IF_ERROR(ParseWhere(where, &keys).status());
  QueryNeeds needs = keys.Needs();
  needs.instructions = true;
  return needs;
}

StatusOr<std::vector<MixRatio>> ComputeMixRatios(PivotSubject subject, const std::string& where,
                                                 const std::vector<Taxonomy>& taxonomies) {
  QueryKeys keys(subject, taxonomies);
  std::unique_ptr<PivotFilter> filter;
  if (!where.empty()) {
    HBBP_ASSIGN_OR_RETURN(filter, ParseWhere(where, &keys));
  }
  QueryNeeds needs = keys.Needs();
  needs.instructions = true;
  AddMissing(needs, &subject);
  PivotDetail detail;
  detail.threads = keys.Use("thread") || keys.Use("process");
  detail.slices = keys.Use("slice");
  const Analysis& analysis = subject.analysis;
  const PivotInput input = MakePivotInput(analysis, subject.code, detail);
  const bool has_taken_branches = where.empty() && OnlyStreamsCount(analysis);
  return ComputeRatios(input, filter.get(),
                       has_taken_branches ? analysis.branches() : std::vector<TakenBranchRecord>(),
                       subject.work);
}

}  // namespace hbbp
