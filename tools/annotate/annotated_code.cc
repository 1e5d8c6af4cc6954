#include "annotate/annotated_code.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/nearest_name.h"
#include "format.h"
#include "profile_view.h"

namespace hbbp::tools {
namespace {

constexpr size_t kMaxFrames = 64;
// More bytes in a row that are no instruction are no data among code: there is no code.
constexpr uint64_t kMostData = 4096;

// "a::f" for "a::f(int, b<c>)".
std::string WithoutParameters(const std::string& name) {
  const size_t parameters = name.find('(', name.starts_with("(") ? 1 : 0);
  return name.substr(0, parameters);
}

bool IsNamed(const hbbp_function& function, const std::string& wanted) {
  if (wanted == function.name) return true;
  const std::string name = Demangle(function.name);
  return wanted == name || wanted == WithoutParameters(name);
}

// "; did you mean ...?": a name that has all of it, or one that differs little.
std::string Suggestion(const std::vector<hbbp_function>& functions, const std::string& wanted) {
  std::vector<std::string> names;
  for (const hbbp_function& function : functions) {
    names.push_back(WithoutParameters(Demangle(function.name)));
  }
  for (const std::string& name : names) {
    if (name.find(wanted) != std::string::npos) return "; did you mean '" + name + "'?";
  }
  return DidYouMean(wanted, {names.begin(), names.end()});
}

std::optional<uint64_t> ParseAddress(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const uint64_t value = std::strtoull(text.c_str(), &end, 0);
  if (errno != 0 || text.empty() || text.front() == '-' || *end != '\0') return std::nullopt;
  return value;
}

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

// The one with most samples, of that name or of all if it is empty; null if there is none.
const hbbp_module* ProfileCode::ModuleWithoutCode(const std::string& wanted) const {
  const hbbp_module* found = nullptr;
  for (const hbbp_module& module : modules_) {
    const bool is_meant =
        wanted.empty() || wanted == module.path || wanted == BaseName(module.path);
    const bool is_busier = found == nullptr || module.samples > found->samples;
    if (module.samples != 0 && is_meant && is_busier && module.problem[0] != '\0') found = &module;
  }
  return found;
}

// Why no function of the module, or of any if it is empty, can be shown.
Status ProfileCode::NothingIn(const std::string& wanted) const {
  if (const hbbp_module* without_code = ModuleWithoutCode(wanted)) {
    return MakeStatus(StatusCode::kNotFound, "no function has a count: %s", without_code->problem);
  }
  if (wanted.empty()) {
    return MakeStatus(StatusCode::kNotFound, "no function has a count; see hbbp info");
  }
  std::string known;
  for (const hbbp_module& module : modules_) {
    if (module.samples == 0) continue;
    known += (known.empty() ? "" : ", ") + std::string(BaseName(module.path));
  }
  return MakeStatus(StatusCode::kNotFound, "no module %s with counts; there are: %s",
                    wanted.c_str(), known.c_str());
}

StatusOr<std::vector<hbbp_function>> ProfileCode::Choose(const FunctionChoice& choice) const {
  std::optional<uint64_t> address;
  if (!choice.address.empty()) {
    address = ParseAddress(choice.address);
    if (!address) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "--address %s: no number; give one such as 0x401136",
                        choice.address.c_str());
    }
  }
  std::vector<hbbp_function> of_module;
  for (const hbbp_function& function : functions_) {
    const std::string path =
        function.module < modules_.size() ? modules_[function.module].path : "";
    if (choice.module.empty() || choice.module == path || choice.module == BaseName(path)) {
      of_module.push_back(function);
    }
  }
  if (of_module.empty()) {
    return NothingIn(choice.module);
  }
  std::vector<hbbp_function> chosen;
  for (const hbbp_function& function : of_module) {
    if (address && (*address < function.start || *address >= function.end)) continue;
    if (!choice.function.empty() && !IsNamed(function, choice.function)) continue;
    chosen.push_back(function);
  }
  if (chosen.empty()) {
    const hbbp_module* const without_code = ModuleWithoutCode(choice.module);
    const std::string reason =
        without_code == nullptr ? ""
                                : std::string("; not all code is here: ") + without_code->problem;
    if (address) {
      return MakeStatus(StatusCode::kNotFound,
                        "no function with a count is at %s; addresses are those of objdump, in a "
                        "module (--module)%s",
                        choice.address.c_str(), reason.c_str());
    }
    return MakeStatus(StatusCode::kNotFound, "no function %s has a count%s%s",
                      choice.function.c_str(), Suggestion(of_module, choice.function).c_str(),
                      reason.c_str());
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const hbbp_function& a, const hbbp_function& b) {
                     return a.instructions > b.instructions;
                   });
  if (choice.top != 0 && chosen.size() > choice.top) chosen.resize(choice.top);
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

AnnotatedFunction ProfileCode::Annotate(const hbbp_function& function, bool with_source) {
  AnnotatedFunction annotated;
  annotated.function = function;
  annotated.name = Demangle(function.name);
  annotated.module = modules_[function.module].path;
  uint64_t frames_end = 0;
  std::vector<CodeFrame> frames;
  uint64_t data = 0;  // bytes before the address that are no instruction
  for (uint64_t address = function.start; address < function.end;) {
    AnnotatedInstruction instruction;
    instruction.code.struct_size = sizeof(instruction.code);
    instruction.block = BlockAt(function.module, address);
    instruction.loop = LoopOf(instruction.block);
    const hbbp_block* const next = NextBlock(function.module, address);
    // Where data lies between code, blocks are found again at their start.
    const uint64_t limit = std::min(function.end, next == nullptr ? UINT64_MAX : next->start);
    if (hbbp_profile_disassemble(profile_, function.module, address, &instruction.code, nullptr) !=
            HBBP_OK ||
        instruction.code.length > limit - address) {
      // A function of a kernel may be all of its memory, of which some pages are here, or none.
      address = ++data < kMostData ? address + 1 : limit;
      continue;
    }
    data = 0;
    if (with_source) {
      if (address >= frames_end) frames = FramesAt(function.module, address, &frames_end);
      instruction.frames = frames;
    }
    address += instruction.code.length;
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
    if (target >= function.start && target < function.end && !is_call) annotated.labels[target];
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
