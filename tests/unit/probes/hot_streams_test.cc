// Tests that grammars generate the sequence they were made of, keep Sequitur's two invariants, and
// that hot streams are the words that recur.
#include "probes/hot_streams.h"

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "probes/trace_buffer.h"
#include "probes/trace_grammar.h"
#include "support/catch.h"

namespace hbbp {
namespace {

Grammar GrammarOf(const std::vector<uint32_t>& sequence) {
  Sequitur sequitur;
  for (const uint32_t symbol : sequence) sequitur.Append(symbol);
  return sequitur.MakeGrammar();
}

std::vector<uint32_t> Letters(const std::string& text) { return {text.begin(), text.end()}; }

void Generate(const Grammar& grammar, uint32_t rule, std::vector<uint32_t>* out) {
  for (const uint32_t symbol : grammar.rules[rule]) {
    if ((symbol & Grammar::kRule) != 0) {
      Generate(grammar, symbol & ~Grammar::kRule, out);
    } else {
      out->push_back(symbol);
    }
  }
}

void CheckGrammar(const std::vector<uint32_t>& sequence) {
  const Grammar grammar = GrammarOf(sequence);
  std::vector<uint32_t> generated;
  Generate(grammar, 0, &generated);
  CHECK(generated == sequence);
  // No pair occurs twice, except where it overlaps itself.
  std::map<std::pair<uint32_t, uint32_t>, std::pair<size_t, size_t>> pairs;
  std::map<uint32_t, int> uses;
  size_t repeated = 0;
  for (size_t rule = 0; rule < grammar.rules.size(); ++rule) {
    const std::vector<uint32_t>& symbols = grammar.rules[rule];
    if (rule != 0) CHECK(symbols.size() >= 2);
    for (size_t i = 0; i < symbols.size(); ++i) {
      if ((symbols[i] & Grammar::kRule) != 0) ++uses[symbols[i] & ~Grammar::kRule];
      if (i + 1 == symbols.size()) continue;
      const auto [found, is_new] =
          pairs.try_emplace({symbols[i], symbols[i + 1]}, std::pair(rule, i));
      if (!is_new && found->second != std::pair(rule, i - 1)) ++repeated;
    }
  }
  CHECK(repeated == 0);
  for (uint32_t rule = 1; rule < grammar.rules.size(); ++rule) CHECK(uses[rule] >= 2);
}

TEST_CASE("sequitur: grammars of small sequences") {
  for (const char* text :
       {"", "a", "ab", "aa", "aaa", "aaaa", "aaaaa", "aaaaaaaaaaaaaaaa", "abab", "abcdbcabcdbc",
        "abcabdabcabd", "abbbabcbb", "abcbcabcbcbcbc", "xyxyzxyxyzaabbaabbxyxyz"}) {
    INFO(text);
    CheckGrammar(Letters(text));
  }
  const Grammar grammar = GrammarOf(Letters("abcabc"));
  REQUIRE(grammar.rules.size() == 2);
  CHECK(grammar.rules[0] == std::vector<uint32_t>{Grammar::kRule | 1, Grammar::kRule | 1});
  CHECK(grammar.rules[1] == Letters("abc"));
}

TEST_CASE("sequitur: random sequences, of few and of many symbols") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 400; ++trial) {
    const uint32_t symbols = 1 + trial % 7;
    std::vector<uint32_t> sequence(random() % 300);
    for (uint32_t& symbol : sequence) symbol = static_cast<uint32_t>(random()) % symbols;
    CheckGrammar(sequence);
  }
}

TEST_CASE("sequitur: a repeated sequence has a small grammar") {
  std::vector<uint32_t> sequence;
  for (int i = 0; i < 1 << 14; ++i) {
    for (uint32_t symbol = 0; symbol < 20; ++symbol) sequence.push_back(symbol);
  }
  size_t size = 0;
  for (const auto& rule : GrammarOf(sequence).rules) size += rule.size();
  CHECK(size < 100);
}

TEST_CASE("hot streams: heat is length times frequency") {
  std::vector<uint32_t> sequence;
  const auto append = [&sequence](const std::string& text) {
    for (const char c : text) sequence.push_back(static_cast<uint32_t>(c));
  };
  uint32_t other = 1000;
  for (int i = 0; i < 50; ++i) {
    append("abcdefgh");
    sequence.push_back(other++);
    if (i % 5 == 0) append("xyz");
    sequence.push_back(other++);
  }
  const HotStreams hot = FindHotStreams({sequence}, {.min_length = 2, .min_heat = 0.02});
  REQUIRE(hot.streams.size() == 2);
  CHECK(hot.length == 50 * 10 + 10 * 3);
  CHECK(hot.streams[0].symbols == Letters("abcdefgh"));
  CHECK(hot.streams[0].frequency == 50);
  CHECK(hot.streams[1].symbols == Letters("xyz"));
  CHECK(hot.streams[1].frequency == 10);
  CHECK(hot.Coverage() == Approx(430.0 / 530));
}

TEST_CASE("hot streams: lengths and heat have limits, and nothing counts twice") {
  std::vector<uint32_t> sequence;
  for (int i = 0; i < 256; ++i) {
    for (uint32_t symbol = 0; symbol < 8; ++symbol) sequence.push_back(symbol);
  }
  for (const uint64_t max_length : {8, 16, 100}) {
    const HotStreams hot = FindHotStreams({sequence}, {.min_length = 8, .max_length = max_length});
    REQUIRE_FALSE(hot.streams.empty());
    CHECK(hot.Coverage() <= 1);
    CHECK(hot.Coverage() > 0.9);
    for (const HotStream& stream : hot.streams) {
      CHECK(stream.symbols.size() >= 8);
      CHECK(stream.symbols.size() <= max_length);
    }
  }
  CHECK(FindHotStreams({sequence}, {.min_length = 3, .max_length = 3}).streams.empty());
}

TEST_CASE("hot streams: those of a trace that grows are those of all of it") {
  std::mt19937 random(7);
  TraceBuffer trace(1 << 20);
  TraceGrammar grammar;
  uint64_t burst = 0;
  const HotStreamOptions options = {.min_length = 2, .min_heat = 0.01};
  for (int step = 0; step < 300; ++step) {
    // Some steps begin no burst, and some several.
    for (uint64_t bursts = random() % 3; bursts != 0; --bursts) {
      ++burst;
      for (uint64_t i = random() % 40; i != 0; --i) trace.Append({random() % 4}, 0, burst);
    }
    for (uint64_t i = random() % 3; i != 0; --i) trace.Append({random() % 4}, 0, burst);
    grammar.Follow(trace);
    if (step % 50 != 0) continue;
    const HotStreams followed = grammar.FindHotStreams(options);
    const HotStreams all = FindHotStreams(trace.sequences(), options);
    CHECK(followed.length == all.length);
    REQUIRE(followed.streams.size() == all.streams.size());
    for (size_t i = 0; i < all.streams.size(); ++i) {
      CHECK(followed.streams[i].symbols == all.streams[i].symbols);
      CHECK(followed.streams[i].frequency == all.streams[i].frequency);
    }
  }
  CHECK(grammar.FindHotStreams(options).streams.size() > 5);
}

TEST_CASE("hot streams: none extends over the end of a sequence") {
  const std::vector<std::vector<uint32_t>> sequences(20, Letters("abcde"));
  const HotStreams hot = FindHotStreams(sequences, {.min_length = 2});
  REQUIRE(hot.streams.size() == 1);
  CHECK(hot.length == 100);
  CHECK(hot.streams[0].symbols == Letters("abcde"));
  CHECK(hot.streams[0].frequency == 20);
  CHECK(FindHotStreams(std::vector<std::vector<uint32_t>>{}, {}).Coverage() == 0);
}

}  // namespace
}  // namespace hbbp
