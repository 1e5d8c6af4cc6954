#include "annotate/annotated_code.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "format.h"

namespace hbbp::tools {
namespace {

// More bytes in a row without an instruction are not data among code: there is no code at all.
constexpr uint64_t kMaxDataBytes = 4096;

}  // namespace

AnalysedCode::AnalysedCode(const hbbp::analysis& analysis, bool with_samples)
    : analysis_(analysis),
      modules_(Modules(analysis)),
      blocks_(analysis.blocks()),
      functions_(analysis.functions()),
      ops_(CollectIbsOps(analysis)) {
  const hbbp::loops loops = analysis.find_loops();
  loops_ = loops.list();
  loops_of_blocks_ = loops.of_blocks(blocks_.size());
  total_instructions_ = TotalInstructions(functions_);
  if (with_samples || has_ops()) samples_ = CollectEventSamples(analysis);
}

const hbbp_loop* AnalysedCode::LoopOf(const hbbp_block* block) const {
  if (block == nullptr) return nullptr;
  const uint32_t loop = loops_of_blocks_[static_cast<size_t>(block - blocks_.data())];
  return loop < loops_.size() ? &loops_[loop] : nullptr;
}

StatusOr<std::vector<hbbp_function>> AnalysedCode::Choose(const FunctionChoice& choice) const {
  HBBP_ASSIGN_OR_RETURN(const std::vector<uint32_t> indexes,
                        ChooseFunctions(modules_, functions_, choice));
  std::vector<hbbp_function> chosen;
  for (const uint32_t index : indexes) chosen.push_back(functions_[index]);
  return chosen;
}

const hbbp_block* AnalysedCode::NextBlock(uint32_t module, uint64_t address) const {
  const auto next = std::upper_bound(blocks_.begin(), blocks_.end(), std::pair(module, address),
                                     [](const auto& wanted, const hbbp_block& block) {
                                       return wanted < std::pair(block.module, block.start);
                                     });
  return next == blocks_.end() || next->module != module ? nullptr : &*next;
}

const hbbp_block* AnalysedCode::BlockAt(uint32_t module, uint64_t address) const {
  const hbbp_block* const next = NextBlock(module, address);
  const hbbp_block* block = next;
  if (next == nullptr) {
    const auto end = std::upper_bound(
        blocks_.begin(), blocks_.end(), module,
        [](uint32_t wanted, const hbbp_block& each) { return wanted < each.module; });
    block = blocks_.data() + (end - blocks_.begin());
  }
  if (block == blocks_.data()) return nullptr;
  --block;
  return block->module == module && block->start <= address && address < block->end ? block
                                                                                    : nullptr;
}

std::string AnalysedCode::NameAt(uint32_t module, uint64_t address) const {
  const auto next =
      std::upper_bound(functions_.begin(), functions_.end(), std::pair(module, address),
                       [](const auto& wanted, const hbbp_function& function) {
                         return wanted < std::pair(function.module, function.start);
                       });
  if (next == functions_.begin()) return {};
  const hbbp_function& function = *std::prev(next);
  return function.module == module && address < function.end ? Demangle(function.name) : "";
}

std::vector<CodeFrame> AnalysedCode::FramesAt(uint32_t module, uint64_t address, uint64_t* end) {
  std::vector<CodeFrame> frames;
  try {
    HBBP_INIT(hbbp_line_range, range);
    for (const hbbp_line_frame& frame : analysis_.lines_of(module, address, &range)) {
      frames.push_back({frame.file, Demangle(frame.function), frame.line, frame.column});
    }
    *end = range.end;
  } catch (const hbbp::error& error) {
    source_problems_.emplace(module, error.what());
    *end = UINT64_MAX;
  }
  return frames;
}

std::pair<uint64_t, uint64_t> AnalysedCode::ListedRange(const hbbp_function& function) const {
  const bool is_function = modules_[function.module].kind != HBBP_MODULE_ANONYMOUS ||
                           FormatAddress(function.start) != function.name;
  if (is_function) return {function.start, function.end};
  const auto before = [](const hbbp_block& block, const std::pair<uint32_t, uint64_t>& key) {
    return std::pair(block.module, block.start) < key;
  };
  const auto first = std::lower_bound(blocks_.begin(), blocks_.end(),
                                      std::pair(function.module, function.start), before);
  const auto end =
      std::lower_bound(first, blocks_.end(), std::pair(function.module, function.end), before);
  if (first == end) return {function.start, function.end};
  return {first->start, std::prev(end)->end};
}

AnnotatedFunction AnalysedCode::Annotate(const hbbp_function& function, bool with_source) {
  AnnotatedFunction annotated;
  annotated.function = function;
  annotated.name = Demangle(function.name);
  annotated.module = modules_[function.module].path;
  uint64_t frames_end = 0;
  std::vector<CodeFrame> frames;
  const auto [start, end] = ListedRange(function);
  annotated.listed_from = start;
  uint64_t data = 0;  // number of bytes before the address that hold no instruction
  for (uint64_t address = start; address < end;) {
    AnnotatedInstruction instruction;
    instruction.block = BlockAt(function.module, address);
    instruction.loop = LoopOf(instruction.block);
    const hbbp_block* const next = NextBlock(function.module, address);
    // Blocks start at known addresses again after data between code.
    const uint64_t limit = std::min(end, next == nullptr ? UINT64_MAX : next->start);
    const std::optional<hbbp_disassembly> code =
        analysis_.try_disassemble(function.module, address);
    if (code) instruction.code = *code;
    // In executed code, a block starts within an instruction where code jumps over its lock prefix.
    const bool is_within =
        instruction.block != nullptr || instruction.code.length <= limit - address;
    if (!code || !is_within) {
      // A function of a kernel may span all of its memory, of which only some pages, or none, are
      // here.
      address = ++data < kMaxDataBytes ? address + 1 : limit;
      continue;
    }
    data = 0;
    const auto ops = ops_.find({function.module, address});
    if (ops != ops_.end()) instruction.ops = &ops->second;
    const auto samples = samples_.by_address.find({function.module, address});
    if (samples != samples_.by_address.end()) instruction.samples = &samples->second;
    if (with_source) {
      if (address >= frames_end) frames = FramesAt(function.module, address, &frames_end);
      instruction.frames = frames;
    }
    address += std::min<uint64_t>(instruction.code.length, limit - address);
    annotated.instructions.push_back(std::move(instruction));
  }
  if (annotated.instructions.empty()) {
    const char* const problem = modules_[function.module].problem;
    annotated.problem =
        *problem != '\0' ? problem : "none of its code could be read; see hbbp info";
  }
  for (const AnnotatedInstruction& instruction : annotated.instructions) {
    const uint64_t target = instruction.code.target;
    const bool is_call = instruction.code.flow == HBBP_FLOW_CALL;
    if (target >= start && target < end && !is_call) annotated.labels[target];
  }
  size_t number = 0;
  for (auto& [target, label] : annotated.labels) label = "L" + std::to_string(++number);
  if (with_source && !source_problems_.contains(function.module)) {
    std::string problem;
    // A module without debug information failed when its lines were requested.
    (void)CatchError([&] { problem = analysis_.debug_problem(function.module); });
    if (!problem.empty()) source_problems_.emplace(function.module, std::move(problem));
  }
  return annotated;
}

std::vector<std::string> AnalysedCode::SourceProblems() const {
  std::vector<std::string> problems;
  for (const auto& [module, problem] : source_problems_) problems.push_back(problem);
  return problems;
}

}  // namespace hbbp::tools
