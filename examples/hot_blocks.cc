// A program that profiles itself through the C++ wrapper, and prints its busiest basic blocks.
#include <algorithm>
#include <cstdio>
#include <hbbp/hbbp.hpp>
#include <map>
#include <string>
#include <vector>

namespace {

// Counts words of a random text.
std::size_t CountWords(unsigned words) {
  std::map<std::string, unsigned> counts;
  unsigned state = 1;
  for (unsigned i = 0; i < words; ++i) {
    state = state * 1664525 + 1013904223;
    ++counts[std::to_string(state >> 20)];
  }
  return counts.size();
}

}  // namespace

int main() {
  try {
    hbbp::session session;
    session.start();
    const std::size_t distinct = CountWords(3'000'000);
    session.stop();

    const hbbp::profile profile = session.snapshot();
    const std::vector<hbbp_module> modules = profile.modules();
    const hbbp::analysis analysis(profile);
    const std::vector<hbbp_function> functions = analysis.functions();
    std::vector<hbbp_block> blocks = analysis.blocks();
    std::sort(blocks.begin(), blocks.end(), [](const hbbp_block& a, const hbbp_block& b) {
      return a.count * a.instruction_count > b.count * b.instruction_count;
    });
    std::printf("%zu distinct words; %zu blocks ran\n", distinct, blocks.size());
    for (std::size_t i = 0; i < blocks.size() && i < 5; ++i) {
      std::printf("%s %s: %#llx..%#llx, %u instructions, ran %.0f +- %.0f times\n",
                  modules[blocks[i].module].path, functions[blocks[i].function].name,
                  static_cast<unsigned long long>(blocks[i].start),
                  static_cast<unsigned long long>(blocks[i].end), blocks[i].instruction_count,
                  blocks[i].count, blocks[i].standard_error);
    }
  } catch (const hbbp::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
