// IbsAccessRow is accessed memory by cache line, page or object, of all threads together.
#ifndef HBBP_TOOLS_IBS_ACCESSES_H_
#define HBBP_TOOLS_IBS_ACCESSES_H_

#include <cstdint>
#include <hbbp/hbbp.hpp>
#include <string>
#include <vector>

namespace hbbp::tools {

struct IbsAccessRow {
  uint64_t address = HBBP_NO_ADDRESS;  // of an object: in its module
  uint64_t loads = 0;
  uint64_t stores = 0;
  uint64_t misses = 0;
  uint64_t miss_cycles = 0;
  uint64_t local = 0;
  uint64_t remote = 0;
  uint64_t threads = 0;
  // Of a line or a page:
  uint32_t pid = 0;
  // Its NUMA nodes, those with the most accesses first, with their shares if there are several:
  // "1", or "0 (75.00 %), 1 (25.00 %)". "-" is not known; empty: none is known.
  std::string nodes;
  // Of an object:
  uint32_t module = HBBP_NO_INDEX;
  uint64_t size = 0;
  std::string name;

  uint64_t samples() const { return loads + stores; }
};

// Both return the rows with the most samples first.
std::vector<IbsAccessRow> CollectIbsLines(const hbbp::profile_view& profile, bool by_page);
std::vector<IbsAccessRow> CollectIbsObjects(const hbbp::analysis& analysis);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_IBS_ACCESSES_H_
