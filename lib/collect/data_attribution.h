// DataAttribution keeps accesses by blocks that processes reported, by ranges in the data of
// modules, and of all other memory together.
//
// A module has its data at known distances from its code, by its program headers: the mapping of
// code that is nearest to an address says which module may have it there, and at which address of
// the file. Symbols are read by whoever analyses the profile. Ranges are single addresses at first,
// because objects may lie close to each other; the least sampled ones grow as their table fills up.
#ifndef HBBP_LIB_COLLECT_DATA_ATTRIBUTION_H_
#define HBBP_LIB_COLLECT_DATA_ATTRIBUTION_H_

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/counted_memory.h"
#include "collect/access_table.h"
#include "collect/data_blocks.h"
#include "collect/data_keeper.h"
#include "collect/kept_detail.h"

namespace hbbp {

// Ranges of data grow to 8 bytes, to lines, and to pages. Blocks and other memory have no
// addresses, so that they are few.
struct CoarserData {
  static bool Coarsen(IbsAccesses* range);
};

class DataAttribution : public DataKeeper {
 public:
  struct Limits {
    size_t ranges = size_t{1} << 16;  // there may be up to twice as many
    DataBlocks::Limits blocks = {};
  };

  // `memory` must outlive it.
  DataAttribution(CountedMemory* memory, const Limits& limits);
  explicit DataAttribution(CountedMemory* memory) : DataAttribution(memory, Limits()) {}

  bool AddBlock(const DataEvent& data) override;
  void OnFork(const ForkEvent& fork) override;
  void DropBlocks(uint32_t pid) override;
  void AddAccess(Locator* locator, const IpSample& sample, uint32_t thread,
                 const IbsOp& op) override;
  void BeginRounds() noexcept override { has_rounds_ = true; }
  void EndRound(uint64_t complete_ns) override;
  void AppendLosses(uint32_t source, Counters* counters) const override;
  void CopyTo(ProfileData* data, CancelCheck* check) const override;
  void Clear() override { state_.emplace(memory_, limits_); }

 private:
  struct State {
    State(CountedMemory* memory, const Limits& limits);

    DataBlocks blocks;
    AccessTable<CoarserData> accesses;
    MemoryCharge charge;
    std::map<uint32_t, std::vector<Elf64_Phdr>> segments;  // loaded, by module
    std::map<uint32_t, uint64_t> without_memory;           // accesses by source
  };
  struct DataAddress {
    uint32_t module;
    ModuleAddress address;
  };

  std::optional<DataAddress> FindInModules(Locator* locator, const IpSample& sample,
                                           RuntimeAddress address);
  std::optional<ModuleAddress> FindInModule(Locator* locator, const IpSample& sample,
                                            const AddressSpace::Placement& code,
                                            RuntimeAddress address);
  const std::vector<Elf64_Phdr>& FindSegments(Locator* locator, const IpSample& sample,
                                              const AddressSpace::Placement& code);

  CountedMemory* const memory_;
  const Limits limits_;
  bool has_rounds_ = false;
  std::optional<State> state_;
};

// Has accesses kept by data.
void KeepData(KeptDetail* detail);

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_DATA_ATTRIBUTION_H_
