// CopiedPages copies memory with generated code, as it was when something was counted there.
//
// A JIT appends code to its pages, replaces old code by other code, and frees it. A page is
// therefore refreshed once a round when something is counted in it. Changes where nothing was
// counted are copied; where a counted instruction has changed, the page begins a new generation,
// whose counts must be kept apart from the older ones.
#ifndef HBBP_LIB_COLLECT_COPIED_PAGES_H_
#define HBBP_LIB_COLLECT_COPIED_PAGES_H_

#include <sys/types.h>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/address.h"
#include "base/linux_constants.h"

namespace hbbp {

class CopiedPages {
 public:
  // Beyond this number, the newest code has the counts of older code as well.
  static constexpr uint32_t kMaxGenerations = 256;
  // Beyond this number, pages are not copied.
  static constexpr size_t kMaxPages = 65536;

  // Copies from process `pid`; 0 is the calling one.
  explicit CopiedPages(pid_t pid) : pid_(pid) {}

  // Begins a round, in which each page is refreshed again.
  void BeginRound() { ++round_; }

  struct Generation {
    RuntimeAddress start;
    RuntimeAddress end;
    uint32_t number = 0;  // 0 for the first
  };
  // Copies the code around `address` before something is counted there; the first call of a round
  // does that for a page. Returns the generation that begins there, if one does.
  std::optional<Generation> Refresh(RuntimeAddress address);

  struct Copy {
    uint64_t address;
    uint32_t generation;
    const std::vector<uint8_t>* bytes;
  };
  // Returns the memory of all copies, with the data about them.
  uint64_t bytes() const {
    return pages_.size() * (kPageBytes + sizeof(Page)) +
           old_pages_.size() * (kPageBytes + sizeof(OldPage));
  }

  // Returns the copies in no order.
  std::vector<Copy> Copies() const;

 private:
  struct Page {
    uint32_t generation = 0;
    uint64_t round = 0;  // of the last refresh
    std::vector<uint8_t> bytes;
    std::bitset<kPageBytes> counted;  // first bytes of counted instructions
  };
  struct OldPage {
    uint64_t number;
    uint32_t generation;
    std::vector<uint8_t> bytes;
  };

  // Refreshed is a page that was refreshed in this round, kept by the low bits of its number.
  struct Refreshed {
    uint64_t number = 0;
    uint64_t round = 0;
    Page* page = nullptr;
  };

  std::vector<uint8_t> Read(uint64_t number) const;
  // Returns true if a counted instruction has changed.
  bool RefreshPage(uint64_t number);
  std::optional<Generation> BeginGeneration(uint64_t number);

  pid_t pid_;
  uint64_t round_ = 1;
  std::map<uint64_t, Page> pages_;  // by number
  std::vector<OldPage> old_pages_;
  std::array<Refreshed, 64> refreshed_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_COLLECT_COPIED_PAGES_H_
