#include "function_choice.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "base/nearest_name.h"
#include "format.h"
#include "symbols/demangle.h"

namespace hbbp::tools {
namespace {

bool IsNamed(const hbbp_function& function, const std::string& wanted) {
  if (wanted == function.name) return true;
  const std::string name = Demangle(function.name);
  return wanted == name || wanted == WithoutParameters(name);
}

// Returns "; did you mean ...?" with a name that contains the wanted one, or one that differs
// little.
std::string Suggestion(const std::vector<hbbp_function>& functions,
                       const std::vector<uint32_t>& among, const std::string& wanted) {
  std::vector<std::string> names;
  for (const uint32_t i : among) names.emplace_back(WithoutParameters(Demangle(functions[i].name)));
  for (const std::string& name : names) {
    if (name.find(wanted) != std::string::npos) return "; did you mean '" + name + "'?";
  }
  return DidYouMean(wanted, {names.begin(), names.end()});
}

// Returns the module with most samples, of that name or of all if it is empty; null if none.
const ModuleView* ModuleWithoutCode(const std::vector<ModuleView>& modules,
                                    const std::string& wanted) {
  const ModuleView* found = nullptr;
  for (const ModuleView& module : modules) {
    const bool is_meant =
        wanted.empty() || wanted == module.path || wanted == BaseName(module.path);
    const bool is_busier = found == nullptr || module.samples > found->samples;
    if (module.samples != 0 && is_meant && is_busier && module.problem[0] != '\0') found = &module;
  }
  return found;
}

// Explains why no function of the module, or of any module if it is empty, can be shown.
Status NothingIn(const std::vector<ModuleView>& modules, const std::string& wanted) {
  if (const ModuleView* without_code = ModuleWithoutCode(modules, wanted)) {
    return MakeStatus(StatusCode::kNotFound, "no function has a count: %s", without_code->problem);
  }
  std::string known;
  for (const ModuleView& module : modules) {
    if (module.samples == 0) continue;
    known += (known.empty() ? "" : ", ") + std::string(BaseName(module.path));
  }
  if (wanted.empty() || known.empty()) {
    return MakeStatus(StatusCode::kNotFound, "no function has a count; see hbbp info");
  }
  return MakeStatus(StatusCode::kNotFound, "no module %s with counts; there are: %s",
                    wanted.c_str(), known.c_str());
}

}  // namespace

StatusOr<uint64_t> ParseAddress(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const uint64_t value = std::strtoull(text.c_str(), &end, 0);
  if (errno != 0 || text.empty() || text.front() == '-' || *end != '\0') {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "--address %s: no number; give one such as 0x401136", text.c_str());
  }
  return value;
}

StatusOr<std::vector<uint32_t>> ChooseFunctions(const std::vector<ModuleView>& modules,
                                                const std::vector<hbbp_function>& functions,
                                                const FunctionChoice& choice) {
  std::optional<uint64_t> address;
  if (!choice.address.empty()) {
    HBBP_ASSIGN_OR_RETURN(address, ParseAddress(choice.address));
  }
  std::vector<uint32_t> of_module;
  for (uint32_t i = 0; i < functions.size(); ++i) {
    const uint32_t module = functions[i].module;
    const std::string path = module < modules.size() ? modules[module].path : "";
    if (choice.module.empty() || choice.module == path || choice.module == BaseName(path)) {
      of_module.push_back(i);
    }
  }
  if (of_module.empty()) {
    return NothingIn(modules, choice.module);
  }
  std::vector<uint32_t> chosen;
  for (const uint32_t i : of_module) {
    const hbbp_function& function = functions[i];
    if (address && (*address < function.start || *address >= function.end)) continue;
    if (!choice.function.empty() && !IsNamed(function, choice.function)) continue;
    chosen.push_back(i);
  }
  if (chosen.empty()) {
    const ModuleView* const without_code = ModuleWithoutCode(modules, choice.module);
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
                      choice.function.c_str(),
                      Suggestion(functions, of_module, choice.function).c_str(), reason.c_str());
  }
  std::stable_sort(chosen.begin(), chosen.end(), [&](uint32_t a, uint32_t b) {
    return functions[a].instructions > functions[b].instructions;
  });
  if (choice.top != 0 && chosen.size() > choice.top) chosen.resize(choice.top);
  return chosen;
}

}  // namespace hbbp::tools
