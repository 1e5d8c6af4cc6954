// MakeSampleProfile adds the instructions of each block at their locations (AddBlock), those of the
// blocks of the same functions that have no count with 0 (AddUnseenBlocks), also where a part of
// the function has a symbol of its own ("f.cold"), and then the branches
// to the start of a function, as its entries and as calls of where they came from (AddCalls).
// Samples have no branches: where a module has none, entries are the counts of the first blocks of
// functions, and calls those of blocks that end with one (AddCallsOfBlocks).
#include "export/sample_profile.h"

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "export/frame_finder.h"
#include "export/function_part.h"
#include "export/share_text.h"
#include "image/elf_image.h"

namespace hbbp {
namespace {

class Maker {
 public:
  explicit Maker(const ExportSubject& subject) : subject_(subject), check_(subject.work.cancel) {}

  SampleProfile Make() {
    const size_t modules = analysis().data().modules.size();
    for (uint32_t module = 0; module < modules; ++module) {
      if (subject_.Wants(module)) AddModule(module);
    }
    AddCalls();
    return std::move(profile_);
  }

 private:
  const Analysis& analysis() const { return subject_.analysis; }

  void AddModule(uint32_t module) {
    double all = 0, without_lines = 0;
    std::vector<const BlockRecord*> records;
    for (const BlockRecord& record : analysis().blocks()) {
      if (record.module != module || !(record.estimate.count > 0)) continue;
      records.push_back(&record);
      all += record.estimate.count * record.block.instruction_count;
    }
    if (records.empty()) return;
    const StatusOr<const LineTable*> table = subject_.lines.Open(module);
    const std::string& path = analysis().data().modules[module].path;
    if (!table.ok()) {
      subject_.Note(path + " is left out: " + table.status().message());
      return;
    }
    FrameFinder frames(*table);
    for (const BlockRecord* record : records) {
      without_lines += AddBlock(module, record->block, record->estimate.count, &frames);
    }
    AddUnseenBlocks(module, records, &frames);
    if (!HasBranches(module)) AddCallsOfBlocks(module, records, &frames);
    if (without_lines <= all / 1000) return;
    subject_.Note(path + ": " + ShareText(without_lines, all) +
                  " of its instructions are of no line of a function, and left out");
  }

  // Returns how many instructions were executed of which no line is known.
  double AddBlock(uint32_t module, const Block& block, double count, FrameFinder* finder) {
    double without_lines = 0;
    for (const Instruction& instruction : analysis().modules().DecodeBlock(module, block)) {
      check_.Step();
      const std::vector<LineFrame>& frames = finder->At({instruction.address});
      if (!IsUsable(frames)) {
        without_lines += count;
        continue;
      }
      AddInstruction(frames, count, &profile_);
    }
    return without_lines;
  }

  // The other blocks of the functions that have counts, and of parts of them.
  void AddUnseenBlocks(uint32_t module, const std::vector<const BlockRecord*>& records,
                       FrameFinder* finder) {
    std::set<uint32_t> seen;
    for (const BlockRecord* record : records) seen.insert(record->function);
    for (const uint32_t function : seen) {
      AddUnseen(module, analysis().functions()[function].range.start, finder);
    }
    for (const ModuleAddress part : FindUnseenParts(module, seen, finder)) {
      AddUnseen(module, part, finder);
    }
  }

  void AddUnseen(uint32_t module, ModuleAddress function, FrameFinder* finder) {
    for (const Block& block : analysis().FunctionBlocks(module, function)) {
      AddBlock(module, block, 0, finder);
    }
  }

  // Returns the starts of "f.cold" for functions "f" among those seen, and the other way round.
  // Functions of several units may have the same name.
  std::vector<ModuleAddress> FindUnseenParts(uint32_t module, const std::set<uint32_t>& seen,
                                             FrameFinder* finder) {
    std::vector<ModuleAddress> parts;
    const ResolvedModules::Use use = analysis().modules().Open(module);
    if (use->code == nullptr || !use->offsets_are_of_file) return parts;
    std::map<std::string_view, std::set<ModuleAddress>> functions;
    for (const uint32_t index : seen) {
      const FunctionRecord& record = analysis().functions()[index];
      const ModuleAddress function = OutermostFunction(finder->At(record.range.start));
      functions[WithoutPart(record.name)].insert(function);
    }
    const auto& image = static_cast<const ElfImage&>(*use->code);
    for (const AddressRange& range : image.AllFunctions()) {
      check_.Step();
      const std::string name = image.FunctionName(range.start);
      const auto whole = functions.find(WithoutPart(name));
      if (whole == functions.end()) continue;
      const uint32_t index = FindFunction(analysis().functions(), module, range.start);
      if (index != kNoIndex && seen.contains(index)) continue;
      const ModuleAddress function = OutermostFunction(finder->At(range.start));
      if (function.value != 0 && whole->second.contains(function)) parts.push_back(range.start);
    }
    return parts;
  }

  // Returns the lowest address of the function that all frames are inlined in, or 0.
  static ModuleAddress OutermostFunction(const std::vector<LineFrame>& frames) {
    return frames.empty() ? ModuleAddress{} : frames.back().start;
  }

  bool HasBranches(uint32_t module) {
    if (modules_with_branches_.empty()) {
      modules_with_branches_.resize(analysis().data().modules.size());
      for (const TakenBranchRecord& branch : analysis().branches()) {
        const bool is_known = branch.count > 0 && branch.to_module != kNoIndex;
        if (is_known) modules_with_branches_[branch.to_module] = true;
      }
    }
    return modules_with_branches_[module];
  }

  void AddCallsOfBlocks(uint32_t module, const std::vector<const BlockRecord*>& records,
                        FrameFinder* finder) {
    for (const BlockRecord* record : records) {
      const Block& block = record->block;
      const double count = record->estimate.count;
      const FunctionStart* const own = FunctionStartingAt(module, block.start);
      if (own != nullptr) AddEntries(*own, count);
      const bool may_call = block.has_target && (block.terminator == BranchKind::kCall ||
                                                 block.terminator == BranchKind::kJump);
      if (!may_call) continue;
      const FunctionStart* const callee = FunctionStartingAt(module, block.target);
      const std::vector<Instruction> instructions = analysis().modules().DecodeBlock(module, block);
      if (callee == nullptr || instructions.empty()) continue;
      const ModuleAddress from = {instructions.back().address};
      const std::vector<LineFrame>& frames = finder->At(from);
      if (!IsUsable(frames) || IsLoop({module, from}, {module, block.target})) continue;
      SampledLineAt(frames, 0, &profile_)->calls[callee->name] += count;
    }
  }

  // Calls are branches to the start of a function, but for jumps of its own: loops begin there,
  // too, and its parts jump back to it.
  void AddCalls() {
    for (const TakenBranchRecord& branch : analysis().branches()) {
      check_.Step();
      if (!(branch.count > 0) || branch.to_module == kNoIndex || branch.to == kNoAddress) continue;
      const FunctionStart* const callee = FunctionStartingAt(branch.to_module, branch.to);
      if (callee == nullptr) continue;
      if (IsLoop({branch.from_module, branch.from}, {branch.to_module, branch.to})) continue;
      if (subject_.Wants(branch.to_module)) AddEntries(*callee, branch.count);
      if (branch.from_module == kNoIndex || branch.from == kNoAddress) continue;
      if (!subject_.Wants(branch.from_module)) continue;
      const StatusOr<const LineTable*> table = subject_.lines.Open(branch.from_module);
      if (!table.ok()) continue;
      const LineRange caller = (*table)->Find(branch.from);
      if (!IsUsable(caller.frames)) continue;
      SampledLineAt(caller.frames, 0, &profile_)->calls[callee->name] += branch.count;
    }
  }

  struct Location {
    uint32_t module;
    ModuleAddress address;
  };

  bool IsLoop(const Location& from, const Location& to) const {
    if (from.module != to.module || from.address == kNoAddress) return false;
    const uint32_t function = FindFunction(analysis().functions(), to.module, to.address);
    const bool is_near = analysis().functions()[function].range.Contains(from.address);
    if (!is_near && !AreOfOneFunction(from, to)) return false;
    const StatusOr<Instruction> branch = analysis().modules().Decode(from.module, from.address);
    return branch.ok() && branch->branch != BranchKind::kCall &&
           branch->branch != BranchKind::kIndirectCall;
  }

  bool AreOfOneFunction(const Location& a, const Location& b) const {
    const StatusOr<const LineTable*> table = subject_.lines.Open(a.module);
    if (!table.ok()) return false;
    const ModuleAddress function = OutermostFunction((*table)->Find(a.address).frames);
    return function.value != 0 && function == OutermostFunction((*table)->Find(b.address).frames);
  }

  struct FunctionStart {
    std::string name;  // as the debug information has it, else that of its symbol
    bool is_stub = false;
  };

  // The jump out of a stub enters the function, and not the call of the stub.
  void AddEntries(const FunctionStart& start, double count) {
    const auto known = profile_.functions.find(start.name);
    if (known != profile_.functions.end() && !start.is_stub) known->second.entries += count;
  }

  // Returns null if none starts there.
  const FunctionStart* FunctionStartingAt(uint32_t module, ModuleAddress address) {
    const auto key = std::pair(module, address.value);
    const auto [known, is_new] = starts_.try_emplace(key);
    if (is_new) known->second = FindFunctionStart(module, address);
    return known->second ? &*known->second : nullptr;
  }

  std::optional<FunctionStart> FindFunctionStart(uint32_t module, ModuleAddress address) const {
    std::optional<std::string> symbol = FindSymbolAtStart(analysis(), module, address);
    if (!symbol) return {};
    const uint32_t index = FindFunction(analysis().functions(), module, address);
    const bool is_stub = analysis().functions()[index].name.size() != symbol->size();
    const StatusOr<const LineTable*> table = subject_.lines.Open(module);
    // clang may also outline rarely executed code, and calls such a function "f.cold.1": unlike a
    // part, it has that name in the debug information.
    bool is_part = IsPart(*symbol);
    if (table.ok()) {
      const LineRange found = (*table)->Find(address);
      is_part = is_part && (found.frames.empty() || found.frames.back().function != *symbol);
      if (!is_part && IsUsable(found.frames)) {
        return FunctionStart{std::string(found.frames.back().function)};
      }
    }
    if (is_part) return {};
    return FunctionStart{*std::move(symbol), is_stub};
  }

  const ExportSubject& subject_;
  CancelCheck check_;
  SampleProfile profile_;
  std::map<std::pair<uint32_t, uint64_t>, std::optional<FunctionStart>> starts_;
  std::vector<bool> modules_with_branches_;
};

}  // namespace

std::optional<std::string> FindSymbolAtStart(const Analysis& analysis, uint32_t module,
                                             ModuleAddress address) {
  const uint32_t index = FindFunction(analysis.functions(), module, address);
  if (index == kNoIndex || analysis.functions()[index].range.start != address) return {};
  const std::string& name = analysis.functions()[index].name;
  constexpr std::string_view kStub = "@plt";
  return name.ends_with(kStub) ? name.substr(0, name.size() - kStub.size()) : name;
}

SampleProfile MakeSampleProfile(const ExportSubject& subject) { return Maker(subject).Make(); }

}  // namespace hbbp
