// Makes synthetic functions as flow graphs, with true counts that conserve flow, and samples them.
#ifndef HBBP_TESTS_SUPPORT_FLOW_PROGRAMS_H_
#define HBBP_TESTS_SUPPORT_FLOW_PROGRAMS_H_

#include <cstdint>
#include <random>
#include <vector>

#include "estimate/flow_inference.h"
#include "estimate/stream_estimator.h"

namespace hbbp {

// A block is two nodes and the edge between them.
class FlowProgram {
 public:
  FlowProblem problem;
  std::vector<double> truth;     // by edge
  std::vector<uint32_t> blocks;  // the edges that are blocks

  uint32_t AddNode() { return problem.nodes++; }

  uint32_t AddEdge(uint32_t from, uint32_t to, double count) {
    problem.edges.push_back({from, to});
    truth.push_back(count);
    return static_cast<uint32_t>(truth.size() - 1);
  }

  uint32_t AddBlock(double count) {
    const uint32_t in = AddNode();
    blocks.push_back(AddEdge(in, AddNode(), count));
    return blocks.back();
  }

  uint32_t In(uint32_t block) const { return problem.edges[block].from; }
  uint32_t Out(uint32_t block) const { return problem.edges[block].to; }

  void Measure(uint32_t edge, double value, double unit = 1, double relative_error = 0) {
    FlowMeasurement measurement;
    measurement.edge = edge;
    measurement.value = value;
    measurement.unit = unit;
    measurement.relative_error = relative_error;
    problem.measurements.push_back(measurement);
  }

  // Adds an observation that is Poisson distributed, and assigned to replicates.
  void MeasureAtRandom(uint32_t edge, double unit, std::mt19937_64* random, double factor = 1,
                       double relative_error = 0) {
    FlowMeasurement measurement;
    measurement.edge = edge;
    measurement.unit = unit;
    measurement.relative_error = relative_error;
    for (float& sum : measurement.replicates.sums) {
      const double mean = factor * truth[edge] / unit / kReplicates;
      const double value = mean > 0 ? unit * std::poisson_distribution<int64_t>(mean)(*random) : 0;
      sum = static_cast<float>(value);
      measurement.value += value;
    }
    problem.measurements.push_back(measurement);
  }
};

// A program of nested ifs and loops, with about that number of blocks and entries.
class StructuredProgram {
 public:
  StructuredProgram(uint32_t blocks, double entries, uint64_t seed) : random_(seed) {
    uint32_t end = program_.AddBlock(entries);
    program_.AddEdge(kGround, program_.In(end), entries);
    while (program_.blocks.size() < blocks) end = AddRegion(end, entries, 6);
    program_.AddEdge(program_.Out(end), kGround, entries);
  }

  FlowProgram Get() { return program_; }

 private:
  // Adds a region after the block `before`. Returns its last block, which runs equally often.
  uint32_t AddRegion(uint32_t before, double count, int depth) {
    const double choice = std::uniform_real_distribution<>(0, 1)(random_);
    if (depth == 0 || choice < 0.3) return Continue(before, count, count);
    if (choice < 0.6) {  // a loop
      const double again = std::uniform_real_distribution<>(0.2, 0.9)(random_);
      const double times = count / (1 - again);
      const uint32_t head = Continue(before, times, count);
      const uint32_t tail = AddRegion(head, times, depth - 1);
      program_.AddEdge(program_.Out(tail), program_.In(head), times - count);
      return Continue(tail, count, count);
    }
    const double taken = count * std::uniform_real_distribution<>(0, 1)(random_);
    const uint32_t then = AddRegion(Continue(before, taken, taken), taken, depth - 1);
    const uint32_t join = Continue(then, count, taken);
    if (choice < 0.8) {
      program_.AddEdge(program_.Out(before), program_.In(join), count - taken);
    } else {
      const uint32_t other =
          AddRegion(Continue(before, count - taken, count - taken), count - taken, depth - 1);
      program_.AddEdge(program_.Out(other), program_.In(join), count - taken);
    }
    return join;
  }

  uint32_t Continue(uint32_t before, double count, double edge_count) {
    const uint32_t block = program_.AddBlock(count);
    program_.AddEdge(program_.Out(before), program_.In(block), edge_count);
    return block;
  }

  FlowProgram program_;
  std::mt19937_64 random_;
};

inline FlowProgram MakeStructuredProgram(uint32_t blocks, double entries, uint64_t seed) {
  return StructuredProgram(blocks, entries, seed).Get();
}

// Makes edges between random nodes, with the counts of random walks from and to the ground:
// irreducible, and as unlike a tree as possible.
inline FlowProgram MakeTangledProgram(uint32_t blocks, uint32_t walks, uint64_t seed) {
  FlowProgram program;
  std::mt19937_64 random(seed);
  for (uint32_t i = 0; i < blocks; ++i) program.AddBlock(0);
  std::vector<std::vector<uint32_t>> out(blocks);  // edges by block
  const auto add = [&](uint32_t from, uint32_t to) {
    out[from].push_back(
        program.AddEdge(program.Out(program.blocks[from]), program.In(program.blocks[to]), 0));
  };
  for (uint32_t i = 0; i + 1 < blocks; ++i) {
    add(i, i + 1);
    add(i, static_cast<uint32_t>(random() % blocks));
  }
  const uint32_t entry = program.AddEdge(kGround, program.In(program.blocks[0]), 0);
  const uint32_t exit = program.AddEdge(program.Out(program.blocks[blocks - 1]), kGround, 0);
  // By the node that they lead to.
  std::vector<uint32_t> block_of(program.problem.nodes);
  for (uint32_t i = 0; i < blocks; ++i) block_of[program.In(program.blocks[i])] = i;
  for (uint32_t walk = 0; walk < walks; ++walk) {
    ++program.truth[entry];
    uint32_t block = 0;
    for (uint32_t steps = 0;; ++steps) {
      ++program.truth[program.blocks[block]];
      if (block + 1 == blocks) break;
      // After some time walks go straight on, so that they end.
      const uint32_t edge = out[block][steps < 200 ? random() % out[block].size() : 0];
      ++program.truth[edge];
      block = block_of[program.problem.edges[edge].to];
    }
    ++program.truth[exit];
  }
  return program;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_FLOW_PROGRAMS_H_
