#include "probes/hot_streams.h"

#include <algorithm>
#include <utility>

namespace hbbp {
namespace {

// Returns the rules such that each comes before those that it uses. The depth of a grammar can be
// large, so there is no recursion.
std::vector<uint32_t> OrderRules(const Grammar& grammar) {
  std::vector<uint32_t> users(grammar.rules.size());
  for (const std::vector<uint32_t>& rule : grammar.rules) {
    for (const uint32_t symbol : rule) {
      if ((symbol & Grammar::kRule) != 0) ++users[symbol & ~Grammar::kRule];
    }
  }
  std::vector<uint32_t> order = {0};
  for (size_t i = 0; i < order.size(); ++i) {
    for (const uint32_t symbol : grammar.rules[order[i]]) {
      if ((symbol & Grammar::kRule) == 0) continue;
      const uint32_t used = symbol & ~Grammar::kRule;
      if (--users[used] == 0) order.push_back(used);
    }
  }
  return order;
}

void AppendWord(const Grammar& grammar, uint32_t rule, std::vector<uint32_t>* word) {
  struct Position {
    uint32_t rule;
    size_t symbol;
  };
  std::vector<Position> stack = {{rule, 0}};
  while (!stack.empty()) {
    Position& top = stack.back();
    if (top.symbol == grammar.rules[top.rule].size()) {
      stack.pop_back();
      continue;
    }
    const uint32_t symbol = grammar.rules[top.rule][top.symbol++];
    if ((symbol & Grammar::kRule) != 0) {
      stack.push_back({symbol & ~Grammar::kRule, 0});
    } else {
      word->push_back(symbol);
    }
  }
}

}  // namespace

double HotStreams::Coverage() const {
  uint64_t heat = 0;
  for (const HotStream& stream : streams) heat += stream.heat();
  return length == 0 ? 0 : static_cast<double>(heat) / static_cast<double>(length);
}

HotStreams FindHotStreams(const Grammar& grammar, const HotStreamOptions& options) {
  const std::vector<uint32_t> order = OrderRules(grammar);
  std::vector<uint64_t> lengths(grammar.rules.size());
  for (auto rule = order.rbegin(); rule != order.rend(); ++rule) {
    for (const uint32_t symbol : grammar.rules[*rule]) {
      if ((symbol & Grammar::kRule) != 0) {
        lengths[*rule] += lengths[symbol & ~Grammar::kRule];
      } else if (symbol != Grammar::kGap) {
        ++lengths[*rule];
      }
    }
  }
  HotStreams result;
  result.length = lengths[0];
  const double min_heat = options.min_heat * static_cast<double>(result.length);
  std::vector<uint64_t> uses(grammar.rules.size());
  std::vector<uint64_t> uses_in_hot(grammar.rules.size());
  uses[0] = 1;
  for (const uint32_t rule : order) {
    HotStream stream;
    stream.frequency = uses[rule] - uses_in_hot[rule];
    const double heat = static_cast<double>(lengths[rule]) * static_cast<double>(stream.frequency);
    // The start is not a word that recurs.
    const bool is_hot = rule != 0 && stream.frequency > 1 && lengths[rule] >= options.min_length &&
                        lengths[rule] <= options.max_length && heat >= min_heat;
    if (is_hot) {
      AppendWord(grammar, rule, &stream.symbols);
      result.streams.push_back(std::move(stream));
    }
    for (const uint32_t symbol : grammar.rules[rule]) {
      if ((symbol & Grammar::kRule) == 0) continue;
      uses[symbol & ~Grammar::kRule] += uses[rule];
      uses_in_hot[symbol & ~Grammar::kRule] += is_hot ? uses[rule] : uses_in_hot[rule];
    }
  }
  std::ranges::sort(result.streams, [](const HotStream& a, const HotStream& b) {
    return a.heat() != b.heat() ? a.heat() > b.heat() : a.symbols < b.symbols;
  });
  return result;
}

HotStreams FindHotStreams(const std::vector<std::vector<uint32_t>>& sequences,
                          const HotStreamOptions& options) {
  Sequitur sequitur;
  for (const std::vector<uint32_t>& sequence : sequences) {
    for (const uint32_t symbol : sequence) sequitur.Append(symbol);
    sequitur.Separate();
  }
  return FindHotStreams(sequitur.MakeGrammar(), options);
}

}  // namespace hbbp
