// Tests whether the results of InferFlow are better than its input, and its standard errors are
// true.
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "estimate/flow_inference.h"
#include "support/catch.h"
#include "support/flow_programs.h"

namespace hbbp {
namespace {

// Samples two sources of blocks, of which the second is sharper, and edges by the second.
FlowProgram Sampled(FlowProgram program, std::mt19937_64* random) {
  for (const uint32_t block : program.blocks) {
    program.MeasureAtRandom(block, 30, random);
    program.MeasureAtRandom(block, 20, random);
  }
  for (uint32_t e = 0; e < program.truth.size(); ++e) {
    const auto [from, to] = program.problem.edges[e];
    const bool is_block = e + 1 < program.truth.size() && to == from + 1;
    if (!is_block && from != kGround && to != kGround) program.MeasureAtRandom(e, 20, random);
  }
  return program;
}

struct Errors {
  double first = 0, second = 0, flow = 0;             // sums of squares
  double sum = 0, truth = 0;                          // of the counts of flow
  double within_one = 0, within_two = 0, blocks = 0;  // standard errors
  double total_within_one = 0;
  double chi_square_of_total = 0;
};

Errors ComputeErrors(const std::vector<FlowProgram>& programs, int runs) {
  Errors errors;
  std::mt19937_64 random(11);
  for (int run = 0; run < runs; ++run) {
    const FlowProgram program =
        Sampled(programs[static_cast<size_t>(run) % programs.size()], &random);
    const auto solution = InferFlow(program.problem);
    REQUIRE(solution.ok());
    double total = 0, true_total = 0;
    ReplicateSums replicates;
    for (size_t i = 0; i < program.blocks.size(); ++i) {
      const double truth = program.truth[program.blocks[i]];
      const Flow& flow = solution->flows[program.blocks[i]];
      const auto square = [truth](double count) { return (count - truth) * (count - truth); };
      errors.first += square(program.problem.measurements[2 * i].value);
      errors.second += square(program.problem.measurements[2 * i + 1].value);
      errors.flow += square(flow.count);
      errors.sum += flow.count;
      errors.truth += truth;
      total += flow.count;
      true_total += truth;
      replicates.Add(flow.replicates);
      if (truth < 400) continue;  // fewer than 20 observations are not normally distributed
      const double distance = std::sqrt(square(flow.count) / VarianceOf(flow.replicates));
      errors.within_one += distance < 1;
      errors.within_two += distance < 2;
      ++errors.blocks;
    }
    const double distance = std::abs(total - true_total) / std::sqrt(VarianceOf(replicates));
    errors.total_within_one += distance < 1;
    errors.chi_square_of_total += distance * distance / runs;
  }
  return errors;
}

void Check(const Errors& errors, int runs) {
  CHECK(errors.flow < 0.7 * errors.second);
  CHECK(errors.second < errors.first);
  // There is no significant bias.
  CHECK(errors.sum == Approx(errors.truth).epsilon(0.005));
  // A normal distribution has 68.3 % and 95.4 %; Student's with the 15 degrees of freedom that 16
  // replicates leave, 66.7 % and 93.6 %.
  CHECK(errors.within_one / errors.blocks == Approx(0.667).margin(0.04));
  CHECK(errors.within_two / errors.blocks == Approx(0.936).margin(0.025));
  // The same must hold for the sums of all blocks, with their correlations: to 2.5 standard errors
  // of this test.
  CHECK(errors.total_within_one / runs == Approx(0.667).margin(2.5 * std::sqrt(0.222 / runs)));
}

TEST_CASE("flow is nearer to the truth than each source, as near as it says: structured") {
  std::vector<FlowProgram> programs;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    programs.push_back(MakeStructuredProgram(80, 2000, 100 + seed));
  }
  Check(ComputeErrors(programs, 300), 300);
}

TEST_CASE("flow is nearer to the truth than each source, as near as it says: irreducible") {
  std::vector<FlowProgram> programs;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    programs.push_back(MakeTangledProgram(60, 1000, 200 + seed));
  }
  Check(ComputeErrors(programs, 300), 300);
}

TEST_CASE("a biased source does less harm where its error is declared") {
  std::mt19937_64 random(12);
  double declared = 0, undeclared = 0, unbiased = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const FlowProgram base = MakeStructuredProgram(80, 100'000, 300 + seed);
    for (const bool declares : {false, true}) {
      FlowProgram program = base;
      for (const uint32_t block : program.blocks) {
        program.MeasureAtRandom(block, 30, &random);
        const double factor = std::uniform_real_distribution<>(0.5, 1.5)(random);
        program.MeasureAtRandom(block, 30, &random, factor, declares ? 0.3 : 0);
      }
      const auto solution = InferFlow(program.problem);
      REQUIRE(solution.ok());
      for (size_t i = 0; i < program.blocks.size(); ++i) {
        const double truth = program.truth[program.blocks[i]];
        (declares ? declared : undeclared) +=
            std::pow(solution->flows[program.blocks[i]].count - truth, 2);
        if (declares) unbiased += std::pow(program.problem.measurements[2 * i].value - truth, 2);
      }
    }
  }
  CHECK(declared < unbiased);
  CHECK(declared < undeclared / 4);
}

}  // namespace
}  // namespace hbbp
