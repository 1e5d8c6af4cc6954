// Instructions for tests of productions, as bytes and as events.
#ifndef HBBP_TESTS_UNIT_PROBES_PROBE_STREAM_H_
#define HBBP_TESTS_UNIT_PROBES_PROBE_STREAM_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isa/taxonomy.h"
#include "probes/production_engine.h"
#include "probes/production_set.h"
#include "support/catch.h"

namespace hbbp {

using Code = std::vector<uint8_t>;

inline const Code kCallForward = {0xe8, 0x00, 0x01, 0x00, 0x00};  // call +0x105
inline const Code kCallRax = {0xff, 0xd0};
inline const Code kReturn = {0xc3};
inline const Code kJumpBack = {0xeb, 0xf0};      // jmp -0xe
inline const Code kJneBack = {0x75, 0xf0};       // jne -0xe
inline const Code kJneForward = {0x75, 0x10};    // jne +0x12
inline const Code kJumpRax = {0xff, 0xe0};       // jmp rax
inline const Code kJumpToItself = {0xeb, 0xfe};  // jmp -0
inline const Code kLoad = {0x8b, 0x01};          // mov eax, [rcx]
inline const Code kStore = {0x89, 0x01};         // mov [rcx], eax
inline const Code kAddToMemory = {0x01, 0x01};   // add [rcx], eax
inline const Code kDiv = {0xf7, 0xf1};           // div ecx
inline const Code kNop = {0x90};

inline ProductionSet ParseProductions(std::string_view text) {
  StatusOr<std::vector<Taxonomy>> taxonomies = ParseTaxonomies(DefaultTaxonomyText());
  REQUIRE(taxonomies.ok());
  StatusOr<ProductionSet> set = ProductionSet::Parse(text, *std::move(taxonomies));
  INFO(text);
  if (!set.ok()) FAIL(set.status().message());
  return *std::move(set);
}

inline std::string ErrorOfProductions(std::string_view text) {
  StatusOr<std::vector<Taxonomy>> taxonomies = ParseTaxonomies(DefaultTaxonomyText());
  REQUIRE(taxonomies.ok());
  const StatusOr<ProductionSet> set = ProductionSet::Parse(text, *std::move(taxonomies));
  INFO(text);
  REQUIRE_FALSE(set.ok());
  CHECK(set.status().code() == StatusCode::kInvalidArgument);
  return set.status().message();
}

// Runs instructions through an engine, one thread after the other.
class ProbeStream {
 public:
  explicit ProbeStream(const ProductionSet* set, const ProductionEngineOptions& options = {})
      : engine_(set, options) {}

  // Executes the instruction at `pc`; `next` is 0 for the one that follows in memory. `data` has
  // address, size and value.
  void Execute(const Code& code, uint64_t pc, uint64_t next = 0,
               const std::array<uint64_t, 3>& data = {}, uint32_t thread = 0) {
    const auto [entry, is_new] = instructions_.try_emplace({pc, code});
    if (is_new) {
      const InstructionSite site{pc, pc & ~uint64_t{0xfff}, "f(int)", "libf.so"};
      REQUIRE(engine_.set().Prepare(code, site, &entry->second));
    }
    InstructionEvent event;
    event.instruction = &entry->second;
    event.next = next != 0 ? next : entry->second.end();
    event.address = data[0];
    event.size = data[1];
    event.value = data[2];
    event.stride = data[0] - 0x10;
    event.caller = 0x77;
    event.registers = &registers_;
    const auto state = states_.try_emplace(thread, engine_.StartThread()).first;
    engine_.Run(event, thread, &state->second);
  }

  const ProductionEngine& engine() const { return engine_; }
  uint64_t Firings(std::string_view production) const {
    const auto& productions = engine_.set().productions();
    for (size_t i = 0; i < productions.size(); ++i) {
      if (productions[i].name == production) return engine_.firings(i);
    }
    FAIL("no production " << production);
    return 0;
  }
  const BurstState& state(uint32_t thread = 0) const { return states_.at(thread); }

 private:
  ProductionEngine engine_;
  // Register number i has the value 100 + i.
  const std::array<uint64_t, 16> registers_ = {100, 101, 102, 103, 104, 105, 106, 107,
                                               108, 109, 110, 111, 112, 113, 114, 115};
  std::map<std::pair<uint64_t, Code>, ProbedInstruction> instructions_;
  std::map<uint32_t, BurstState> states_;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_UNIT_PROBES_PROBE_STREAM_H_
