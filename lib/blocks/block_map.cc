// BlockMap divides the code of a module into parts (functions, cold parts, windows) and takes a
// part through the stages of `Stage` when Find or FunctionBlocks asks for an address in it: Scan
// decodes its instructions, ReadTables follows its indirect jumps to jump tables, and Finish adds
// the leaders that related parts give and counts the statistics. AddInstructionEvidence and
// AddLeaderEvidence put a part back to an earlier stage where a run disproves the decoding.
// analysis/ and estimate/ call it for every sampled address and every stream.
#include "blocks/block_map.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "blocks/bitmap.h"
#include "blocks/function_scan.h"
#include "blocks/jump_table.h"
#include "blocks/no_return.h"

namespace hbbp {
namespace {

constexpr uint64_t kMaxPartSize = uint64_t{1} << 20;
constexpr uint64_t kWindowSize = uint64_t{1} << 16;
// Decoding that starts inside an instruction is back in step after so many bytes.
constexpr uint64_t kWindowLeadIn = 128;
// A part is related to at most so many other parts.
constexpr size_t kMaxRelated = 32;
constexpr size_t kMaxRelatedWindows = 8;
// A stub is a second entry to a function in assembly: it lies next to the function and jumps into
// it.
constexpr uint64_t kMaxStubSize = 64;
constexpr int kMaxStubs = 6;  // on each side, padding included
// One entry may land on an instruction by chance, but hardly two.
constexpr uint32_t kMinGuessedEntries = 2;
// These bound the work that hostile code can cause; no compiler comes near them.
constexpr size_t kMaxAnalyzedJumps = 4096;
constexpr size_t kMaxEntriesPerPart = size_t{1} << 18;
constexpr size_t kMaxLoadedAddresses = 4096;
constexpr size_t kMaxGuessedForms = 64;
constexpr size_t kMaxGuesses = 64;
// The index of a table may begin at a number up to this, such as that of a letter.
constexpr uint64_t kMaxBias = 256;

// The stages of a part, in order. Each stage needs the stages before it, of this part and of those
// that it is related to, so that no stage depends on itself.
enum class Stage : uint8_t {
  kNew,
  kScanned,  // instructions, and leaders that the part alone gives
  kTabled,   // entries of jump tables
  kReady,    // leaders that jumps from related parts give
};

struct JumpTableStatistics {
  uint32_t tables = 0;
  uint32_t entries = 0;
  uint32_t unresolved = 0;
};

// A jump table, and the jumps through it, which may be many.
struct TableOfJumps {
  std::vector<uint32_t> jumps;    // offsets in the part
  std::vector<uint64_t> targets;  // sorted, each once
};

struct Part {
  AddressRange range;
  AddressRange extent;  // larger than the range if the part is a window
  Stage stage = Stage::kNew;
  uint64_t epoch = 0;  // the epoch in which it got beyond kScanned
  FunctionScan scan;
  Bitmap leaders;                       // includes those of the scan
  std::vector<uint64_t> table_targets;  // inside and outside the part; sorted, each once
  std::vector<TableOfJumps> tables_of_jumps;
  JumpTableStatistics tables;
  std::vector<Part*> related;
  BlockMapStatistics counted;  // the share of this part in the statistics
  std::set<uint32_t> known_starts;
  std::set<uint32_t> known_leaders;

  uint64_t start() const { return range.start.value; }
  uint32_t size() const { return static_cast<uint32_t>(range.end - range.start); }
  bool is_window() const { return range != extent; }
  size_t max_related() const { return is_window() ? kMaxRelatedWindows : kMaxRelated; }
  bool Contains(uint64_t address) const { return range.Contains({address}); }
  uint32_t Offset(uint64_t address) const { return static_cast<uint32_t>(address - start()); }
};

// A TableForm is everything about a jump table but its base and its number of entries.
using TableForm = std::array<uint64_t, 4>;

TableForm FormOf(const JumpTable& table) {
  return {table.displacement, table.relative, table.entry_size, table.sign_extended};
}

struct GuessedBase {
  uint32_t loaded_at;  // offset of the instruction in its part
  uint64_t base;
};
using GuessedBases = std::map<std::pair<TableForm, int>, std::vector<GuessedBase>>;

// Returns whether a direct jump in `code` may lead into `range`. Scans bytes without decoding,
// because most candidates are not stubs.
bool MayJumpInto(std::span<const uint8_t> code, uint64_t address, const AddressRange& range) {
  const auto reaches = [&](size_t end, int64_t distance) {
    return range.Contains({address + end + static_cast<uint64_t>(distance)});
  };
  for (size_t i = 1; i < code.size(); ++i) {
    const uint8_t opcode = code[i - 1];
    const bool is_short = opcode == 0xeb || (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0;
    if (is_short && reaches(i + 1, static_cast<int8_t>(code[i]))) return true;
    const bool is_near = opcode == 0xe9 || (opcode & 0xf0) == 0x80;
    int32_t distance = 0;
    if (!is_near || code.size() - i < sizeof(distance)) continue;
    std::memcpy(&distance, code.data() + i, sizeof(distance));
    if (reaches(i + sizeof(distance), distance)) return true;
  }
  return false;
}

void SortEachOnce(std::vector<uint64_t>* addresses) {
  std::sort(addresses->begin(), addresses->end());
  addresses->erase(std::unique(addresses->begin(), addresses->end()), addresses->end());
  addresses->shrink_to_fit();
}

uint64_t Distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

struct BlockMap::State {
  explicit State(const ModuleCode* module) : code(module), no_return(module) {}

  Part* PartAround(uint64_t address);
  Part* MakePart(uint64_t address);
  void Scan(Part* part);
  void CollectRelated(Part* part);
  bool Relate(Part* part, Part* other);
  void ReadTables(Part* part);
  // Returns the index of the table among those of the part.
  std::optional<size_t> AddTable(Part* part, const JumpTable& table, uint64_t end);
  IndirectJump Analyze(const Part& part, uint32_t jump) const;
  std::vector<JumpTable> TablesOfJump(Part* part, uint32_t offset, const IndirectJump& jump,
                                      const std::set<uint64_t>& known,
                                      const std::map<uint64_t, uint64_t>& guarded,
                                      GuessedBases* guessed);
  std::vector<GuessedBase> GuessBases(Part* part, JumpTable form, const std::set<uint64_t>& known);
  std::vector<std::pair<uint32_t, LoadedAddress>> LoadedAddresses(const Part& part) const;
  JumpTable Unbiased(Part* part, JumpTable table, const std::map<uint64_t, uint64_t>& guarded);
  std::vector<uint64_t> ReadTable(Part* part, const JumpTable& table, uint64_t end);
  bool IsEntry(Part* part, uint64_t target, bool bounded);
  void Finish(Part* part);
  void AddStubLeaders(Part* part);
  bool AddStubLeaders(Part* part, const AddressRange& stub);
  void AddLeaders(Part* part, const std::vector<uint64_t>& targets);
  void Count(Part* part);
  // Returns the part around `address` in stage kReady.
  Part* ReadyPart(uint64_t address);
  void AddStart(Part* part, uint32_t offset);
  std::optional<Block> BlockAt(const Part& part, uint32_t offset);

  const ModuleCode* code;
  NoReturn no_return;
  std::map<uint64_t, std::unique_ptr<Part>> parts;
  Part* last = nullptr;
  // Advances when evidence changes the instructions of a part that other parts may depend on.
  uint64_t epoch = 0;
  BlockMapStatistics statistics;
};

Part* BlockMap::State::PartAround(uint64_t address) {
  if (last != nullptr && last->Contains(address)) return last;
  auto next = parts.upper_bound(address);
  if (next != parts.begin()) {
    Part* part = std::prev(next)->second.get();
    if (part->Contains(address)) return last = part;
  }
  Part* part = MakePart(address);
  if (part != nullptr) last = part;
  return part;
}

Part* BlockMap::State::MakePart(uint64_t address) {
  const auto extent = code->FunctionAround({address});
  if (!extent.has_value() || !extent->Contains({address})) return nullptr;
  AddressRange range = *extent;
  if (range.end - range.start > kMaxPartSize) {
    const uint64_t window = address & ~(kWindowSize - 1);
    range.start.value = std::max(range.start.value, window);
    if (range.end - range.start > kWindowSize - (range.start.value - window)) {
      range.end.value = window + kWindowSize;
    }
  }
  // Functions of a damaged module may overlap; parts must not.
  const auto next = parts.upper_bound(address);
  if (next != parts.end()) range.end = std::min(range.end, next->second->range.start);
  if (next != parts.begin()) {
    range.start = std::max(range.start, std::prev(next)->second->range.end);
  }
  auto part = std::make_unique<Part>();
  part->range = range;
  part->extent = extent->end - extent->start > kMaxPartSize ? *extent : range;
  Part* made = part.get();
  parts.emplace(range.start.value, std::move(part));
  return made;
}

void BlockMap::State::Scan(Part* part) {
  if (part->stage >= Stage::kScanned) return;
  const std::vector<uint32_t> known(part->known_starts.begin(), part->known_starts.end());
  ScanInput input;
  input.start = part->start();
  input.size = part->size();
  input.known_starts = known;
  uint64_t end = part->range.end.value;
  if (part->is_window()) {
    input.lead_in =
        static_cast<uint32_t>(std::min(kWindowLeadIn, part->range.start - part->extent.start));
    end += std::min<uint64_t>(kMaxInstructionLength, part->extent.end - part->range.end);
  }
  const uint64_t start = input.start - input.lead_in;
  input.code = code->CodeAt({start}, end - start);
  if (input.code.size() > end - start) input.code = input.code.first(end - start);
  part->scan = ScanFunction(input);
  part->stage = Stage::kScanned;
}

bool BlockMap::State::Relate(Part* part, Part* other) {
  if (other == nullptr || other == part) return false;
  if (std::find(part->related.begin(), part->related.end(), other) != part->related.end()) {
    return true;
  }
  if (part->related.size() == part->max_related()) return false;
  part->related.push_back(other);
  return true;
}

void BlockMap::State::CollectRelated(Part* part) {
  part->related.clear();
  if (part->is_window()) {
    if (part->extent.start < part->range.start) Relate(part, PartAround(part->start() - 1));
    if (part->range.end < part->extent.end) Relate(part, PartAround(part->range.end.value));
  }
  std::vector<uint64_t> nearest = part->scan.exits;
  std::sort(nearest.begin(), nearest.end(), [part](uint64_t a, uint64_t b) {
    return std::pair(Distance(a, part->start()), a) < std::pair(Distance(b, part->start()), b);
  });
  for (const uint64_t exit : nearest) {
    if (part->related.size() == part->max_related()) break;
    Relate(part, PartAround(exit));
  }
}

bool BlockMap::State::IsEntry(Part* part, uint64_t target, bool bounded) {
  if (part->Contains(target)) return part->scan.starts.Test(part->Offset(target));
  Part* other = nullptr;
  if (bounded) {
    other = PartAround(target);
    if (!Relate(part, other)) return false;
  } else {
    const auto found =
        std::find_if(part->related.begin(), part->related.end(),
                     [target](const Part* candidate) { return candidate->Contains(target); });
    if (found == part->related.end()) return false;
    other = *found;
  }
  Scan(other);
  return other->scan.starts.Test(other->Offset(target));
}

std::vector<uint64_t> BlockMap::State::ReadTable(Part* part, const JumpTable& table, uint64_t end) {
  const uint32_t count = table.entry_count == 0 ? kMaxJumpTableEntries
                                                : std::min(table.entry_count, kMaxJumpTableEntries);
  const auto bytes = code->DataAt({table.address()}, size_t{count} * table.entry_size);
  std::vector<uint64_t> targets;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t position = size_t{i} * table.entry_size;
    if (position + table.entry_size > bytes.size()) break;
    if (!table.guarded && i > 0 && table.address() + position >= end) break;
    uint64_t entry = 0;
    std::memcpy(&entry, bytes.data() + position, table.entry_size);
    if (table.entry_size == sizeof(entry) && !table.relative) {
      entry = code->PointerAt({table.address() + position}).value_or(ModuleAddress{entry}).value;
    }
    const uint64_t target = table.Target(entry);
    // Where default cannot be reached, clang has holes lead to the end of the function.
    if (i > 0 && target == part->extent.end.value) continue;
    if (!IsEntry(part, target, table.entry_count != 0)) break;
    targets.push_back(target);
  }
  return targets;
}

// Where an index begins at another number than 0, compilers may subtract that from the address of
// the table instead. Returns the table from its first entry on. `guarded` has the ends of tables,
// by address, whose sizes are known.
JumpTable BlockMap::State::Unbiased(Part* part, JumpTable table,
                                    const std::map<uint64_t, uint64_t>& guarded) {
  const auto skip = [&table](uint64_t entries) {
    table.displacement += entries * table.entry_size;
    if (table.entry_count > entries) {
      table.entry_count -= static_cast<uint32_t>(entries);
    } else {
      table.entry_count = 0;
      table.guarded = false;
    }
  };
  if (table.base != 0) {
    // The base is the label of the table, unless entries count from one in the code.
    const uint64_t bias = ~table.displacement + 1;
    if (bias != 0 && bias <= kMaxBias * table.entry_size && bias % table.entry_size == 0 &&
        code->CodeAt({table.base}, 1).empty()) {
      skip(bias / table.entry_size);
    }
    return table;
  }
  if (table.guarded || table.relative || table.entry_size != sizeof(uint64_t)) return table;
  // No label is known. What lies before the table leads elsewhere or belongs to another table.
  for (uint64_t bias = 0; bias < kMaxBias; ++bias) {
    JumpTable tried = table;
    tried.displacement += bias * table.entry_size;
    if (bias > 0) tried.entry_count = 0;
    const auto other = guarded.upper_bound(tried.address());
    if (other != guarded.begin() && tried.address() < std::prev(other)->second) continue;
    const uint64_t end = tried.address() + kMinGuessedEntries * tried.entry_size;
    const size_t min_entries = bias > 0 ? kMinGuessedEntries : 1;
    if (ReadTable(part, tried, end).size() < min_entries) continue;
    skip(bias);
    return table;
  }
  return table;
}

// Guesses the base of a table that was loaded too far from the jump, such as before the loop around
// it: it tries every address that the function loads into that register, then every other one, but
// for those of jumps whose base is known; if there is none, those too. What passes for a table is
// the table of this jump or of another one without a known base; the leaders are right in both
// cases.
std::vector<GuessedBase> BlockMap::State::GuessBases(Part* part, JumpTable form,
                                                     const std::set<uint64_t>& known) {
  form.base_known = true;
  form.entry_count = 0;
  form.guarded = false;
  std::vector<GuessedBase> same_register;
  std::vector<GuessedBase> others;
  std::map<uint64_t, bool> passes;
  for (const auto& [offset, load] : LoadedAddresses(*part)) {
    auto& bases = load.register_number == form.base_register ? same_register : others;
    if (bases.size() == kMaxGuesses || known.contains(load.address)) continue;
    const auto [tried, is_new] = passes.try_emplace(load.address, false);
    if (is_new) {
      form.base = load.address;
      const JumpTable table = Unbiased(part, form, {});
      const uint64_t end = table.address() + kMinGuessedEntries * table.entry_size;
      tried->second = ReadTable(part, table, end).size() == kMinGuessedEntries;
    }
    if (tried->second) bases.push_back({offset, load.address});
  }
  return same_register.empty() ? others : same_register;
}

std::vector<std::pair<uint32_t, LoadedAddress>> BlockMap::State::LoadedAddresses(
    const Part& part) const {
  const Bitmap& starts = part.scan.starts;
  const auto bytes = code->CodeAt(part.range.start, part.size());
  std::vector<std::pair<uint32_t, LoadedAddress>> loads;
  for (uint32_t offset = starts.FindAtOrAfter(0);
       offset < bytes.size() && loads.size() < kMaxLoadedAddresses;
       offset = starts.FindAtOrAfter(offset + 1)) {
    const auto load = DecodeAddressLoad(bytes.subspan(offset), part.start() + offset);
    if (load.has_value()) loads.emplace_back(offset, *load);
  }
  return loads;
}

// Returns the table of a jump, and behind it those that may be its own if the base was guessed: it
// is that of the nearest load in front of the jump.
std::vector<JumpTable> BlockMap::State::TablesOfJump(Part* part, uint32_t offset,
                                                     const IndirectJump& jump,
                                                     const std::set<uint64_t>& known,
                                                     const std::map<uint64_t, uint64_t>& guarded,
                                                     GuessedBases* guessed) {
  if (jump.kind != IndirectJumpKind::kJumpTable) return {};
  if (jump.table.base_known) return {Unbiased(part, jump.table, guarded)};
  const auto key = std::pair(FormOf(jump.table), jump.table.base_register);
  auto bases = guessed->find(key);
  if (bases == guessed->end()) {
    if (guessed->size() == kMaxGuessedForms) return {};
    bases = guessed->emplace(key, GuessBases(part, jump.table, known)).first;
    if (bases->second.empty()) bases->second = GuessBases(part, jump.table, {});
  }
  std::vector<JumpTable> tables;
  const auto add = [&](uint64_t base) {
    tables.push_back(jump.table);
    tables.back().base_known = true;
    tables.back().base = base;
    tables.back() = Unbiased(part, tables.back(), guarded);
  };
  const std::vector<GuessedBase>& all = bases->second;
  if (all.empty()) return tables;
  auto nearest = std::partition_point(all.begin(), all.end(), [offset](const GuessedBase& each) {
    return each.loaded_at < offset;
  });
  if (nearest != all.begin()) --nearest;
  add(nearest->base);
  std::set<uint64_t> added = {nearest->base};
  for (const GuessedBase& each : all) {
    if (added.insert(each.base).second) add(each.base);
  }
  return tables;
}

IndirectJump BlockMap::State::Analyze(const Part& part, uint32_t jump) const {
  std::array<uint32_t, kJumpTableLookback> offsets;
  size_t first = offsets.size();
  for (uint32_t offset = jump; first > 0 && offset != Bitmap::kNone;
       offset = offset == 0 ? Bitmap::kNone : part.scan.starts.FindAtOrBefore(offset - 1)) {
    offsets[--first] = offset;
  }
  return AnalyzeIndirectJump(code->CodeAt(part.range.start, part.size()), part.start(),
                             std::span(offsets).subspan(first));
}

void BlockMap::State::ReadTables(Part* part) {
  Scan(part);
  if (part->stage >= Stage::kTabled && part->epoch == epoch) return;
  CollectRelated(part);
  part->table_targets.clear();
  part->tables_of_jumps.clear();
  part->tables = {};

  std::vector<std::pair<uint32_t, IndirectJump>> jumps;
  std::set<uint64_t> known_bases;
  std::map<uint64_t, uint64_t> guarded;
  for (const uint32_t jump : part->scan.indirect_jumps) {
    if (jumps.size() == kMaxAnalyzedJumps) {
      ++part->tables.unresolved;
      continue;
    }
    const IndirectJump analyzed = Analyze(*part, jump);
    if (analyzed.kind == IndirectJumpKind::kPointer) continue;
    const bool has_base =
        analyzed.kind == IndirectJumpKind::kJumpTable && analyzed.table.base_known;
    if (has_base) known_bases.insert(analyzed.table.base);
    if (has_base && analyzed.table.guarded) {
      const uint64_t start = analyzed.table.address();
      guarded[start] = start + uint64_t{analyzed.table.entry_count} * analyzed.table.entry_size;
    }
    jumps.emplace_back(jump, analyzed);
  }
  std::vector<std::pair<uint32_t, std::vector<JumpTable>>> tables_of_jumps;
  std::vector<uint64_t> table_starts;
  GuessedBases guessed;
  for (const auto& [jump, analyzed] : jumps) {
    const auto& [at, tables] = tables_of_jumps.emplace_back(
        jump, TablesOfJump(part, jump, analyzed, known_bases, guarded, &guessed));
    for (const JumpTable& table : tables) table_starts.push_back(table.address());
  }
  std::sort(table_starts.begin(), table_starts.end());

  // Many jumps may share a table; each is read once.
  std::map<std::pair<TableForm, std::pair<uint64_t, uint32_t>>, std::optional<size_t>> tables_read;
  for (const auto& [jump, tables] : tables_of_jumps) {
    bool resolved = false;
    for (const JumpTable& table : tables) {
      const auto [known, is_new] =
          tables_read.try_emplace({FormOf(table), {table.base, table.entry_count}}, std::nullopt);
      if (is_new && part->tables.entries < kMaxEntriesPerPart) {
        const auto next =
            std::upper_bound(table_starts.begin(), table_starts.end(), table.address());
        known->second = AddTable(part, table, next == table_starts.end() ? UINT64_MAX : *next);
      }
      if (!known->second || resolved) continue;
      part->tables_of_jumps[*known->second].jumps.push_back(jump);
      resolved = true;
    }
    if (!resolved) ++part->tables.unresolved;
  }
  SortEachOnce(&part->table_targets);
  part->related.shrink_to_fit();
  part->stage = Stage::kTabled;
  part->epoch = epoch;
}

std::optional<size_t> BlockMap::State::AddTable(Part* part, const JumpTable& table, uint64_t end) {
  auto targets = ReadTable(part, table, end);
  if (targets.empty()) return std::nullopt;
  ++part->tables.tables;
  part->tables.entries += static_cast<uint32_t>(targets.size());
  SortEachOnce(&targets);
  part->table_targets.insert(part->table_targets.end(), targets.begin(), targets.end());
  part->tables_of_jumps.push_back({{}, std::move(targets)});
  return part->tables_of_jumps.size() - 1;
}

void BlockMap::State::AddLeaders(Part* part, const std::vector<uint64_t>& targets) {
  const auto first = std::lower_bound(targets.begin(), targets.end(), part->start());
  for (auto target = first; target != targets.end() && part->Contains(*target); ++target) {
    const uint32_t offset = part->Offset(*target);
    if (part->scan.starts.Test(offset)) part->leaders.Set(offset);
  }
}

void BlockMap::State::AddStubLeaders(Part* part) {
  if (part->is_window()) return;
  ModuleAddress start = part->range.start;
  for (int i = 0; i < kMaxStubs && start.value > 0; ++i) {
    const auto stub = code->FunctionAround(start - 1);
    if (!stub.has_value() || stub->end != start || !AddStubLeaders(part, *stub)) break;
    start = stub->start;
  }
  ModuleAddress end = part->range.end;
  for (int i = 0; i < kMaxStubs; ++i) {
    const auto stub = code->FunctionAround(end);
    if (!stub.has_value() || stub->start != end || !AddStubLeaders(part, *stub)) break;
    end = stub->end;
  }
}

// Returns false if `stub` is too large for a stub.
bool BlockMap::State::AddStubLeaders(Part* part, const AddressRange& stub) {
  const uint64_t size = stub.end - stub.start;
  if (size > kMaxStubSize) return false;
  const auto bytes = code->CodeAt(stub.start, size);
  if (!MayJumpInto(bytes, stub.start.value, part->range)) return true;
  const FunctionScan scan = ScanFunction({.code = bytes,
                                          .lead_in = 0,
                                          .start = stub.start.value,
                                          .size = static_cast<uint32_t>(size),
                                          .known_starts = {}});
  AddLeaders(part, scan.exits);
  return true;
}

void BlockMap::State::Count(Part* part) {
  const auto add = [this](const BlockMapStatistics& share, uint64_t sign) {
    statistics.functions += sign * share.functions;
    statistics.instructions += sign * share.instructions;
    statistics.blocks += sign * share.blocks;
    statistics.undecodable_bytes += sign * share.undecodable_bytes;
    statistics.jump_tables += sign * share.jump_tables;
    statistics.jump_table_entries += sign * share.jump_table_entries;
    statistics.unresolved_indirect_jumps += sign * share.unresolved_indirect_jumps;
  };
  add(part->counted, ~uint64_t{0});
  Bitmap blocks = part->leaders;
  blocks.And(part->scan.starts);
  part->counted = {.functions = 1,
                   .instructions = part->scan.instruction_count,
                   .blocks = blocks.Count(0, part->size()),
                   .undecodable_bytes = part->scan.undecodable_bytes,
                   .jump_tables = part->tables.tables,
                   .jump_table_entries = part->tables.entries,
                   .unresolved_indirect_jumps = part->tables.unresolved};
  add(part->counted, 1);
}

void BlockMap::State::Finish(Part* part) {
  if (part->stage == Stage::kReady && part->epoch == epoch) return;
  ReadTables(part);
  part->leaders = part->scan.leaders;
  AddLeaders(part, part->table_targets);
  for (Part* other : part->related) {
    ReadTables(other);
    AddLeaders(part, other->scan.exits);
    AddLeaders(part, other->table_targets);
  }
  AddStubLeaders(part);
  for (const uint32_t offset : part->known_leaders) {
    if (part->scan.starts.Test(offset)) part->leaders.Set(offset);
  }
  part->stage = Stage::kReady;
  Count(part);
}

Part* BlockMap::State::ReadyPart(uint64_t address) {
  Part* part = PartAround(address);
  if (part != nullptr) Finish(part);
  return part;
}

void BlockMap::State::AddStart(Part* part, uint32_t offset) {
  if (!part->known_starts.insert(offset).second) return;
  if (part->stage == Stage::kNew || part->scan.starts.Test(offset)) return;
  part->stage = Stage::kNew;
  ++epoch;
}

std::optional<Block> BlockMap::State::BlockAt(const Part& part, uint32_t offset) {
  if (offset >= part.scan.code_end) return std::nullopt;
  const uint32_t first = part.leaders.FindAtOrBefore(offset);
  if (first == Bitmap::kNone || !part.scan.starts.Test(first)) return std::nullopt;
  const uint32_t next = part.leaders.FindAtOrAfter(first + 1);
  const uint32_t end = next == Bitmap::kNone ? part.scan.code_end : next;
  const uint32_t last_instruction = part.scan.starts.FindAtOrBefore(end - 1);

  Block block;
  block.start = part.range.start + first;
  block.end = part.range.start + end;
  block.instruction_count = part.scan.starts.Count(first, end);
  ControlFlow flow;
  const ModuleAddress address = part.range.start + last_instruction;
  const auto bytes = code->CodeAt(address, kMaxInstructionLength);
  if (DecodeControlFlow(bytes, address.value, &flow)) {
    block.terminator = flow.kind;
    block.never_returns = no_return.IsCall(bytes.first(flow.length), address, flow);
    block.has_target = flow.has_target;
    block.target = {flow.has_target ? flow.target : 0};
    // The end of the block lies inside its last instruction if other code jumps over the prefix.
    const ModuleAddress behind = address + flow.length;
    ControlFlow rest;
    const bool is_prefix =
        behind > block.end &&
        DecodeControlFlow(code->CodeAt(block.end, kMaxInstructionLength), block.end.value, &rest) &&
        block.end + rest.length == behind;
    if (is_prefix) block.overhang = static_cast<uint8_t>(rest.length);
  }
  return block;
}

BlockMap::BlockMap(const ModuleCode* code) : state_(std::make_unique<State>(code)) {}

BlockMap::~BlockMap() = default;

std::optional<Block> BlockMap::Find(ModuleAddress address) {
  Part* part = state_->ReadyPart(address.value);
  if (part == nullptr) return std::nullopt;
  if (auto block = state_->BlockAt(*part, part->Offset(address.value))) return block;
  // The first bytes of a window may end the last instruction of the window before it.
  if (!part->is_window() || part->range.start == part->extent.start ||
      address - part->range.start >= kMaxInstructionLength) {
    return std::nullopt;
  }
  Part* previous = state_->ReadyPart(part->start() - 1);
  if (previous == nullptr) return std::nullopt;
  return state_->BlockAt(*previous, previous->Offset(address.value));
}

void BlockMap::AddInstructionEvidence(ModuleAddress address) {
  Part* part = state_->PartAround(address.value);
  ControlFlow flow;
  if (part == nullptr || !DecodeControlFlow(state_->code->CodeAt(address, kMaxInstructionLength),
                                            address.value, &flow)) {
    return;
  }
  state_->AddStart(part, part->Offset(address.value));
}

void BlockMap::AddLeaderEvidence(ModuleAddress address) {
  AddInstructionEvidence(address);
  Part* part = state_->PartAround(address.value);
  if (part == nullptr) return;
  const uint32_t offset = part->Offset(address.value);
  if (!part->known_starts.contains(offset)) return;
  if (!part->known_leaders.insert(offset).second || part->stage != Stage::kReady) return;
  if (!part->scan.starts.Test(offset) || part->leaders.Test(offset)) return;
  part->leaders.Set(offset);
  ++part->counted.blocks;
  ++state_->statistics.blocks;
}

std::vector<Block> BlockMap::FunctionBlocks(ModuleAddress address) {
  std::vector<Block> blocks;
  Part* part = state_->ReadyPart(address.value);
  if (part == nullptr) return blocks;
  for (uint32_t offset = part->leaders.FindAtOrAfter(0); offset != Bitmap::kNone;
       offset = part->leaders.FindAtOrAfter(offset + 1)) {
    if (const auto block = state_->BlockAt(*part, offset)) blocks.push_back(*block);
  }
  return blocks;
}

std::vector<ReadJumpTable> BlockMap::JumpTables(ModuleAddress address) {
  std::vector<ReadJumpTable> tables;
  Part* part = state_->ReadyPart(address.value);
  if (part == nullptr) return tables;
  for (const TableOfJumps& table : part->tables_of_jumps) {
    ReadJumpTable& added = tables.emplace_back();
    for (const uint32_t jump : table.jumps) added.jumps.push_back(part->range.start + jump);
    for (const uint64_t target : table.targets) added.targets.push_back({target});
  }
  return tables;
}

const BlockMapStatistics& BlockMap::statistics() const { return state_->statistics; }

}  // namespace hbbp
