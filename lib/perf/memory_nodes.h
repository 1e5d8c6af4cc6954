// MemoryNodes says which NUMA node physical memory is of.
//
// The kernel divides memory into blocks of one size, and lists the blocks of each node in sysfs if
// it supports memory that is added and removed while it runs, as distributions' kernels do. perf
// copies the lists into its recordings.
#ifndef HBBP_LIB_PERF_MEMORY_NODES_H_
#define HBBP_LIB_PERF_MEMORY_NODES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "events/ibs_sample.h"

namespace hbbp {

struct MemoryNodes {
  struct Node {
    uint32_t number = 0;
    std::vector<uint64_t> blocks;  // a bit for each block of memory, the lowest bit first

    bool Has(uint64_t block) const {
      return block / 64 < blocks.size() && (blocks[block / 64] >> block % 64 & 1) != 0;
    }
  };
  // Linux has no more nodes on x86-64.
  static constexpr size_t kMaxNodes = 1024;

  uint64_t block_bytes = 0;  // 0: nothing is known
  std::vector<Node> nodes;

  // Returns kUnknownNode for a block of no node, and for one that nodes share.
  uint32_t Find(uint64_t physical_address) const {
    if (block_bytes == 0) return kUnknownNode;
    uint32_t found = kUnknownNode;
    for (const Node& node : nodes) {
      if (!node.Has(physical_address / block_bytes)) continue;
      if (found != kUnknownNode) return kUnknownNode;
      found = node.number;
    }
    return found;
  }
};

// Reads the lists of a kernel from a directory like /sys/devices/system. Returns no nodes if it has
// none.
MemoryNodes ReadMemoryNodes(const std::string& directory);

// Returns those of this machine, which are read once; without memory for them there are none.
const MemoryNodes* NodesOfThisMachine();

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_MEMORY_NODES_H_
