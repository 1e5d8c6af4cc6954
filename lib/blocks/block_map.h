// BlockMap finds the static basic blocks of a module, lazily.
//
// A block starts at a leader and ends with the first instruction that EndsBlock, or before the
// next leader. Leaders are: the start of a function (or part), targets of direct branches,
// entries of jump tables that could be read, what follows an instruction that ends a block,
// endbr64, what follows the padding after a jump or return, and addresses given as evidence. A
// function is decoded when the first address inside it is asked for; whole modules never are.
//
// Functions come in parts (".cold"). The parts that a part jumps to, directly or through a jump
// table, are decoded with it, because their jumps back are leaders too; what those jump to in turn
// is not. Small parts next to a part, such as a second entry to it in assembly, matter in the same
// way. A part of more than a MiB, as in a module without symbols and unwind tables, is divided into
// windows at fixed addresses, each of which is a part; a window starts a block.
//
// Blocks depend on the code and on the evidence, never on the order of questions or evidence.
#ifndef HBBP_LIB_BLOCKS_BLOCK_MAP_H_
#define HBBP_LIB_BLOCKS_BLOCK_MAP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/address.h"
#include "image/module_code.h"
#include "isa/control_flow.h"

namespace hbbp {

struct Block {
  ModuleAddress start;
  ModuleAddress end;  // exclusive
  uint32_t instruction_count = 0;
  BranchKind terminator = BranchKind::kNone;  // kNone: the block falls into the next leader
  bool has_target = false;
  ModuleAddress target;  // of the terminator, if has_target
  // Bytes of the last instruction that lie after the end. They are the instruction without its
  // prefix, and start a block of their own because other code jumps over the prefix.
  uint8_t overhang = 0;
  bool never_returns = false;  // the terminator is a call that never returns

  // Execution that does not branch continues here.
  ModuleAddress next() const { return end + overhang; }
  bool falls_through() const { return FallsThrough(terminator) && !never_returns; }
  bool Contains(ModuleAddress address) const { return start <= address && address < end; }
  bool operator==(const Block&) const = default;
};

// A jump table that could be read, with the jumps that are known to go through it.
struct ReadJumpTable {
  std::vector<ModuleAddress> jumps;    // the instructions
  std::vector<ModuleAddress> targets;  // sorted, each once; they may lie in other parts
};

// Statistics of the parts that were asked for; parts that were decoded for the sake of others do
// not count.
struct BlockMapStatistics {
  uint64_t functions = 0;
  uint64_t instructions = 0;
  uint64_t blocks = 0;
  uint64_t undecodable_bytes = 0;  // skipped: data among code
  uint64_t jump_tables = 0;
  uint64_t jump_table_entries = 0;
  // Jumps through one pointer in memory, such as those of the PLT, do not count.
  uint64_t unresolved_indirect_jumps = 0;
};

// Not thread-safe. `code` must outlive the map.
class BlockMap {
 public:
  explicit BlockMap(const ModuleCode* code);
  ~BlockMap();

  // Returns the block around `address`, or nothing where no code can be decoded. An address inside
  // an instruction belongs to the block of that instruction.
  std::optional<Block> Find(ModuleAddress address);

  // Adds evidence from a run (an IP sample) that an instruction starts here. Where the linear
  // decoding disagrees, code is decoded again from here, and the instruction that it overlaps is
  // dropped; but two instructions that evidence confirms are both kept, and so is an instruction of
  // which this is the rest after some prefixes. An address where no instruction can be decoded is
  // ignored.
  void AddInstructionEvidence(ModuleAddress address);

  // Adds evidence from a run that a branch arrived here, which splits the block around it. Includes
  // AddInstructionEvidence.
  void AddLeaderEvidence(ModuleAddress address);

  // Returns the blocks of the function (part) around `address`, in order of address. Gaps between
  // them are bytes that could not be decoded.
  std::vector<Block> FunctionBlocks(ModuleAddress address);

  // Returns the tables of the jumps of the function (part) around `address`.
  std::vector<ReadJumpTable> JumpTables(ModuleAddress address);

  const BlockMapStatistics& statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_BLOCK_MAP_H_
