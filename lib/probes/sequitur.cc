#include "probes/sequitur.h"

namespace hbbp {

Sequitur::Sequitur() { MakeRule(); }

Sequitur::Node Sequitur::MakeNode(uint32_t value) {
  Node node = static_cast<Node>(nodes_.size());
  if (free_nodes_.empty()) {
    nodes_.emplace_back();
  } else {
    node = free_nodes_.back();
    free_nodes_.pop_back();
    nodes_[node] = {};
  }
  nodes_[node].value = value;
  if (IsRule(node)) ++rules_[RuleOf(node)].uses;
  return node;
}

uint32_t Sequitur::MakeRule() {
  auto rule = static_cast<uint32_t>(rules_.size());
  if (free_rules_.empty()) {
    rules_.emplace_back();
  } else {
    rule = free_rules_.back();
    free_rules_.pop_back();
  }
  const Node guard = MakeNode(kGuard);
  nodes_[guard] = {guard, guard, kGuard, rule};
  rules_[rule] = {guard, 0};
  return rule;
}

void Sequitur::RemovePair(Node node) {
  if (!HasPair(node)) return;
  const auto found = pairs_.find(PairAt(node));
  if (found != pairs_.end() && found->second == node) pairs_.erase(found);
}

void Sequitur::Link(Node left, Node right) {
  if (nodes_[left].next != kNone) {
    RemovePair(left);
    // Of three equal symbols in a row only the second pair is in the table. When it is removed,
    // the first one has to be found again.
    const auto is_triple = [this](Node node) {
      const Node previous = nodes_[node].previous;
      const Node next = nodes_[node].next;
      return previous != kNone && next != kNone && !IsGuard(node) &&
             nodes_[node].value == nodes_[previous].value &&
             nodes_[node].value == nodes_[next].value;
    };
    if (is_triple(right)) pairs_[PairAt(right)] = right;
    if (is_triple(left)) pairs_[PairAt(nodes_[left].previous)] = nodes_[left].previous;
  }
  nodes_[left].next = right;
  nodes_[right].previous = left;
}

void Sequitur::InsertAfter(Node node, Node inserted) {
  Link(inserted, nodes_[node].next);
  Link(node, inserted);
}

void Sequitur::Remove(Node node) {
  Link(nodes_[node].previous, nodes_[node].next);
  RemovePair(node);
  if (IsRule(node)) --rules_[RuleOf(node)].uses;
  free_nodes_.push_back(node);
}

// Makes the pair at `node` unique. Returns whether it occurred before.
bool Sequitur::Check(Node node) {
  if (!HasPair(node)) return false;
  const auto [found, is_new] = pairs_.try_emplace(PairAt(node), node);
  if (is_new) return false;
  const Node earlier = found->second;
  if (nodes_[earlier].next != node) Match(node, earlier);
  return true;
}

void Sequitur::Match(Node node, Node earlier) {
  uint32_t rule = 0;
  const Node before = nodes_[earlier].previous;
  const Node after = nodes_[nodes_[earlier].next].next;
  if (IsGuard(before) && IsGuard(after)) {
    rule = nodes_[before].rule;
    Substitute(node, rule);
  } else {
    rule = MakeRule();
    InsertAfter(Last(rule), MakeNode(nodes_[node].value));
    InsertAfter(Last(rule), MakeNode(nodes_[nodes_[node].next].value));
    Substitute(earlier, rule);
    Substitute(node, rule);
    pairs_[PairAt(First(rule))] = First(rule);
  }
  const Node first = First(rule);
  if (IsRule(first) && rules_[RuleOf(first)].uses == 1) Expand(first);
}

// Replaces the pair at `node` by the rule.
void Sequitur::Substitute(Node node, uint32_t rule) {
  const Node before = nodes_[node].previous;
  Remove(nodes_[before].next);
  Remove(nodes_[before].next);
  InsertAfter(before, MakeNode(Grammar::kRule | rule));
  if (!Check(before)) Check(nodes_[before].next);
}

// Replaces the only use of a rule by what the rule is.
void Sequitur::Expand(Node node) {
  const uint32_t rule = RuleOf(node);
  const Node left = nodes_[node].previous;
  const Node right = nodes_[node].next;
  const Node first = First(rule);
  const Node last = Last(rule);
  const Node guard = rules_[rule].guard;
  RemovePair(node);
  Remove(node);
  Link(left, first);
  Link(last, right);
  if (HasPair(last)) pairs_[PairAt(last)] = last;
  free_nodes_.push_back(guard);
  rules_[rule] = {};
  free_rules_.push_back(rule);
}

void Sequitur::AppendValue(uint32_t value) {
  InsertAfter(Last(0), MakeNode(value));
  Check(nodes_[Last(0)].previous);
}

Grammar Sequitur::MakeGrammar() const {
  std::vector<uint32_t> numbers(rules_.size());
  Grammar grammar;
  for (size_t rule = 0; rule < rules_.size(); ++rule) {
    if (rules_[rule].guard == kNone) continue;
    numbers[rule] = static_cast<uint32_t>(grammar.rules.size());
    grammar.rules.emplace_back();
  }
  for (size_t rule = 0; rule < rules_.size(); ++rule) {
    const Node guard = rules_[rule].guard;
    if (guard == kNone) continue;
    std::vector<uint32_t>& symbols = grammar.rules[numbers[rule]];
    for (Node node = nodes_[guard].next; node != guard; node = nodes_[node].next) {
      const uint32_t value = nodes_[node].value;
      if (IsRule(node)) {
        symbols.push_back(Grammar::kRule | numbers[RuleOf(node)]);
      } else {
        symbols.push_back(value > next_gap_ ? Grammar::kGap : value);
      }
    }
  }
  return grammar;
}

}  // namespace hbbp
