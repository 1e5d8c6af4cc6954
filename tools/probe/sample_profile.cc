#include "probe/sample_profile.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "export/llvm_sample_profile.h"
#include "format.h"
#include "isa/control_flow.h"
#include "symbols/line_table.h"

namespace hbbp::tools {
namespace {

std::optional<size_t> FindColumn(const ProbeTable& table, ProbeKey field) {
  const auto found = std::ranges::find(table.fields, field);
  if (found == table.fields.end()) return std::nullopt;
  return static_cast<size_t>(found - table.fields.begin());
}

// Returns whether the table counts addresses of instructions: each action that writes to it has the
// same fields.
bool CountsInstructions(const ProductionSet& set, size_t table) {
  const ProbeTable& probe_table = set.tables()[table];
  if (probe_table.kind != TableKind::kCount || !FindColumn(probe_table, ProbeKey::kPc))
    return false;
  return std::ranges::all_of(set.productions(), [&](const Production& production) {
    return std::ranges::all_of(production.actions, [&](const ProbeAction& action) {
      return action.table != table || action.fields == probe_table.fields;
    });
  });
}

using Branch = std::pair<uint64_t, uint64_t>;  // from and to, in the process

class Maker {
 public:
  Maker(const ProbedProgram& program, const ProductionEngine& engine, std::string_view module,
        std::vector<std::string>* notes)
      : program_(program), engine_(engine), module_(module), notes_(*notes) {}

  SampleProfile Make() {
    for (size_t i = 0; i < engine_.set().tables().size(); ++i) {
      if (CountsInstructions(engine_.set(), i)) ReadTable(i);
    }
    for (const auto& [pc, count] : instructions_) AddLine(pc, static_cast<double>(count));
    for (const auto& [branch, count] : branches_) AddCall(branch, static_cast<double>(count));
    for (const auto& [name, count] : entries_) {
      const auto found = profile_.functions.find(name);
      if (found != profile_.functions.end()) found->second.entries = count;
    }
    return std::move(profile_);
  }

 private:
  // Several tables may count the same executions: the largest number is of all of them.
  void ReadTable(size_t table) {
    const ProbeTable& probe_table = engine_.set().tables()[table];
    const size_t pc = *FindColumn(probe_table, ProbeKey::kPc);
    const std::optional<size_t> target = FindColumn(probe_table, ProbeKey::kTarget);
    std::map<uint64_t, uint64_t> instructions;
    std::map<Branch, uint64_t> branches;
    for (const CountTable::Entry& entry : engine_.counts(table).Sorted()) {
      instructions[entry.row[pc]] += entry.count;
      if (target) branches[{entry.row[pc], entry.row[*target]}] += entry.count;
    }
    for (const auto& [at, count] : instructions) {
      instructions_[at] = std::max(instructions_[at], count);
    }
    for (const auto& [branch, count] : branches) {
      branches_[branch] = std::max(branches_[branch], count);
    }
  }

  bool Wants(const CodeLocation& location) const {
    if (location.module == nullptr || location.module->image == nullptr) return false;
    const std::string& path = location.module->path;
    return module_.empty() || path == module_ || BaseName(path) == module_;
  }

  // Returns the frames of an instruction, or none.
  std::vector<LineFrame> FramesAt(const CodeLocation& location) {
    if (!Wants(location)) return {};
    const LineTable* const lines = LinesOf(*location.module);
    if (lines == nullptr) return {};
    std::vector<LineFrame> frames = lines->Find({location.address}).frames;
    return IsUsable(frames) ? frames : std::vector<LineFrame>();
  }

  const LineTable* LinesOf(const CountedModule& module) {
    const auto [known, is_new] = lines_.try_emplace(&module);
    if (!is_new) return known->second.get();
    DebugTarget target;
    target.path = module.path;
    target.fd = module.image->fd();
    target.build_id = module.image->build_id();
    StatusOr<std::unique_ptr<LineTable>> lines = LineTable::Open(target);
    if (lines.ok()) {
      known->second = *std::move(lines);
    } else {
      notes_.push_back("no lines of " + module.path +
                       " are in the sample profile: " + lines.status().message());
    }
    return known->second.get();
  }

  void AddLine(uint64_t pc, double count) {
    const CodeLocation location = program_.code().LocationOf(pc);
    const std::vector<LineFrame> frames = FramesAt(location);
    if (frames.empty()) return;
    AddInstruction(frames, count, &profile_);
    if (location.address == location.function)
      AddEntries(std::string(frames.back().function), count);
  }

  // A jump in a function may go to its start, where a loop begins.
  void AddCall(const Branch& branch, double count) {
    const CodeLocation from = program_.code().LocationOf(branch.first);
    const CodeLocation to = program_.code().LocationOf(branch.second);
    if (to.module == nullptr || to.module->image == nullptr || to.address != to.function) return;
    if (from.module == to.module && from.function == to.function && !IsCall(from)) return;
    const std::string callee = NameOfFunction(to);
    if (callee.empty()) return;
    if (Wants(to)) AddEntries(callee, calls_to_[callee] += count);
    const std::vector<LineFrame> frames = FramesAt(from);
    if (!frames.empty()) SampledLineAt(frames, 0, &profile_)->calls[callee] += count;
  }

  static bool IsCall(const CodeLocation& from) {
    ControlFlow flow;
    return DecodeControlFlow(from.module->image->CodeAt({from.address}, kMaxInstructionLength),
                             from.address, &flow) &&
           (flow.kind == BranchKind::kCall || flow.kind == BranchKind::kIndirectCall);
  }

  // Returns its name as the debug information has it, else that of its symbol; of a stub of the
  // linker, that of the function that it goes on to.
  std::string NameOfFunction(const CodeLocation& start) {
    const std::vector<LineFrame> frames = FramesAt(start);
    if (!frames.empty()) return std::string(frames.back().function);
    constexpr std::string_view kStub = "@plt";
    std::string name = start.module->image->FunctionName({start.address});
    if (name.ends_with(kStub)) name.resize(name.size() - kStub.size());
    return name;
  }

  void AddEntries(const std::string& function, double count) {
    double* const entries = &entries_[function];
    *entries = std::max(*entries, count);
  }

  const ProbedProgram& program_;
  const ProductionEngine& engine_;
  const std::string_view module_;
  std::vector<std::string>& notes_;
  std::map<uint64_t, uint64_t> instructions_;  // by address in the process
  std::map<Branch, uint64_t> branches_;
  std::map<std::string, double> calls_to_;
  std::map<std::string, double> entries_;  // of functions
  std::map<const CountedModule*, std::unique_ptr<LineTable>> lines_;
  SampleProfile profile_;
};

}  // namespace

Status CheckForSampleProfile(const ProductionSet& set) {
  for (size_t i = 0; i < set.tables().size(); ++i) {
    if (CountsInstructions(set, i)) return OkStatus();
  }
  return Status(StatusCode::kInvalidArgument,
                "--sample-profile needs productions that count by pc, as 'sample-profile' and "
                "'indirect-targets' do");
}

StatusOr<std::string> MakeSampleProfile(const ProbedProgram& program,
                                        const ProductionEngine& engine, std::string_view module,
                                        std::vector<std::string>* notes) {
  const SampleProfile profile = Maker(program, engine, module, notes).Make();
  if (profile.functions.empty()) return NoLinesToWrite();
  std::string text;
  ExportSink sink([&text](std::string_view piece) {
    text += piece;
    return OkStatus();
  });
  WriteSampleProfile(profile, &sink);
  HBBP_RETURN_IF_ERROR(sink.Finish());
  return text;
}

}  // namespace hbbp::tools
