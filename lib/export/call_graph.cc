// MakeCallGraph collects the transfers of taken branches and blocks, then the callers of functions
// that have none, and shares the costs at last.
#include "export/call_graph.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "export/call_costs.h"
#include "export/code_callers.h"
#include "export/export_sink.h"
#include "export/function_part.h"
#include "image/elf_image.h"

namespace hbbp {
namespace {

// More entries than calls by so many standard errors are of unknown callers.
constexpr double kSignificantErrors = 3;

constexpr std::string_view kStub = "@plt";

bool IsCallInstruction(BranchKind kind) {
  return kind == BranchKind::kCall || kind == BranchKind::kIndirectCall;
}

bool IsJump(BranchKind kind) {
  return kind == BranchKind::kConditional || kind == BranchKind::kJump ||
         kind == BranchKind::kIndirectJump;
}

class Maker {
 public:
  explicit Maker(const ExportSubject& subject)
      : subject_(subject), check_(subject.work.cancel), code_callers_(subject) {}

  CallGraph Make() {
    graph_.functions = analysis().functions();
    own_.resize(functions().size());
    entries_.resize(functions().size());
    loops_at_start_.resize(functions().size());
    for (const TakenBranchRecord& branch : analysis().branches()) {
      check_.Step();
      if (branch.count > 0) AddBranch(branch);
    }
    for (const BlockRecord& record : analysis().blocks()) {
      check_.Step();
      if (subject_.Wants(record.module) && WholeCount(record.estimate.count) != 0) AddBlock(record);
    }
    main_ = FindMain();
    std::vector<uint32_t> without_caller = AddCallersInCode();
    FindUnknownCalls(without_caller);
    if (main_ != kNoIndex) AddSpontaneous();
    ShareCostsOfTransfers();
    for (const auto& [ends, transfer] : transfers_) graph_.transfers.push_back(transfer);
    return std::move(graph_);
  }

 private:
  using Ends = std::tuple<uint32_t, ModuleAddress, uint32_t, ModuleAddress>;

  const Analysis& analysis() const { return subject_.analysis; }
  std::vector<FunctionRecord>& functions() { return graph_.functions; }

  void AddBranch(const TakenBranchRecord& branch) {
    const bool is_known = branch.from_module != kNoIndex && branch.to_module != kNoIndex &&
                          branch.from != kNoAddress && branch.to != kNoAddress;
    if (!is_known || !subject_.Wants(branch.from_module) || !subject_.Wants(branch.to_module)) {
      return;
    }
    const StatusOr<Instruction> from = analysis().modules().Decode(branch.from_module, branch.from);
    if (!from.ok()) return;
    ControlTransfer transfer;
    transfer.from_module = branch.from_module;
    transfer.to_module = branch.to_module;
    transfer.from = branch.from;
    transfer.to = branch.to;
    transfer.caller = FindFunction(functions(), branch.from_module, branch.from);
    transfer.count = branch.count;
    Add(from->branch, transfer);
  }

  void AddBlock(const BlockRecord& record) {
    const double count = static_cast<double>(WholeCount(record.estimate.count));
    own_[record.function] += count * record.block.instruction_count;
    if (record.block.start == functions()[record.function].range.start) {
      entries_[record.function] = record.estimate;
    }
    const BranchKind kind = record.block.terminator;
    if (kind == BranchKind::kConditional && record.block.has_target &&
        record.block.target == functions()[record.function].range.start) {
      loops_at_start_[record.function] = true;
    }
    const uint32_t behind = kind == BranchKind::kIndirectJump ? BehindStub(record) : kNoIndex;
    const bool is_direct =
        record.block.has_target && (kind == BranchKind::kCall || kind == BranchKind::kJump);
    if (!is_direct && behind == kNoIndex) return;
    const std::vector<Instruction> instructions =
        analysis().modules().DecodeBlock(record.module, record.block);
    if (instructions.empty()) return;
    ControlTransfer transfer;
    transfer.from_module = record.module;
    transfer.to_module = is_direct ? record.module : functions()[behind].module;
    transfer.from = {instructions.back().address};
    transfer.to = is_direct ? record.block.target : functions()[behind].range.start;
    transfer.caller = record.function;
    transfer.count = count;
    Add(kind, transfer);
  }

  // Returns the function f for a block of the stub f@plt, if there is one and only one.
  uint32_t BehindStub(const BlockRecord& record) {
    std::string_view name = functions()[record.function].name;
    if (!name.ends_with(kStub)) return kNoIndex;
    name.remove_suffix(kStub.size());
    if (by_name_.empty()) {
      for (uint32_t i = 0; i < functions().size(); ++i) by_name_.emplace(functions()[i].name, i);
    }
    const auto [first, last] = by_name_.equal_range(name);
    const bool is_only_one = first != last && std::next(first) == last;
    return is_only_one && subject_.Wants(functions()[first->second].module) ? first->second
                                                                            : kNoIndex;
  }

  // Replaces the count of one that is there.
  void Add(BranchKind kind, ControlTransfer transfer) {
    transfer.callee = FindFunction(functions(), transfer.to_module, transfer.to);
    if (transfer.caller == kNoIndex || transfer.callee == kNoIndex) return;
    if (IsCallInstruction(kind) ||
        (IsJump(kind) && transfer.caller != transfer.callee && !IsBackFromPart(transfer))) {
      transfer.kind = TransferKind::kCall;
    } else if (IsJump(kind) && transfer.caller == transfer.callee) {
      transfer.kind =
          kind == BranchKind::kConditional ? TransferKind::kConditionalJump : TransferKind::kJump;
    } else {
      return;
    }
    transfers_[KeyOf(transfer)] = transfer;
  }

  bool IsBackFromPart(const ControlTransfer& transfer) {
    const std::string& from = functions()[transfer.caller].name;
    const std::string& to = functions()[transfer.callee].name;
    return IsPart(from) && WithoutPart(from) == WithoutPart(to);
  }

  static Ends KeyOf(const ControlTransfer& transfer) {
    return {transfer.from_module, transfer.from, transfer.to_module, transfer.to};
  }

  // Returns the function main, if there is one and only one in the files of the profile.
  uint32_t FindMain() {
    std::optional<std::pair<uint32_t, ModuleAddress>> found;
    const std::vector<ModuleRecord>& modules = analysis().data().modules;
    for (uint32_t module = 0; module < modules.size(); ++module) {
      if (modules[module].kind != ModuleKind::kFile || !subject_.Wants(module)) continue;
      const ResolvedModules::Use use = analysis().modules().Open(module);
      if (use->code == nullptr || !use->offsets_are_of_file) continue;
      const auto& image = static_cast<const ElfImage&>(*use->code);
      const std::optional<ModuleAddress> address = image.AddressOfSymbol("main");
      if (!address || image.FunctionName(*address) != "main") continue;
      if (found) return kNoIndex;
      found.emplace(module, *address);
    }
    if (!found) return kNoIndex;
    code_callers_.AddModule(found->first);
    return FindOrAddFunction(found->first, found->second);
  }

  uint32_t FindOrAddFunction(uint32_t module, ModuleAddress address) {
    const uint32_t counted = FindFunction(analysis().functions(), module, address);
    if (counted != kNoIndex) return counted;
    FunctionRecord function;
    function.module = module;
    {
      const ResolvedModules::Use use = analysis().modules().Open(module);
      function.range =
          use->code->FunctionAround(address).value_or(AddressRange{address, address + 1});
      function.name = NameOrAddress(use->code->FunctionName(address), function.range.start);
    }
    const auto next = static_cast<uint32_t>(functions().size());
    const auto [known, is_new] = added_.try_emplace({module, function.range.start}, next);
    if (is_new) AddFunction(std::move(function));
    return known->second;
  }

  uint32_t AddFunction(FunctionRecord function) {
    functions().push_back(std::move(function));
    own_.push_back(0);
    entries_.emplace_back();
    loops_at_start_.push_back(false);
    return static_cast<uint32_t>(functions().size() - 1);
  }

  std::vector<CallArc> Arcs() const {
    std::vector<CallArc> arcs;
    for (const auto& [ends, transfer] : transfers_) {
      if (transfer.kind != TransferKind::kCall) continue;
      arcs.push_back({transfer.caller, transfer.callee, transfer.count});
    }
    return arcs;
  }

  // Returns cycles that no call from outside is known of, as their functions.
  std::vector<std::vector<uint32_t>> CyclesWithoutCaller() const {
    const std::vector<CallArc> arcs = Arcs();
    const std::vector<uint32_t> cycles = FindCycles(own_.size(), arcs);
    std::vector<bool> has_caller(own_.size());  // by cycle
    if (main_ != kNoIndex) has_caller[cycles[main_]] = true;
    for (const CallArc& arc : arcs) {
      if (cycles[arc.caller] != cycles[arc.callee]) has_caller[cycles[arc.callee]] = true;
    }
    std::map<uint32_t, std::vector<uint32_t>> found;
    for (uint32_t i = 0; i < own_.size(); ++i) {
      const bool is_in_graph = own_[i] > 0 || i >= analysis().functions().size();
      if (is_in_graph && !has_caller[cycles[i]]) found[cycles[i]].push_back(i);
    }
    std::vector<std::vector<uint32_t>> members;
    for (auto& [cycle, functions] : found) members.push_back(std::move(functions));
    return members;
  }

  // Adds calls by callers that are in turn without callers, until there are no more. Returns a
  // function of each cycle that remains without a caller.
  std::vector<uint32_t> AddCallersInCode() {
    std::vector<uint32_t> without;
    for (bool has_added = true; has_added;) {
      has_added = false;
      without.clear();
      for (const std::vector<uint32_t>& members : CyclesWithoutCaller()) {
        if (AddCallerInCode(members)) {
          has_added = true;
        } else {
          without.push_back(
              *std::ranges::max_element(members, {}, [this](uint32_t i) { return own_[i]; }));
        }
      }
    }
    return without;
  }

  bool AddCallerInCode(const std::vector<uint32_t>& members) {
    std::vector<std::pair<CodeCall, uint32_t>> calls;  // with the callee
    std::set<std::pair<uint32_t, ModuleAddress>> callers;
    for (const uint32_t callee : members) {
      for (const CodeCall& call : code_callers_.Find(functions()[callee])) {
        const ModuleAddress start = StartOfFunction(call.module, call.from);
        const uint32_t known = FindKnownFunction(call.module, start);
        if (known != kNoIndex && std::ranges::find(members, known) != members.end()) continue;
        calls.emplace_back(call, callee);
        callers.emplace(call.module, start);
      }
    }
    if (callers.size() != 1) return false;
    const uint32_t caller = FindOrAddFunction(callers.begin()->first, callers.begin()->second);
    for (const auto& [call, callee] : calls) {
      const double entries = entries_[callee].count / static_cast<double>(calls.size());
      AddCall(caller, call.from, callee, std::max(entries, 1.0));
    }
    return true;
  }

  ModuleAddress StartOfFunction(uint32_t module, ModuleAddress address) const {
    const ResolvedModules::Use use = analysis().modules().Open(module);
    const std::optional<AddressRange> range = use->code->FunctionAround(address);
    return range ? range->start : address;
  }

  uint32_t FindKnownFunction(uint32_t module, ModuleAddress start) const {
    const uint32_t counted = FindFunction(analysis().functions(), module, start);
    if (counted != kNoIndex) return counted;
    const auto known = added_.find({module, start});
    return known == added_.end() ? kNoIndex : known->second;
  }

  void FindUnknownCalls(const std::vector<uint32_t>& without_caller) {
    std::vector<double> arrivals(functions().size());
    for (const auto& [ends, transfer] : transfers_) {
      if (transfer.to != functions()[transfer.callee].range.start) continue;
      arrivals[transfer.callee] += transfer.count;
    }
    unknown_calls_.resize(functions().size());
    const bool has_branches = !analysis().branches().empty();
    for (size_t i = 0; i < arrivals.size(); ++i) {
      // Samples do not say how often a conditional jump was taken.
      if (loops_at_start_[i] && !has_branches) continue;
      const double missing = entries_[i].count - arrivals[i];
      if (missing > kSignificantErrors * entries_[i].standard_error) unknown_calls_[i] = missing;
    }
    for (const uint32_t function : without_caller) {
      unknown_calls_[function] = std::max(unknown_calls_[function], 1.0);
    }
    if (main_ != kNoIndex) unknown_calls_[main_] = 0;
  }

  // Makes main the caller of all functions that it may have called and whose callers are unknown.
  void AddSpontaneous() {
    const std::vector<bool> calls_main = FindCallersOfMain();
    std::vector<uint32_t> called;
    for (uint32_t i = 0; i < functions().size(); ++i) {
      if (!calls_main[i] && unknown_calls_[i] > 0) called.push_back(i);
    }
    if (called.empty()) return;
    FunctionRecord record;
    record.module = functions()[main_].module;
    record.name = kSpontaneous;
    const uint32_t spontaneous = AddFunction(std::move(record));
    unknown_calls_.push_back(0);
    AddCall(main_, functions()[main_].range.start, spontaneous, 1);
    for (const uint32_t i : called) {
      AddCall(spontaneous, {0}, i, std::exchange(unknown_calls_[i], 0));
    }
  }

  void AddCall(uint32_t caller, ModuleAddress from, uint32_t callee, double count) {
    ControlTransfer transfer;
    transfer.kind = TransferKind::kCall;
    transfer.from_module = functions()[caller].module;
    transfer.to_module = functions()[callee].module;
    transfer.from = from;
    transfer.to = functions()[callee].range.start;
    transfer.caller = caller;
    transfer.callee = callee;
    transfer.count = count;
    transfers_[KeyOf(transfer)] = transfer;
  }

  // Returns by function whether it calls main, itself or by others, or is main.
  std::vector<bool> FindCallersOfMain() {
    std::multimap<uint32_t, uint32_t> callers;
    for (const auto& [ends, transfer] : transfers_) {
      if (transfer.kind == TransferKind::kCall) callers.emplace(transfer.callee, transfer.caller);
    }
    std::vector<bool> found(functions().size());
    found[main_] = true;
    std::vector<uint32_t> waiting = {main_};
    while (!waiting.empty()) {
      const auto [first, last] = callers.equal_range(waiting.back());
      waiting.pop_back();
      for (auto caller = first; caller != last; ++caller) {
        if (found[caller->second]) continue;
        found[caller->second] = true;
        waiting.push_back(caller->second);
      }
    }
    return found;
  }

  void ShareCostsOfTransfers() {
    std::vector<CallArc> arcs = Arcs();
    ShareCosts(own_, unknown_calls_, arcs);
    auto arc = arcs.begin();
    for (auto& [ends, transfer] : transfers_) {
      if (transfer.kind == TransferKind::kCall) transfer.instructions = (arc++)->cost;
    }
  }

  const ExportSubject& subject_;
  CancelCheck check_;
  CodeCallers code_callers_;
  CallGraph graph_;
  std::map<Ends, ControlTransfer> transfers_;
  std::map<std::pair<uint32_t, ModuleAddress>, uint32_t> added_;  // functions, by their start
  uint32_t main_ = kNoIndex;
  std::multimap<std::string, uint32_t, std::less<>> by_name_;  // functions
  // By function:
  std::vector<double> own_;
  std::vector<CountEstimate> entries_;
  std::vector<bool> loops_at_start_;  // by a conditional jump
  std::vector<double> unknown_calls_;
};

}  // namespace

std::span<const ControlTransfer> CallGraph::From(uint32_t module, ModuleAddress address) const {
  const auto key = [](const ControlTransfer& transfer) {
    return std::pair(transfer.from_module, transfer.from);
  };
  const auto origin = std::pair(module, address);
  return {std::ranges::lower_bound(transfers, origin, {}, key),
          std::ranges::upper_bound(transfers, origin, {}, key)};
}

CallGraph MakeCallGraph(const ExportSubject& subject) { return Maker(subject).Make(); }

}  // namespace hbbp
