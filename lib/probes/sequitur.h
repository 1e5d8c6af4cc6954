// Sequitur infers a grammar that generates a sequence and nothing else, in linear time
// (Nevill-Manning and Witten, 1997): no pair of adjacent symbols occurs twice in it, and each rule
// is used twice.
//
//   Sequitur sequitur;
//   for (const uint32_t symbol : {1, 2, 3, 1, 2, 3}) sequitur.Append(symbol);
//   sequitur.MakeGrammar()   // rule 0: R1 R1, rule 1: 1 2 3
#ifndef HBBP_LIB_PROBES_SEQUITUR_H_
#define HBBP_LIB_PROBES_SEQUITUR_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace hbbp {

struct Grammar {
  static constexpr uint32_t kRule = uint32_t{1} << 31;
  // A symbol that stands between two sequences, and is part of neither.
  static constexpr uint32_t kGap = kRule - 1;

  // By rule; 0 is the start. A symbol with kRule is the number of a rule.
  std::vector<std::vector<uint32_t>> rules;
};

class Sequitur {
 public:
  // Symbols must be below this number.
  static constexpr uint32_t kMaxSymbol = uint32_t{1} << 30;

  Sequitur();

  void Append(uint32_t symbol) { AppendValue(symbol); }
  // Ends a sequence: no rule extends from it into the next one.
  void Separate() { AppendValue(next_gap_--); }

  Grammar MakeGrammar() const;

 private:
  using Node = uint32_t;  // index of nodes_

  static constexpr Node kNone = UINT32_MAX;
  // The value of the guard, which closes the ring of a rule's nodes; `rule` of it says which.
  static constexpr uint32_t kGuard = UINT32_MAX;

  struct NodeData {
    Node previous = kNone;
    Node next = kNone;
    uint32_t value = 0;  // a symbol, kRule | rule, or kGuard
    uint32_t rule = 0;
  };
  struct Rule {
    Node guard = kNone;
    uint32_t uses = 0;
  };

  void AppendValue(uint32_t value);
  Node MakeNode(uint32_t value);
  uint32_t MakeRule();
  bool IsGuard(Node node) const { return nodes_[node].value == kGuard; }
  bool IsRule(Node node) const {
    return !IsGuard(node) && (nodes_[node].value & Grammar::kRule) != 0;
  }
  uint32_t RuleOf(Node node) const { return nodes_[node].value & ~Grammar::kRule; }
  Node First(uint32_t rule) const { return nodes_[rules_[rule].guard].next; }
  Node Last(uint32_t rule) const { return nodes_[rules_[rule].guard].previous; }
  uint64_t PairAt(Node node) const {
    return uint64_t{nodes_[node].value} << 32 | nodes_[nodes_[node].next].value;
  }
  bool HasPair(Node node) const {
    return node != kNone && !IsGuard(node) && nodes_[node].next != kNone &&
           !IsGuard(nodes_[node].next);
  }
  void RemovePair(Node node);
  void Link(Node left, Node right);
  void InsertAfter(Node node, Node inserted);
  void Remove(Node node);
  bool Check(Node node);
  void Match(Node node, Node earlier);
  void Substitute(Node node, uint32_t rule);
  void Expand(Node node);

  std::vector<NodeData> nodes_;
  std::vector<Node> free_nodes_;
  std::vector<Rule> rules_;  // without a guard: unused
  std::vector<uint32_t> free_rules_;
  std::unordered_map<uint64_t, Node> pairs_;
  uint32_t next_gap_ = Grammar::kGap;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_SEQUITUR_H_
