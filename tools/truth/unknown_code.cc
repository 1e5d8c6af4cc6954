#include "truth/unknown_code.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/linux_constants.h"
#include "isa/control_flow.h"

namespace hbbp::tools {
namespace {

struct LoadedModule {
  size_t object = 0;
  uint64_t base = 0;
  const ElfImage* image = nullptr;
};

// Returns where the calls say that the object was loaded, if most of them agree.
std::optional<uint64_t> FindBase(const TruthObject& object, const ElfImage& image) {
  std::map<uint64_t, size_t> votes;
  for (const CallToUnknown& call : object.calls_to_unknown) {
    const auto code = image.CodeAt(ModuleAddress{call.caller}, kMaxInstructionLength);
    ControlFlow flow;
    if (!DecodeControlFlow(code, call.caller, &flow) || !flow.has_target) continue;
    const uint64_t base = call.target - flow.target;
    if (base % kPageBytes == 0) ++votes[base];
  }
  const auto best = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (best == votes.end() || 2 * best->second <= object.calls_to_unknown.size()) return {};
  return best->first;
}

std::vector<LoadedModule> FindLoadedModules(const Truth& truth, ModuleImages* images) {
  std::vector<LoadedModule> modules;
  for (size_t i = 0; i < truth.objects.size(); ++i) {
    if (truth.objects[i].calls_to_unknown.empty()) continue;
    const StatusOr<const ElfImage*> image = images->Open(truth.objects[i].path);
    if (!image.ok()) continue;
    const std::optional<uint64_t> base = FindBase(truth.objects[i], **image);
    if (base) modules.push_back({i, *base, *image});
  }
  return modules;
}

void SortByAddress(TruthObject* object) {
  std::sort(object->instructions.begin(), object->instructions.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
}

}  // namespace

void MoveUnknownCode(ModuleImages* images, Truth* truth) {
  const auto unknown =
      std::find_if(truth->objects.begin(), truth->objects.end(),
                   [](const TruthObject& object) { return object.path == kUnknownObject; });
  if (unknown == truth->objects.end()) return;
  const std::vector<LoadedModule> modules = FindLoadedModules(*truth, images);
  std::erase_if(unknown->instructions, [&](const InstructionCount& instruction) {
    for (const LoadedModule& module : modules) {
      const uint64_t address = instruction.address - module.base;
      if (module.image->CodeAt(ModuleAddress{address}, 1).empty()) continue;
      TruthObject& object = truth->objects[module.object];
      object.instructions.push_back({address, instruction.count});
      object.total += instruction.count;
      unknown->total -= instruction.count;
      return true;
    }
    return false;
  });
  for (const LoadedModule& module : modules) SortByAddress(&truth->objects[module.object]);
  if (unknown->total == 0) truth->objects.erase(unknown);
}

}  // namespace hbbp::tools
