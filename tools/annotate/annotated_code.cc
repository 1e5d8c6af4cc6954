#include "annotate/annotated_code.h"

#include <algorithm>
#include <utility>

#include "format.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

constexpr size_t kMaxFrames = 64;
// More bytes in a row that are no instruction are no data among code: there is no code.
constexpr uint64_t kMostData = 4096;

}  // namespace

StatusOr<ProfileCode> ProfileCode::Load(const hbbp_profile* profile) {
  ProfileCode code(profile);
  HBBP_ASSIGN_OR_RETURN(code.modules_, Modules(profile));
  HBBP_ASSIGN_OR_RETURN(code.functions_, Functions(profile));
  HBBP_ASSIGN_OR_RETURN(code.blocks_, Blocks(profile));
  HBBP_RETURN_IF_ERROR(code.LoadLoops());
  code.total_instructions_ = TotalInstructions(code.functions_);
  return code;
}

Status ProfileCode::LoadLoops() {
  HBBP_INIT(hbbp_error, error);
  size_t copied = 0;
  loops_.resize(hbbp_profile_loop_count(profile_));
  if (hbbp_profile_copy_loops(profile_, 0, loops_.size(), sizeof(hbbp_loop), loops_.data(), &copied,
                              &error) != HBBP_OK) {
    return ToStatus(error);
  }
  loops_of_blocks_.resize(blocks_.size());
  if (hbbp_profile_copy_loops_of_blocks(profile_, 0, blocks_.size(), loops_of_blocks_.data(),
                                        &copied, &error) != HBBP_OK) {
    return ToStatus(error);
  }
  return OkStatus();
}

const hbbp_loop* ProfileCode::LoopOf(const hbbp_block* block) const {
  if (block == nullptr) return nullptr;
  const uint32_t loop = loops_of_blocks_[static_cast<size_t>(block - blocks_.data())];
  return loop < loops_.size() ? &loops_[loop] : nullptr;
}

StatusOr<std::vector<hbbp_function>> ProfileCode::Choose(const FunctionChoice& choice) const {
  HBBP_ASSIGN_OR_RETURN(const std::vector<uint32_t> indexes,
                        ChooseFunctions(modules_, functions_, choice));
  std::vector<hbbp_function> chosen;
  for (const uint32_t index : indexes) chosen.push_back(functions_[index]);
  return chosen;
}

const hbbp_block* ProfileCode::NextBlock(uint32_t module, uint64_t address) const {
  const auto next = std::upper_bound(blocks_.begin(), blocks_.end(), std::pair(module, address),
                                     [](const auto& wanted, const hbbp_block& block) {
                                       return wanted < std::pair(block.module, block.start);
                                     });
  return next == blocks_.end() || next->module != module ? nullptr : &*next;
}

const hbbp_block* ProfileCode::BlockAt(uint32_t module, uint64_t address) const {
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

std::string ProfileCode::NameAt(uint32_t module, uint64_t address) const {
  const auto next =
      std::upper_bound(functions_.begin(), functions_.end(), std::pair(module, address),
                       [](const auto& wanted, const hbbp_function& function) {
                         return wanted < std::pair(function.module, function.start);
                       });
  if (next == functions_.begin()) return {};
  const hbbp_function& function = *std::prev(next);
  return function.module == module && address < function.end ? Demangle(function.name) : "";
}

std::vector<CodeFrame> ProfileCode::FramesAt(uint32_t module, uint64_t address, uint64_t* end) {
  HBBP_INIT(hbbp_source_place, place);
  HBBP_INIT(hbbp_error, error);
  std::vector<hbbp_source_frame> found(kMaxFrames);
  const hbbp_status status = hbbp_profile_find_source(
      profile_, module, address, found.size(), sizeof(found[0]), found.data(), &place, &error);
  if (status != HBBP_OK) {
    source_problems_.emplace(module, error.message);
    *end = UINT64_MAX;
    return {};
  }
  *end = place.end;
  std::vector<CodeFrame> frames;
  for (size_t i = 0; i < std::min<size_t>(place.frame_count, found.size()); ++i) {
    frames.push_back({found[i].file, Demangle(found[i].function), found[i].line, found[i].column});
  }
  return frames;
}

std::pair<uint64_t, uint64_t> ProfileCode::ListedRange(const hbbp_function& function) const {
  const bool is_function = modules_[function.module].kind != HBBP_MODULE_ANONYMOUS ||
                           FormatAddress(function.start) != function.name;
  if (is_function) return {function.start, function.end};
  const auto before = [](const hbbp_block& block, const std::pair<uint32_t, uint64_t>& place) {
    return std::pair(block.module, block.start) < place;
  };
  const auto first = std::lower_bound(blocks_.begin(), blocks_.end(),
                                      std::pair(function.module, function.start), before);
  const auto end =
      std::lower_bound(first, blocks_.end(), std::pair(function.module, function.end), before);
  if (first == end) return {function.start, function.end};
  return {first->start, std::prev(end)->end};
}

AnnotatedFunction ProfileCode::Annotate(const hbbp_function& function, bool with_source) {
  AnnotatedFunction annotated;
  annotated.function = function;
  annotated.name = Demangle(function.name);
  annotated.module = modules_[function.module].path;
  uint64_t frames_end = 0;
  std::vector<CodeFrame> frames;
  const auto [start, end] = ListedRange(function);
  annotated.listed_from = start;
  uint64_t data = 0;  // bytes before the address that are no instruction
  for (uint64_t address = start; address < end;) {
    AnnotatedInstruction instruction;
    instruction.code.struct_size = sizeof(instruction.code);
    instruction.block = BlockAt(function.module, address);
    instruction.loop = LoopOf(instruction.block);
    const hbbp_block* const next = NextBlock(function.module, address);
    // Where data lies between code, blocks are found again at their start.
    const uint64_t limit = std::min(end, next == nullptr ? UINT64_MAX : next->start);
    const bool is_code = hbbp_profile_disassemble(profile_, function.module, address,
                                                  &instruction.code, nullptr) == HBBP_OK;
    // Of what ran, a block starts within an instruction where code jumps over its lock prefix.
    const bool is_within =
        instruction.block != nullptr || instruction.code.length <= limit - address;
    if (!is_code || !is_within) {
      // A function of a kernel may be all of its memory, of which some pages are here, or none.
      address = ++data < kMostData ? address + 1 : limit;
      continue;
    }
    data = 0;
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
    char problem[1024];
    if (hbbp_profile_source_problem(profile_, function.module, problem, sizeof(problem), nullptr) ==
            HBBP_OK &&
        problem[0] != '\0') {
      source_problems_.emplace(function.module, problem);
    }
  }
  return annotated;
}

std::vector<std::string> ProfileCode::SourceProblems() const {
  std::vector<std::string> problems;
  for (const auto& [module, problem] : source_problems_) problems.push_back(problem);
  return problems;
}

}  // namespace hbbp::tools
