// Tests FindLoops() and the dominators that it is based on, first with small graphs whose loops are
// known, then with random graphs. For the latter, SimpleDominators and SimpleLoops() find the same
// by the definitions, slowly.
#include "blocks/loop_nest.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "blocks/dominators.h"
#include "support/catch.h"
#include "support/random_graph.h"

namespace hbbp {
namespace {

using Edges = std::vector<GraphEdge>;
using Nodes = std::vector<uint32_t>;
using NodeSet = std::set<uint32_t>;

NodeSet FindBody(const LoopNest& nest, uint32_t loop) {
  NodeSet body;
  for (uint32_t node = 0; node < nest.innermost.size(); ++node) {
    if (nest.IsWithin(nest.innermost[node], loop)) body.insert(node);
  }
  return body;
}

// Returns the only loop of the header that is or is not irreducible.
uint32_t LoopAt(const LoopNest& nest, uint32_t header, bool is_irreducible = false) {
  uint32_t found = kNoLoop;
  for (uint32_t i = 0; i < nest.loops.size(); ++i) {
    if (nest.loops[i].header != header || nest.loops[i].is_irreducible != is_irreducible) continue;
    CHECK(found == kNoLoop);
    found = i;
  }
  return found;
}

NodeSet Reached(uint32_t nodes, const Edges& edges, const Nodes& roots, uint32_t without) {
  NodeSet reached;
  Nodes waiting;
  const auto reach = [&](uint32_t node) {
    if (node != without && reached.insert(node).second) waiting.push_back(node);
  };
  for (const uint32_t root : roots) reach(root);
  const Adjacency successors(nodes, edges, Adjacency::Direction::kSuccessors);
  while (!waiting.empty()) {
    const uint32_t node = waiting.back();
    waiting.pop_back();
    for (const uint32_t next : successors.Of(node)) reach(next);
  }
  return reached;
}

// Finds dominators by their definition, one node after the other.
class SimpleDominators {
 public:
  SimpleDominators(uint32_t nodes, const Edges& edges, const Nodes& roots)
      : reached_(Reached(nodes, edges, roots, kNoNode)) {
    for (uint32_t node = 0; node < nodes; ++node) {
      without_.push_back(Reached(nodes, edges, roots, node));
    }
  }

  bool Dominates(uint32_t above, uint32_t below) const {
    return reached_.contains(above) && reached_.contains(below) && !without_[above].contains(below);
  }
  const NodeSet& reached() const { return reached_; }

 private:
  NodeSet reached_;
  std::vector<NodeSet> without_;
};

TEST_CASE("A straight line has no loop") {
  const LoopNest nest = FindLoops(3, Edges{{0, 1}, {1, 2}}, Nodes{0});
  CHECK(nest.loops.empty());
  CHECK(nest.innermost == Nodes{kNoLoop, kNoLoop, kNoLoop});
}

TEST_CASE("No node at all is a graph too") { CHECK(FindLoops(0, {}, {}).loops.empty()); }

TEST_CASE("A block that branches to itself is a loop") {
  const LoopNest nest = FindLoops(3, Edges{{0, 1}, {1, 1}, {1, 2}}, Nodes{0});
  REQUIRE(nest.loops.size() == 1);
  CHECK(nest.loops[0].header == 1);
  CHECK(nest.loops[0].nodes == 1);
  CHECK(nest.loops[0].entries == 1);
  CHECK(!nest.loops[0].is_irreducible);
  CHECK(FindBody(nest, 0) == NodeSet{1});
}

TEST_CASE("The first block of a function may be a header") {
  const LoopNest nest = FindLoops(2, Edges{{0, 0}, {0, 1}}, Nodes{0});
  REQUIRE(nest.loops.size() == 1);
  CHECK(nest.loops[0].entries == 1);
}

TEST_CASE("Loops are nested") {
  // 1 { 2 { 3 } 4 { 5 } 6 } 7
  const LoopNest nest = FindLoops(
      8, Edges{{0, 1}, {1, 2}, {2, 3}, {3, 2}, {3, 4}, {4, 5}, {5, 4}, {5, 6}, {6, 1}, {6, 7}},
      Nodes{0});
  REQUIRE(nest.loops.size() == 3);
  const uint32_t outer = LoopAt(nest, 1), first = LoopAt(nest, 2), second = LoopAt(nest, 4);
  CHECK(outer == 0);
  CHECK(nest.loops[outer].depth == 1);
  CHECK(nest.loops[outer].parent == kNoLoop);
  CHECK(nest.loops[outer].nodes == 6);
  for (const uint32_t inner : {first, second}) {
    CHECK(nest.loops[inner].depth == 2);
    CHECK(nest.loops[inner].parent == outer);
    CHECK(nest.loops[inner].nodes == 2);
  }
  CHECK(nest.innermost == Nodes{kNoLoop, outer, first, first, second, second, outer, kNoLoop});
}

TEST_CASE("Back edges to one header make one loop") {
  const LoopNest nest =
      FindLoops(5, Edges{{0, 1}, {1, 2}, {1, 3}, {2, 1}, {3, 1}, {3, 4}}, Nodes{0});
  REQUIRE(nest.loops.size() == 1);
  CHECK(FindBody(nest, 0) == NodeSet{1, 2, 3});
}

TEST_CASE("A cycle with two ways in is irreducible, and is reported") {
  const LoopNest nest = FindLoops(4, Edges{{0, 1}, {0, 2}, {1, 2}, {2, 1}, {2, 3}}, Nodes{0});
  REQUIRE(nest.loops.size() == 1);
  CHECK(nest.loops[0].is_irreducible);
  CHECK(nest.loops[0].entries == 2);
  CHECK(FindBody(nest, 0) == NodeSet{1, 2});
}

TEST_CASE("A loop that is entered in the middle is irreducible") {
  const Edges edges{{0, 1}, {1, 2}, {2, 1}, {2, 3}};
  CHECK(!FindLoops(4, edges, Nodes{0}).loops.at(0).is_irreducible);
  const LoopNest nest = FindLoops(4, edges, Nodes{0, 2});
  REQUIRE(nest.loops.size() == 1);
  CHECK(nest.loops[0].is_irreducible);
  CHECK(nest.loops[0].entries == 2);
}

TEST_CASE("Natural loops are found in and around an irreducible region") {
  // 1 { region 2 3 { 4 } } 5: 2 and 3 lead to each other, 4 is a loop of its own.
  const LoopNest nest = FindLoops(
      6, Edges{{0, 1}, {1, 2}, {1, 3}, {2, 3}, {3, 4}, {4, 4}, {4, 2}, {3, 5}, {5, 1}}, Nodes{0});
  REQUIRE(nest.loops.size() == 3);
  const uint32_t outer = LoopAt(nest, 1), inner = LoopAt(nest, 4);
  REQUIRE(outer != kNoLoop);
  REQUIRE(inner != kNoLoop);
  const uint32_t region = nest.loops[inner].parent;
  CHECK(nest.loops[region].is_irreducible);
  CHECK(nest.loops[region].parent == outer);
  CHECK(FindBody(nest, region) == NodeSet{2, 3, 4});
  CHECK(FindBody(nest, outer) == NodeSet{1, 2, 3, 4, 5});
  CHECK(nest.loops[inner].depth == 3);
}

TEST_CASE("A header of a natural loop may be the header of an irreducible region too") {
  // 1 -> 2 -> 1 is natural; 3 is entered from outside, and leads to 1.
  const LoopNest nest =
      FindLoops(4, Edges{{0, 1}, {1, 2}, {2, 1}, {2, 3}, {0, 3}, {3, 1}}, Nodes{0});
  REQUIRE(nest.loops.size() == 2);
  const uint32_t natural = LoopAt(nest, 1);
  REQUIRE(natural != kNoLoop);
  CHECK(FindBody(nest, natural) == NodeSet{1, 2});
  const uint32_t region = nest.loops[natural].parent;
  CHECK(nest.loops[region].is_irreducible);
  CHECK(FindBody(nest, region) == NodeSet{1, 2, 3});
}

TEST_CASE("Nodes without predecessors are not entries of a loop, and have loops of their own") {
  // 4 is a landing pad that goes on in the loop; 5 is one with a loop.
  const LoopNest nest =
      FindLoops(7, Edges{{0, 1}, {1, 2}, {2, 1}, {2, 3}, {4, 2}, {5, 6}, {6, 5}}, Nodes{0});
  REQUIRE(nest.loops.size() == 2);
  const uint32_t loop = LoopAt(nest, 1);
  REQUIRE(loop != kNoLoop);
  CHECK(nest.loops[loop].entries == 1);
  CHECK(nest.innermost[4] == kNoLoop);
  CHECK(FindBody(nest, LoopAt(nest, 5)) == NodeSet{5, 6});
}

TEST_CASE("Loops are found in a function of 100,000 blocks, nested 50,000 deep") {
  constexpr uint32_t kDepth = 50'000;
  Edges edges;
  for (uint32_t i = 0; i + 1 < 2 * kDepth; ++i) edges.push_back({i, i + 1});
  for (uint32_t i = 0; i < kDepth; ++i) edges.push_back({2 * kDepth - 1 - i, i});
  const LoopNest nest = FindLoops(2 * kDepth, edges, Nodes{0});
  REQUIRE(nest.loops.size() == kDepth);
  CHECK(nest.loops.back().depth == kDepth);
  CHECK(nest.loops.back().nodes == 2);
  CHECK(nest.loops.front().nodes == 2 * kDepth);
}

TEST_CASE("Dominators agree with their definition") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 1500; ++round) {
    const uint32_t nodes = 1 + static_cast<uint32_t>(random() % 24);
    const Edges edges =
        MakeRandomGraph(nodes, 0.2 + 0.1 * static_cast<double>(random() % 12), nodes, &random);
    Nodes roots{0};
    if (random() % 4 == 0) roots.push_back(static_cast<uint32_t>(random() % nodes));
    const DepthFirst walk =
        WalkDepthFirst(nodes, Adjacency(nodes, edges, Adjacency::Direction::kSuccessors), roots);
    const Dominators dominators(walk, Adjacency(nodes, edges, Adjacency::Direction::kPredecessors),
                                roots);
    const SimpleDominators simple(nodes, edges, roots);
    bool agree = true;
    for (uint32_t above = 0; above < nodes; ++above) {
      for (uint32_t below = 0; below < nodes; ++below) {
        agree &= dominators.Dominates(above, below) == simple.Dominates(above, below);
        const bool is_immediate = dominators.ImmediateDominator(below) == above;
        if (is_immediate) agree &= above != below && simple.Dominates(above, below);
      }
    }
    CAPTURE(round);
    REQUIRE(agree);
  }
}

// Finds headers and bodies of natural loops by the definition.
std::map<uint32_t, NodeSet> SimpleLoops(uint32_t nodes, const Edges& edges,
                                        const SimpleDominators& simple) {
  const Adjacency predecessors(nodes, edges, Adjacency::Direction::kPredecessors);
  std::map<uint32_t, NodeSet> loops;
  for (const GraphEdge& edge : edges) {
    if (!simple.Dominates(edge.to, edge.from)) continue;
    NodeSet& body = loops[edge.to];
    body.insert(edge.to);
    Nodes waiting;
    if (body.insert(edge.from).second) waiting.push_back(edge.from);
    while (!waiting.empty()) {
      const uint32_t node = waiting.back();
      waiting.pop_back();
      for (const uint32_t from : predecessors.Of(node)) {
        if (simple.reached().contains(from) && body.insert(from).second) waiting.push_back(from);
      }
    }
  }
  return loops;
}

// Returns whether the graph has cycles without its back edges.
bool HasOtherCycles(uint32_t nodes, const Edges& edges, const SimpleDominators& simple) {
  Edges left;
  for (const GraphEdge& edge : edges) {
    if (!simple.reached().contains(edge.from)) continue;
    if (!simple.Dominates(edge.to, edge.from)) left.push_back(edge);
  }
  return std::any_of(left.begin(), left.end(), [&](const GraphEdge& edge) {
    return Reached(nodes, left, {edge.to}, kNoNode).contains(edge.from);
  });
}

TEST_CASE("Loops of random graphs are those of the definition") {
  std::mt19937_64 random(11);
  int natural = 0, irreducible = 0;
  for (int round = 0; round < 3000; ++round) {
    const uint32_t nodes = 1 + static_cast<uint32_t>(random() % 16);
    Edges edges =
        MakeRandomGraph(nodes, 0.2 + 0.1 * static_cast<double>(random() % 12), nodes, &random);
    Nodes roots{0};
    if (random() % 4 == 0) roots.push_back(static_cast<uint32_t>(random() % nodes));
    const SimpleDominators simple(nodes, edges, roots);
    const LoopNest nest = FindLoops(nodes, edges, roots);
    std::map<uint32_t, NodeSet> found;
    bool has_irreducible = false;
    CAPTURE(round);
    for (uint32_t i = 0; i < nest.loops.size(); ++i) {
      const NestedLoop& loop = nest.loops[i];
      const NodeSet body = FindBody(nest, i);
      REQUIRE(body.contains(loop.header));
      REQUIRE(body.size() == loop.nodes);
      if (loop.parent != kNoLoop) {
        REQUIRE(loop.parent < i);
        const NodeSet around = FindBody(nest, loop.parent);
        REQUIRE(std::includes(around.begin(), around.end(), body.begin(), body.end()));
      }
      if (!simple.reached().contains(loop.header)) continue;
      if (loop.is_irreducible) {
        ++irreducible;
        has_irreducible = true;
        REQUIRE(loop.entries >= 2);
        for (const uint32_t node : body) {
          REQUIRE(Reached(nodes, edges, {node}, kNoNode).contains(loop.header));
          REQUIRE(Reached(nodes, edges, {loop.header}, kNoNode).contains(node));
        }
      } else {
        ++natural;
        REQUIRE(loop.entries == 1);
        REQUIRE(found.emplace(loop.header, body).second);
      }
    }
    REQUIRE(found == SimpleLoops(nodes, edges, simple));
    REQUIRE(has_irreducible == HasOtherCycles(nodes, edges, simple));
  }
  CHECK(natural > 1000);
  CHECK(irreducible > 300);
}

}  // namespace
}  // namespace hbbp
