// Converts basic block vectors to counts of instructions. CountsFromBbv, which ReadTruth calls,
// finds the load address of each profiled module (FindPlacement), removes modules that overlap
// likelier ones (RemoveUnlikely), and then decodes each superblock from its address to its end and
// adds its executions to the instructions in it (Counter).
#include "truth/exp_bbv_modules.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/linux_constants.h"
#include "format.h"
#include "isa/control_flow.h"
#include "truth/instruction_kind.h"

namespace hbbp::tools {
namespace {

constexpr char kUnknownModule[] = "???";
// A file that starts below this address is linked to run anywhere.
constexpr uint64_t kMinFixedAddress = 0x10000;
// Limits of valgrind 3.16 to 3.22: in a superblock, and in one with instructions that become long.
constexpr size_t kMaxInstructions = 60;
constexpr size_t kMaxLongInstructions = 31;

struct Placement {
  uint32_t load_address;  // its lower 32 bits, like the addresses of blocks
  size_t functions;       // number that agree on it; kCertain: it needs none
};
constexpr size_t kCertain = SIZE_MAX;

struct PlacedModule {
  std::string path;
  const ElfImage* image;
  uint32_t load_address;
  size_t functions;

  uint64_t AddressOf(uint64_t runtime_address) const {
    return static_cast<uint32_t>(runtime_address - load_address);
  }
  bool HasCodeAt(uint64_t runtime_address) const {
    return !image->CodeAt({AddressOf(runtime_address)}, 1).empty();
  }
};

// The instructions from an address of a module to the first that ends a superblock.
struct Superblock {
  std::vector<uint64_t> instructions;  // without the string instruction at its end
  uint64_t end = 0;
  std::optional<uint64_t> repeated;  // the string instruction
};

Superblock Decode(const ElfImage& image, uint64_t address) {
  Superblock block;
  block.end = address;
  while (block.instructions.size() < kMaxInstructions) {
    const std::span<const uint8_t> code = image.CodeAt({block.end}, kMaxInstructionLength);
    ControlFlow flow;
    if (!DecodeControlFlow(code, block.end, &flow)) break;
    const uint64_t instruction = block.end;
    block.end += flow.length;
    if (ClassifyInstruction(code) == InstructionKind::kRepeatedString) {
      block.repeated = instruction;
      break;
    }
    block.instructions.push_back(instruction);
    if (EndsBlock(flow.kind)) break;
  }
  return block;
}

bool IsWhole(double number) { return std::abs(number - std::round(number)) < 1e-9; }

class Counter {
 public:
  Counter(const BbVectors& vectors, const std::vector<BbAddress>& addresses,
          const std::vector<PlacedModule>& modules)
      : vectors_(vectors), addresses_(addresses), modules_(modules) {}

  // Takes `addresses` sorted by address.
  Status Run(const std::string& name);
  double unplaced() const { return unplaced_; }
  std::vector<ReferenceModule> Take() const { return counts_.Take(); }

 private:
  struct Repeated {
    uint64_t address = 0;
    double executions = 0;  // from the blocks that end in it
  };

  StatusOr<const PlacedModule*> ModuleAt(uint64_t address, const std::string& name) const;
  void AddBlock(const PlacedModule& module, uint64_t runtime_address, double instructions);
  // Cuts a block that valgrind did not make as long as possible.
  void Shorten(const PlacedModule& module, double instructions, Superblock* block) const;
  double Executions(const PlacedModule& module, const Superblock& block, uint64_t address,
                    double instructions);

  const BbVectors& vectors_;
  const std::vector<BbAddress>& addresses_;
  const std::vector<PlacedModule>& modules_;
  ReferenceBuilder counts_;
  std::map<std::pair<const PlacedModule*, uint64_t>, Repeated>
      repeated_;  // by the address after it
  double unplaced_ = 0;
};

StatusOr<const PlacedModule*> Counter::ModuleAt(uint64_t address, const std::string& name) const {
  const PlacedModule* found = nullptr;
  for (const PlacedModule& module : modules_) {
    if (!module.HasCodeAt(address)) continue;
    if (found != nullptr) {
      return MakeStatus(StatusCode::kBadFormat,
                        "%s: block at %s: %s and %s overlap where they seem to have been loaded; "
                        "say where they were with --truth-map PATH=ADDRESS",
                        name.c_str(), FormatAddress(address).c_str(), found->path.c_str(),
                        module.path.c_str());
    }
    found = &module;
  }
  return found;
}

void Counter::Shorten(const PlacedModule& module, double instructions, Superblock* block) const {
  const size_t longest = block->instructions.size();
  if (longest <= kMaxLongInstructions) return;
  const auto is_block = [&](uint64_t address) {
    const uint64_t runtime_address = static_cast<uint32_t>(address + module.load_address);
    return std::binary_search(
        addresses_.begin(), addresses_.end(), BbAddress{0, runtime_address, {}},
        [](const BbAddress& a, const BbAddress& b) { return a.address < b.address; });
  };
  if (IsWhole(instructions / static_cast<double>(longest))) return;
  for (size_t length = longest - 1; length >= kMaxLongInstructions; --length) {
    const uint64_t next = block->instructions[length];
    if (!is_block(next) || !IsWhole(instructions / static_cast<double>(length))) continue;
    block->instructions.resize(length);
    block->end = next;
    block->repeated.reset();
    return;
  }
}

// Returns how often the block ran. A string instruction before it counts among its instructions.
double Counter::Executions(const PlacedModule& module, const Superblock& block, uint64_t address,
                           double instructions) {
  const auto length = static_cast<double>(block.instructions.size());
  const auto before = repeated_.find({&module, address});
  if (before == repeated_.end()) return length == 0 ? 0 : instructions / length;
  Repeated& repeated = before->second;
  double executions = repeated.executions;
  if (length != 0) {
    executions = (instructions - repeated.executions) / length;
    if (repeated.executions == 0 || executions < repeated.executions || !IsWhole(executions)) {
      // The block runs whenever the string instruction does, and only then.
      executions = instructions / (length + 1);
      repeated.executions = executions;
    }
  }
  if (repeated.executions > 0) counts_.Add(module.path, repeated.address, repeated.executions);
  return executions;
}

void Counter::AddBlock(const PlacedModule& module, uint64_t runtime_address, double instructions) {
  const uint64_t address = module.AddressOf(runtime_address);
  Superblock block = Decode(*module.image, address);
  const bool follows_repeated = repeated_.count({&module, address}) != 0;
  if (!follows_repeated) Shorten(module, instructions, &block);
  const double executions = Executions(module, block, address, instructions);
  if (block.instructions.empty() && !block.repeated && instructions > 0) {
    // There is no instruction at all, which the comparison will report.
    counts_.Add(module.path, address, instructions);
  }
  if (executions > 0) {
    for (const uint64_t instruction : block.instructions) {
      counts_.Add(module.path, instruction, executions);
    }
  }
  if (!block.repeated) return;
  Repeated& repeated = repeated_[{&module, block.end}];
  repeated.address = *block.repeated;
  repeated.executions += executions;
}

Status Counter::Run(const std::string& name) {
  for (const BbAddress& block : addresses_) {
    const auto entry = vectors_.instructions.find(block.block);
    const double instructions =
        entry == vectors_.instructions.end() ? 0 : static_cast<double>(entry->second);
    HBBP_ASSIGN_OR_RETURN(const PlacedModule* const module, ModuleAt(block.address, name));
    if (module != nullptr) {
      AddBlock(*module, block.address, instructions);
    } else if (instructions > 0) {
      counts_.Add(kUnknownModule, block.address, instructions);
      unplaced_ += instructions;
    }
  }
  return OkStatus();
}

// Returns the load address that most functions agree on; nothing if two have the most votes.
std::optional<Placement> FindLoadAddressBySymbols(const ElfImage& image,
                                                  const std::vector<BbAddress>& addresses) {
  std::map<uint32_t, size_t> votes;
  const std::string* last = nullptr;
  for (const BbAddress& block : addresses) {
    const bool is_first = last == nullptr || *last != block.function;
    last = &block.function;
    if (!is_first || block.function.empty()) continue;
    const std::optional<ModuleAddress> symbol = image.AddressOfSymbol(block.function);
    if (!symbol || symbol->value == 0) continue;
    const auto load_address = static_cast<uint32_t>(block.address - symbol->value);
    if (load_address % kPageBytes == 0) ++votes[load_address];
  }
  std::optional<Placement> best;
  size_t max_votes = 0;
  for (const auto& [load_address, count] : votes) {
    if (count == max_votes) best.reset();
    if (count <= max_votes) continue;
    best = Placement{load_address, count};
    max_votes = count;
  }
  return best;
}

std::optional<Placement> FindPlacement(const ElfImage& image, const std::string& path,
                                       const std::vector<LoadAddress>& load_addresses,
                                       const std::vector<BbAddress>& addresses) {
  for (const LoadAddress& load : load_addresses) {
    if (load.path == path || load.path == BaseName(path)) {
      return Placement{static_cast<uint32_t>(load.address), kCertain};
    }
  }
  const std::optional<ModuleAddress> start = image.CodeStart();
  if (start && start->value >= kMinFixedAddress && image.AddressOfOffset({0}) &&
      image.AddressOfOffset({0})->value != 0) {
    return Placement{0, kCertain};
  }
  return FindLoadAddressBySymbols(image, addresses);
}

// A module that was not loaded has some names of functions that ran, as all modules have, and by
// chance one of them at a distance of whole pages. So of two modules that overlap, the one with
// fewer functions is removed.
std::vector<std::string> RemoveUnlikely(const std::vector<BbAddress>& addresses,
                                        std::vector<PlacedModule>* modules) {
  std::vector<std::string> removed;
  std::stable_sort(
      modules->begin(), modules->end(),
      [](const PlacedModule& a, const PlacedModule& b) { return a.functions > b.functions; });
  for (size_t i = 0; i < modules->size();) {
    const PlacedModule& module = (*modules)[i];
    const bool is_unlikely =
        std::any_of(addresses.begin(), addresses.end(), [&](const BbAddress& block) {
          return module.HasCodeAt(block.address) &&
                 std::any_of(modules->begin(), modules->begin() + static_cast<ptrdiff_t>(i),
                             [&](const PlacedModule& likelier) {
                               return likelier.functions > module.functions &&
                                      likelier.HasCodeAt(block.address);
                             });
        });
    if (is_unlikely) {
      removed.push_back(module.path);
      modules->erase(modules->begin() + static_cast<ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return removed;
}

}  // namespace

StatusOr<std::vector<ReferenceModule>> CountsFromBbv(const BbVectors& vectors,
                                                     std::vector<BbAddress> addresses,
                                                     const std::vector<LoadAddress>& load_addresses,
                                                     const std::string& name, ModuleImages* images,
                                                     std::vector<std::string>* notes) {
  std::sort(addresses.begin(), addresses.end(),
            [](const BbAddress& a, const BbAddress& b) { return a.address < b.address; });
  std::vector<PlacedModule> modules;
  std::string not_placed;
  for (const ProfiledModule& module : images->modules()) {
    if (!module.path.starts_with('/')) continue;
    const StatusOr<const ElfImage*> image = images->Open(module.path);
    if (!image.ok() && image.status().code() == StatusCode::kMismatch) return image.status();
    if (!image.ok()) continue;
    const std::optional<Placement> placement =
        FindPlacement(**image, module.path, load_addresses, addresses);
    if (placement) {
      modules.push_back({module.path, *image, placement->load_address, placement->functions});
    } else {
      not_placed += (not_placed.empty() ? "" : ", ") + module.path;
    }
  }
  for (const std::string& path : RemoveUnlikely(addresses, &modules)) {
    not_placed += (not_placed.empty() ? "" : ", ") + path;
  }
  if (modules.empty()) {
    return MakeStatus(StatusCode::kBadFormat,
                      "%s: none of its blocks could be placed in a module of the profile; if it is "
                      "of the same program, say where modules were loaded with --truth-map "
                      "PATH=ADDRESS (0x108000 for a PIE under valgrind)",
                      name.c_str());
  }
  Counter counter(vectors, addresses, modules);
  HBBP_RETURN_IF_ERROR(counter.Run(name));
  if (!not_placed.empty()) {
    notes->push_back(name +
                     " does not show where these modules were loaded, which it has no "
                     "functions of: " +
                     not_placed +
                     "; say it with --truth-map PATH=ADDRESS (0x108000 for a PIE under valgrind)");
  }
  return counter.Take();
}

}  // namespace hbbp::tools
