// MakeProbeProfile counts the probes of each module by the blocks around their addresses
// (CountProbes), adds those of functions that have a count to the profile (AddModule), and then the
// branches from probes of calls to the start of a function (AddCalls).
#include "export/probe_profile.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/joined_text.h"
#include "export/share_text.h"
#include "image/elf_image.h"
#include "symbols/pseudo_probe_file.h"

namespace hbbp {
namespace {

constexpr uint32_t kEntryProbe = 1;

bool HasCount(const BlockRecord& record) { return record.estimate.count > 0; }

// Returns the modules that the subject wants and that have counts.
std::vector<uint32_t> FindCountedModules(const ExportSubject& subject) {
  std::vector<uint32_t> modules;
  for (const BlockRecord& record : subject.analysis.blocks()) {
    if (!HasCount(record) || !subject.Wants(record.module)) continue;
    if (modules.empty() || modules.back() != record.module) modules.push_back(record.module);
  }
  return modules;
}

StatusOr<PseudoProbes> OpenProbes(const ExportSubject& subject, uint32_t module) {
  const ModuleRecord& record = subject.analysis.data().modules[module];
  const ResolvedModules::Use use = subject.analysis.modules().Open(module);
  if (record.kind != ModuleKind::kFile || use->code == nullptr) {
    return MakeStatus(StatusCode::kNotFound, "%s has no pseudo-probes", record.path.c_str());
  }
  return OpenPseudoProbes(static_cast<const ElfImage&>(*use->code), record.path,
                          subject.lines.options().search.debug_root);
}

// Removes what the compiler appends to the names of functions that it makes global or splits.
std::string_view WithoutSuffix(std::string_view name) {
  for (const std::string_view suffix : {".llvm.", ".part."}) {
    name = name.substr(0, name.rfind(suffix));
  }
  return name;
}

std::string OmittedText(uint32_t functions) {
  return std::to_string(functions) +
         (functions == 1 ? " function with probes is" : " functions with probes are") + " left out";
}

class Maker {
 public:
  Maker(const ExportSubject& subject, const std::vector<ProbedModule>& modules)
      : subject_(subject), check_(subject.work.cancel), modules_(modules) {}

  SampleProfile Make() {
    for (const ProbedModule& module : modules_) {
      bodies_.emplace_back();
      if (module.probes) AddModule(module.module, *module.probes, &bodies_.back());
    }
    AddCalls();
    ReportOtherModules();
    return std::move(profile_);
  }

 private:
  // Has the part of the profile for each of PseudoProbes::functions(): null for those that are not
  // counted, or left out.
  using Bodies = std::vector<SampledFunction*>;

  const Analysis& analysis() const { return subject_.analysis; }

  // Returns a count for each of probes.all().
  std::vector<double> CountProbes(uint32_t module, const PseudoProbes& probes) {
    std::vector<double> counts(probes.all().size());
    size_t next = 0;
    for (const BlockRecord& record : analysis().blocks()) {
      if (record.module != module) continue;
      check_.Step();
      while (next < counts.size() && probes.all()[next].address < record.block.start) ++next;
      for (; next < counts.size() && record.block.Contains(probes.all()[next].address); ++next) {
        counts[next] = std::max(record.estimate.count, 0.0);
      }
    }
    return counts;
  }

  void AddModule(uint32_t module, const PseudoProbes& probes, Bodies* bodies) {
    const std::vector<double> counts = CountProbes(module, probes);
    *bodies = AddFunctions(probes, counts);
    const std::vector<ProbedFunction>& functions = probes.functions();
    std::vector<double> totals(functions.size());
    double all = 0, omitted = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      check_.Step();
      const PseudoProbe& probe = probes.all()[i];
      all += counts[i];
      SampledFunction* const body = (*bodies)[probe.function];
      if (body == nullptr) {
        omitted += counts[i];
        continue;
      }
      body->lines[{probe.index, probe.discriminator}].count += counts[i];
      const bool is_inlined = functions[probe.function].caller != ProbedFunction::kNone;
      if (probe.index == kEntryProbe && !is_inlined) body->entries += counts[i];
      totals[probe.function] += counts[i];
    }
    // Callers come before what is inlined in them.
    for (size_t i = functions.size(); i-- > 0;) {
      if ((*bodies)[i] == nullptr) continue;
      (*bodies)[i]->total += totals[i];
      if (functions[i].caller != ProbedFunction::kNone) totals[functions[i].caller] += totals[i];
    }
    ReportOmissions(module, probes, all, omitted);
  }

  // Adds the functions of which a probe has a count, with all that is inlined in them.
  Bodies AddFunctions(const PseudoProbes& probes, const std::vector<double>& counts) {
    const std::vector<ProbedFunction>& functions = probes.functions();
    std::vector<uint32_t> outermost(functions.size());
    for (uint32_t i = 0; i < functions.size(); ++i) {
      const uint32_t caller = functions[i].caller;
      outermost[i] = caller == ProbedFunction::kNone ? i : outermost[caller];
    }
    std::set<uint64_t> counted;
    std::vector<bool> has_probes(functions.size());  // itself, or in what is inlined in it
    for (size_t i = 0; i < counts.size(); ++i) {
      const uint32_t function = probes.all()[i].function;
      has_probes[function] = true;
      if (counts[i] > 0) counted.insert(functions[outermost[function]].guid);
    }
    for (size_t i = functions.size(); i-- > 0;) {
      if (has_probes[i] && functions[i].caller != ProbedFunction::kNone) {
        has_probes[functions[i].caller] = true;
      }
    }
    Bodies bodies(functions.size());
    for (uint32_t i = 0; i < functions.size(); ++i) {
      check_.Step();
      const ProbedFunction& function = functions[i];
      const ProbeDescription* const description = probes.Describe(function.guid);
      if (description == nullptr || !has_probes[i]) continue;
      SampledFunction* body = nullptr;
      if (function.caller == ProbedFunction::kNone) {
        if (counted.count(function.guid) == 0) continue;
        body = &profile_.functions[description->name];
      } else {
        SampledFunction* const caller = bodies[function.caller];
        if (caller == nullptr) continue;
        body = &caller->inlined[{function.call_probe, 0}][description->name];
      }
      // Another module may have been built of another source.
      if (!body->checksum) body->checksum = description->checksum;
      if (body->checksum == description->checksum) bodies[i] = body;
    }
    return bodies;
  }

  void ReportOmissions(uint32_t module, const PseudoProbes& probes, double all,
                       double omitted) const {
    const std::string& path = analysis().data().modules[module].path;
    if (omitted > all / 1000) {
      subject_.Note(path + ": " + ShareText(omitted, all) +
                    " of the counts of its probes are left out: their functions have several "
                    "versions with other control-flow graphs, or no name in .pseudo_probe_desc");
    }
    if (probes.trees_without_symbol() != 0) {
      subject_.Note(path + ": " + OmittedText(probes.trees_without_symbol()) +
                    ": without symbols of functions the addresses of their probes are unknown; "
                    "install its debug file if it is stripped");
    }
    if (probes.trees_of_several_symbols() != 0) {
      subject_.Note(path + ": " + OmittedText(probes.trees_of_several_symbols()) +
                    ": others have the same name; compile with -funique-internal-linkage-names");
    }
  }

  void AddCalls() {
    for (const TakenBranchRecord& branch : analysis().branches()) {
      check_.Step();
      if (!(branch.count > 0) || branch.to_module == kNoIndex || branch.to == kNoAddress) continue;
      SampledLine* const line = FindCall(branch.from_module, branch.from);
      if (line == nullptr) continue;
      const std::optional<std::string> callee = FindCallee(branch.to_module, branch.to);
      if (callee) line->calls[*callee] += branch.count;
    }
  }

  // Returns null if no probe of a call is there, or none of a function in the profile.
  SampledLine* FindCall(uint32_t module, ModuleAddress address) const {
    const auto found = std::ranges::find(modules_, module, &ProbedModule::module);
    if (found == modules_.end() || !found->probes) return nullptr;
    const Bodies& bodies = bodies_[static_cast<size_t>(found - modules_.begin())];
    for (const PseudoProbe& probe : found->probes->At(address)) {
      SampledFunction* const body = bodies[probe.function];
      if (probe.is_call && body != nullptr) {
        return &body->lines[{probe.index, probe.discriminator}];
      }
    }
    return nullptr;
  }

  // Returns the name of the function that starts there.
  std::optional<std::string> FindCallee(uint32_t module, ModuleAddress address) const {
    const auto found = std::ranges::find(modules_, module, &ProbedModule::module);
    if (found != modules_.end() && found->probes) {
      const ProbeDescription* const description = found->probes->DescribeStart(address);
      if (description != nullptr) return description->name;
    }
    const std::optional<std::string> symbol = FindSymbolAtStart(analysis(), module, address);
    if (!symbol) return {};
    return std::string(WithoutSuffix(*symbol));
  }

  void ReportOtherModules() const {
    std::vector<std::string> others;
    for (const uint32_t module : FindCountedModules(subject_)) {
      if (std::ranges::find(modules_, module, &ProbedModule::module) != modules_.end()) continue;
      others.push_back(analysis().data().modules[module].path);
    }
    if (others.empty()) return;
    subject_.Note(JoinedText(others, ", ") + (others.size() == 1 ? " is" : " are") +
                  " left out: this profile is by pseudo-probes, and code without them needs one of "
                  "its own (--module)");
  }

  const ExportSubject& subject_;
  CancelCheck check_;
  const std::vector<ProbedModule>& modules_;
  std::vector<Bodies> bodies_;  // by index in modules_
  SampleProfile profile_;
};

}  // namespace

std::vector<ProbedModule> OpenProbedModules(const ExportSubject& subject) {
  std::vector<ProbedModule> modules;
  CancelCheck check(subject.work.cancel);
  for (const uint32_t module : FindCountedModules(subject)) {
    check.CheckNow();
    StatusOr<PseudoProbes> probes = OpenProbes(subject, module);
    if (!probes.ok() && probes.status().code() == StatusCode::kNotFound) continue;
    modules.emplace_back().module = module;
    if (probes.ok()) {
      modules.back().probes = *std::move(probes);
    } else {
      subject.Note(subject.analysis.data().modules[module].path +
                   " is left out: " + probes.status().message());
    }
  }
  return modules;
}

SampleProfile MakeProbeProfile(const ExportSubject& subject,
                               const std::vector<ProbedModule>& modules) {
  return Maker(subject, modules).Make();
}

}  // namespace hbbp
