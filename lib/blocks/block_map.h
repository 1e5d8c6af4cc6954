// BlockMap: the static basic blocks of a module, found lazily.
//
// A block starts at a leader and ends with the first instruction that EndsBlock, or before the
// next leader. Leaders are: the start of a function (or part), targets of direct branches,
// entries of jump tables that could be read, what follows an instruction that ends a block, and
// addresses given as evidence. A function is decoded when the first address inside it is asked
// for; whole modules never are.
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
  BranchKind terminator = BranchKind::kNone;  // kNone: falls into the next leader
  bool has_target = false;
  ModuleAddress target;  // of the terminator, if has_target

  bool Contains(ModuleAddress address) const { return start <= address && address < end; }
};

struct BlockMapStatistics {
  uint64_t functions = 0;
  uint64_t instructions = 0;
  uint64_t blocks = 0;
  uint64_t undecodable_bytes = 0;  // skipped: data among code
  uint64_t jump_tables = 0;
  uint64_t unresolved_indirect_jumps = 0;
};

// Not thread-safe. `code` must outlive the map.
class BlockMap {
 public:
  explicit BlockMap(const ModuleCode* code);
  ~BlockMap();

  // The block around `address`; nothing where there is no decodable code. An address that no
  // decoded instruction starts at belongs to the block around it all the same.
  std::optional<Block> Find(ModuleAddress address);

  // Evidence from a run: an instruction starts here (an IP sample). Where the linear decoding
  // disagrees, it is decoded again from here.
  void AddInstructionEvidence(ModuleAddress address);

  // Evidence from a run: a branch arrived here. The block around it is split.
  void AddLeaderEvidence(ModuleAddress address);

  // The blocks of the function around `address`, in order of address.
  std::vector<Block> FunctionBlocks(ModuleAddress address);

  const BlockMapStatistics& statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_BLOCK_MAP_H_
