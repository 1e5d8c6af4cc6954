#include "export/code_callers.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "image/elf_image.h"
#include "isa/control_flow.h"

namespace hbbp {
namespace {

constexpr std::string_view kStub = "@plt";

void AddCalls(const ElfImage& image, const AddressRange& function, uint32_t module,
              CancelCheck* check, std::vector<CodeCall>* calls) {
  std::span<const uint8_t> code = image.CodeAt(function.start, function.end - function.start);
  ModuleAddress at = function.start;
  ControlFlow flow;
  while (DecodeControlFlow(code, at.value, &flow)) {
    check->Step();
    const bool is_jump = flow.kind == BranchKind::kJump || flow.kind == BranchKind::kConditional;
    const bool is_tail_call = is_jump && !function.Contains({flow.target});
    if (flow.has_target && (flow.kind == BranchKind::kCall || is_tail_call)) {
      calls->push_back({module, at, {flow.target}});
    }
    code = code.subspan(flow.length);
    at = at + flow.length;
  }
}

}  // namespace

CodeCallers::CodeCallers(const ExportSubject& subject) : subject_(subject) {
  for (const FunctionRecord& function : subject.analysis.functions()) {
    if (subject.Wants(function.module)) modules_.insert(function.module);
  }
}

std::vector<CodeCall> CodeCallers::Find(const FunctionRecord& function) {
  std::vector<CodeCall> found;
  const auto add = [&](uint32_t module, ModuleAddress target) {
    const std::vector<CodeCall>& calls = CallsOf(module).by_target;
    found.insert(found.end(), std::ranges::lower_bound(calls, target, {}, &CodeCall::to),
                 std::ranges::upper_bound(calls, target, {}, &CodeCall::to));
  };
  for (const uint32_t module : modules_) {
    if (module == function.module) add(module, function.range.start);
    const auto [first, last] = CallsOf(module).stubs.equal_range(function.name);
    for (auto stub = first; stub != last; ++stub) add(module, stub->second);
  }
  std::ranges::sort(found);
  return found;
}

const CodeCallers::ModuleCalls& CodeCallers::CallsOf(uint32_t module) {
  const auto known = calls_.find(module);
  return known != calls_.end() ? known->second : calls_.emplace(module, Scan(module)).first->second;
}

CodeCallers::ModuleCalls CodeCallers::Scan(uint32_t module) const {
  ModuleCalls calls;
  const ResolvedModules::Use use = subject_.analysis.modules().Open(module);
  if (use->code == nullptr || !use->offsets_are_of_file) return calls;
  const auto& image = static_cast<const ElfImage&>(*use->code);
  CancelCheck check(subject_.work.cancel);
  for (const AddressRange& function : image.AllFunctions()) {
    AddCalls(image, function, module, &check, &calls.by_target);
  }
  std::ranges::sort(calls.by_target, {},
                    [](const CodeCall& call) { return std::pair(call.to, call.from); });
  const CodeCall* last = nullptr;
  for (const CodeCall& call : calls.by_target) {
    if (last != nullptr && last->to == call.to) continue;
    last = &call;
    std::string name = image.FunctionName(call.to);
    if (!name.ends_with(kStub)) continue;
    name.resize(name.size() - kStub.size());
    calls.stubs.emplace(std::move(name), call.to);
  }
  return calls;
}

}  // namespace hbbp
