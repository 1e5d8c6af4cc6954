// CopiedPages: memory with generated code, as it was when something was counted there.
//
// A JIT appends code to its pages, puts other code where old code was, and frees it. A page is
// therefore looked at again now and then when something is counted in it. What changed where
// nothing was counted is taken over; where a counted instruction has changed, the page begins a new
// generation, whose counts are to be kept apart from the older ones.
#ifndef HBBP_LIB_COLLECT_COPIED_PAGES_H_
#define HBBP_LIB_COLLECT_COPIED_PAGES_H_

#include <sys/types.h>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "base/linux_constants.h"

namespace hbbp {

class CopiedPages {
 public:
  // Beyond, the newest code has the counts of older code as well.
  static constexpr uint32_t kMostGenerations = 256;
  // Beyond, pages are not copied.
  static constexpr size_t kMostPages = 65536;

  // Of process `pid`; 0: the calling one.
  explicit CopiedPages(pid_t pid) : pid_(pid) {}

  // What was copied before may have changed.
  void BeginRound() { ++round_; }

  struct Generation {
    RuntimeAddress start;
    RuntimeAddress end;
    uint32_t number = 0;  // 0 for the first
  };
  // Something is about to be counted at `address`. Returns the generation that begins there, if one
  // does. A page is looked at once a round.
  std::optional<Generation> Look(RuntimeAddress address);

  struct Copy {
    uint64_t address;
    uint32_t generation;
    const std::vector<uint8_t>* bytes;
  };
  // Of all copies, with what is known of them.
  uint64_t bytes() const {
    return pages_.size() * (kPageBytes + sizeof(Page)) +
           old_pages_.size() * (kPageBytes + sizeof(OldPage));
  }

  // By rising address, of each generation.
  std::vector<Copy> Copies() const;

 private:
  struct Page {
    uint32_t generation = 0;
    uint64_t round = 0;  // when it was looked at
    std::vector<uint8_t> bytes;
    std::bitset<kPageBytes> counted;  // first bytes of instructions
  };
  struct OldPage {
    uint64_t number;
    uint32_t generation;
    std::vector<uint8_t> bytes;
  };

  // What was looked at in this round, by the low bits of its number.
  struct Looked {
    uint64_t number = 0;
    uint64_t round = 0;
    Page* page = nullptr;
  };

  std::vector<uint8_t> Read(uint64_t number) const;
  // Has something changed that was counted?
  bool Refresh(uint64_t number);
  std::optional<Generation> BeginGeneration(uint64_t number);

  pid_t pid_;
  uint64_t round_ = 1;
  std::unordered_map<uint64_t, Page> pages_;  // by number
  std::vector<OldPage> old_pages_;
  std::array<Looked, 64> looked_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_COPIED_PAGES_H_
