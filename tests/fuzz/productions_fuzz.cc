// Parses any text as productions, and runs a few instructions through those that are accepted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "isa/taxonomy.h"
#include "probes/production_engine.h"
#include "probes/production_set.h"
#include "probes/thread_history.h"

namespace {

const std::vector<std::vector<uint8_t>> kCode = {
    {0xe8, 0x00, 0x01, 0x00, 0x00},  // call
    {0xff, 0xd0},                    // call rax
    {0x75, 0xf0},                    // jne, backward
    {0xff, 0xe0},                    // jmp rax
    {0xf0, 0x0f, 0xc1, 0x01},        // lock xadd [rcx], eax
    {0xf7, 0x39},                    // idiv [rcx]
    {0xc3},                          // ret
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto taxonomies = hbbp::ParseTaxonomies(hbbp::DefaultTaxonomyText());
  if (!taxonomies.ok()) std::abort();
  const auto set =
      hbbp::ProductionSet::Parse({reinterpret_cast<const char*>(data), size}, *taxonomies);
  if (!set.ok()) {
    if (!set.status().message().starts_with("line ") && size <= hbbp::kMaxProductionBytes) {
      std::abort();
    }
    return 0;
  }
  if (set->productions().empty() || set->productions().size() > hbbp::kMaxPatterns) std::abort();
  for (const bool is_exhaustive : {false, true}) {
    hbbp::ProductionEngine engine(
        &*set, {.is_exhaustive = is_exhaustive, .max_rows = 8, .max_symbols = 8});
    hbbp::BurstState state = engine.StartThread();
    hbbp::ThreadHistory history;
    uint64_t firings = 0;
    for (uint64_t i = 0; i < 60; ++i) {
      const std::vector<uint8_t>& code = kCode[i % kCode.size()];
      hbbp::ProbedInstruction instruction;
      if (!set->Prepare(code, {0x1000 + i, 0x1000, "f", "m"}, &instruction)) std::abort();
      hbbp::InstructionEvent event;
      event.instruction = &instruction;
      event.next = 0x1000 + i * 7 % 60;
      event.address = i * i;
      event.size = instruction.properties.read_bytes;
      history.Complete(set->keys(), &event);
      engine.Run(event, i % 3, &state);
      history.Follow(set->keys(), event);
    }
    for (size_t i = 0; i < set->productions().size(); ++i) firings += engine.firings(i);
    if (firings > 60 * set->productions().size()) std::abort();
  }
  return 0;
}
