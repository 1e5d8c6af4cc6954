// Tests InferFlow(): weights of measurements, flows that would be negative, replicates, numbers
// that it refuses, and graphs of ten thousand blocks. FlowProgram (support/flow_programs.h) has a
// graph with its true counts and measurements; Line and Loop are the two small ones that most tests
// use. Infer() also checks that the solution balances.
#include "estimate/flow_inference.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>

#include "support/catch.h"
#include "support/flow_programs.h"

namespace hbbp {
namespace {

FlowSolution Infer(const FlowProgram& program) {
  StatusOr<FlowSolution> solution = InferFlow(program.problem);
  REQUIRE(solution.ok());
  REQUIRE(solution->flows.size() == program.truth.size());
  CHECK(solution->imbalance < 1e-9);
  return *std::move(solution);
}

double EdgeCount(const FlowSolution& solution, uint32_t edge) { return solution.flows[edge].count; }

// Two blocks follow each other; the second has no measurement.
struct Line {
  FlowProgram program;
  uint32_t first = program.AddBlock(100);
  uint32_t second = program.AddBlock(100);
  uint32_t entry = program.AddEdge(kGround, program.In(first), 100);
  uint32_t between = program.AddEdge(program.Out(first), program.In(second), 100);
  uint32_t exit = program.AddEdge(program.Out(second), kGround, 100);
};

TEST_CASE("measurements that agree are kept, and what is not measured follows from them") {
  Line line;
  line.program.Measure(line.first, 100);
  const FlowSolution solution = Infer(line.program);
  for (const Flow& flow : solution.flows) CHECK(flow.count == Approx(100));
}

TEST_CASE("measurements that disagree meet where their variances say") {
  Line line;
  line.program.Measure(line.first, 90);
  line.program.Measure(line.second, 110);
  CHECK(EdgeCount(Infer(line.program), line.between) == Approx(100).epsilon(1e-3));
  // This measurement has half the weight: 100 = (2 * 90 + 120) / 3.
  line.program.problem.measurements[1].value = 120;
  line.program.problem.measurements[1].unit = 2;
  CHECK(EdgeCount(Infer(line.program), line.exit) == Approx(100).epsilon(1e-3));
}

TEST_CASE("several measurements of one edge are combined in the same way") {
  Line line;
  line.program.Measure(line.first, 90);
  line.program.Measure(line.first, 120, 2);
  CHECK(EdgeCount(Infer(line.program), line.second) == Approx(100).epsilon(1e-3));
}

TEST_CASE("a relative error makes a measurement weigh less") {
  Line line;
  line.program.Measure(line.first, 1'000'000, 1);
  line.program.Measure(line.second, 1'200'000, 1, 0.2);
  CHECK(EdgeCount(Infer(line.program), line.first) == Approx(1'000'000).epsilon(1e-3));
}

TEST_CASE("so does an error that does not depend on the count") {
  Line line;
  line.program.Measure(line.first, 1'000'000, 1);
  line.program.Measure(line.second, 1'200'000, 1);
  line.program.problem.measurements[1].error = 200'000;
  CHECK(EdgeCount(Infer(line.program), line.first) == Approx(1'000'000).epsilon(1e-3));
}

TEST_CASE("where nothing was observed says less than where much was") {
  Line line;
  line.program.Measure(line.first, 1000);
  line.program.Measure(line.second, 1000);
  line.program.Measure(line.between, 0);
  // The variances of the expected counts give 2/3 of 1000; those of the observed ones about 2.
  CHECK(EdgeCount(Infer(line.program), line.first) == Approx(667).epsilon(0.02));
}

// The program is if (...) then; join, with a loop around: 50 entries, 200 iterations, 150 times
// "then".
struct Loop {
  FlowProgram program;
  uint32_t head = program.AddBlock(200);
  uint32_t then = program.AddBlock(150);
  uint32_t join = program.AddBlock(200);
  uint32_t entry = program.AddEdge(kGround, program.In(head), 50);
  uint32_t fall = program.AddEdge(program.Out(head), program.In(then), 150);
  uint32_t skip = program.AddEdge(program.Out(head), program.In(join), 50);
  uint32_t go_on = program.AddEdge(program.Out(then), program.In(join), 150);
  uint32_t back = program.AddEdge(program.Out(join), program.In(head), 150);
  uint32_t exit = program.AddEdge(program.Out(join), kGround, 50);
};

TEST_CASE("the truth gives the truth back, whichever measurements determine it") {
  const auto check = [](const FlowProgram& program) {
    const FlowSolution solution = Infer(program);
    for (size_t e = 0; e < program.truth.size(); ++e) {
      CHECK(solution.flows[e].count == Approx(program.truth[e]).epsilon(1e-6).margin(1e-6));
    }
  };
  Loop all;
  for (uint32_t e = 0; e < all.program.truth.size(); ++e) {
    all.program.Measure(e, all.program.truth[e]);
  }
  check(all.program);
  Loop some;
  for (const uint32_t e : {some.head, some.then, some.entry}) {
    some.program.Measure(e, some.program.truth[e]);
  }
  check(some.program);
}

TEST_CASE("no flow is negative") {
  Loop loop;
  // The 100 in `then` cannot all have come from 60 in `head`.
  loop.program.Measure(loop.head, 60);
  loop.program.Measure(loop.then, 100);
  loop.program.Measure(loop.join, 60);
  loop.program.Measure(loop.skip, 0);
  const FlowSolution solution = Infer(loop.program);
  for (const Flow& flow : solution.flows) CHECK(flow.count >= 0);
  CHECK(EdgeCount(solution, loop.skip) == Approx(0).margin(1e-4));
  CHECK(EdgeCount(solution, loop.then) == Approx(EdgeCount(solution, loop.head)));
  CHECK(EdgeCount(solution, loop.then) == Approx(73).epsilon(0.03));
}

TEST_CASE("an exit that should run backwards is closed, and its flow found elsewhere") {
  // The graph is ground -> a -> b -> ground, with a second entry into b: b ran less often than a.
  FlowProgram program;
  const uint32_t a = program.AddBlock(0), b = program.AddBlock(0);
  program.AddEdge(kGround, program.In(a), 0);
  program.AddEdge(program.Out(a), program.In(b), 0);
  const uint32_t second_entry = program.AddEdge(kGround, program.In(b), 0);
  program.AddEdge(program.Out(b), kGround, 0);
  program.Measure(a, 110);
  program.Measure(b, 90);
  const FlowSolution solution = Infer(program);
  CHECK(EdgeCount(solution, second_entry) == Approx(0).margin(1e-3));
  CHECK(EdgeCount(solution, a) == Approx(100).epsilon(1e-2));
  CHECK(EdgeCount(solution, b) == Approx(100).epsilon(1e-2));
}

TEST_CASE("self loops, parallel edges and parts of their own") {
  FlowProgram program;
  const uint32_t a = program.AddBlock(10);
  const uint32_t entry = program.AddEdge(kGround, program.In(a), 4);
  const uint32_t again = program.AddEdge(program.Out(a), program.In(a), 6);
  const uint32_t one = program.AddEdge(program.Out(a), kGround, 3);
  const uint32_t other = program.AddEdge(program.Out(a), kGround, 1);
  const uint32_t node = program.AddNode();
  const uint32_t loop = program.AddEdge(node, node, 5);
  // A circle, and blocks that nothing enters, are not connected to the ground.
  const uint32_t b = program.AddBlock(7);
  program.AddEdge(program.Out(b), program.In(b), 7);
  const uint32_t unreachable = program.AddBlock(0);
  const uint32_t from_ground_to_ground = program.AddEdge(kGround, kGround, 2);
  for (const uint32_t e : {a, one, other, loop, b, from_ground_to_ground}) {
    program.Measure(e, program.truth[e]);
  }
  program.Measure(unreachable, 30);
  const FlowSolution solution = Infer(program);
  for (const uint32_t e : {a, entry, again, one, other, loop, b, from_ground_to_ground}) {
    CAPTURE(e);
    CHECK(EdgeCount(solution, e) == Approx(program.truth[e]).margin(1e-3));
  }
  CHECK(EdgeCount(solution, unreachable) == Approx(0).margin(1e-6));
}

TEST_CASE("replicates add up to the flow") {
  FlowProgram program = MakeStructuredProgram(300, 1000, 3);
  std::mt19937_64 random(4);
  for (uint32_t e = 0; e < program.truth.size(); ++e) {
    if (e % 3 != 2) program.MeasureAtRandom(e, 20, &random);
  }
  const FlowSolution solution = Infer(program);
  for (const Flow& flow : solution.flows) {
    const double sum =
        std::accumulate(flow.replicates.sums.begin(), flow.replicates.sums.end(), 0.0);
    CHECK(sum == Approx(flow.count).epsilon(1e-4).margin(0.1));
  }
}

TEST_CASE("the scale of counts does not matter") {
  FlowProgram program = MakeStructuredProgram(60, 1000, 5);
  std::mt19937_64 random(6);
  for (const uint32_t e : program.blocks) program.MeasureAtRandom(e, 10, &random);
  const FlowSolution solution = Infer(program);
  for (const double factor : {1e-20, 1e20}) {
    FlowProgram scaled = program;
    for (FlowMeasurement& measurement : scaled.problem.measurements) {
      measurement.value *= factor;
      measurement.unit *= factor;
      for (float& sum : measurement.replicates.sums) sum *= static_cast<float>(factor);
    }
    const FlowSolution other = Infer(scaled);
    for (size_t e = 0; e < solution.flows.size(); ++e) {
      CHECK(other.flows[e].count / factor ==
            Approx(solution.flows[e].count).epsilon(1e-6).margin(1e-6));
    }
  }
}

TEST_CASE("nothing measured, and nothing there") {
  CHECK(InferFlow({})->flows.empty());
  Line line;
  for (const Flow& flow : Infer(line.program).flows) CHECK(flow.count == 0);
  line.program.Measure(line.first, 0);
  for (const Flow& flow : Infer(line.program).flows) CHECK(flow.count == 0);
}

TEST_CASE("absurd numbers are refused") {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto refuses = [](const FlowProblem& problem, const char* what) {
    const auto solution = InferFlow(problem);
    return !solution.ok() && solution.status().code() == StatusCode::kInvalidArgument &&
           solution.status().message().find(what) != std::string::npos;
  };
  Line line;
  line.program.Measure(line.first, 1);
  for (const double absurd : {-1.0, infinity, -infinity, std::nan(""), 1e300}) {
    CAPTURE(absurd);
    FlowProblem problem = line.program.problem;
    problem.measurements[0].value = absurd;
    CHECK(refuses(problem, "measurement 0: "));
    problem = line.program.problem;
    problem.measurements[0].unit = absurd;
    CHECK(refuses(problem, "measurement 0: "));
    problem = line.program.problem;
    problem.measurements[0].error = absurd;
    CHECK(refuses(problem, "measurement 0: "));
    problem = line.program.problem;
    problem.measurements[0].relative_error = absurd;
    CHECK(refuses(problem, "measurement 0: "));
  }
  FlowProblem problem = line.program.problem;
  problem.measurements[0].unit = 0;
  CHECK(refuses(problem, "units above 0"));
  problem = line.program.problem;
  problem.measurements[0].replicates.sums[3] = std::nanf("");
  CHECK(refuses(problem, "measurement 0: "));
  problem = line.program.problem;
  problem.measurements[0].edge = 5;
  CHECK(refuses(problem, "of edge 5 of 5"));
  problem = line.program.problem;
  problem.edges[2].to = problem.nodes;
  CHECK(refuses(problem, "edge 2 goes from node 0 to 5 of 5"));
}

TEST_CASE("extreme but possible numbers have a result") {
  std::mt19937_64 random(7);
  for (int run = 0; run < 30; ++run) {
    FlowProgram program = MakeTangledProgram(40, 100, static_cast<uint64_t>(run));
    for (uint32_t e = 0; e < program.truth.size(); ++e) {
      if (random() % 3 == 0) continue;
      const auto power = [&] {
        return std::pow(10, std::uniform_real_distribution<>(-30, 30)(random));
      };
      program.Measure(e, random() % 4 == 0 ? 0 : power(), power(), random() % 2 == 0 ? 0 : power());
    }
    const auto solution = InferFlow(program.problem);
    REQUIRE(solution.ok());
    for (const Flow& flow : solution->flows) CHECK((flow.count >= 0 && std::isfinite(flow.count)));
  }
}

TEST_CASE("ten thousand blocks in a tangle end, and balance") {
  FlowProgram program = MakeTangledProgram(10'000, 300, 8);
  std::mt19937_64 random(9);
  for (const uint32_t e : program.blocks) program.MeasureAtRandom(e, 1, &random);
  const FlowSolution solution = Infer(program);
  double measured = 0, inferred = 0;  // squares of errors
  for (size_t i = 0; i < program.blocks.size(); ++i) {
    const double truth = program.truth[program.blocks[i]];
    measured += std::pow(program.problem.measurements[i].value - truth, 2);
    inferred += std::pow(solution.flows[program.blocks[i]].count - truth, 2);
  }
  CHECK(inferred < measured);
}

TEST_CASE("ten thousand blocks in a row agree on one count") {
  FlowProgram program;
  uint32_t last = program.AddBlock(1000);
  program.AddEdge(kGround, program.In(last), 1000);
  for (int i = 1; i < 10'000; ++i) {
    const uint32_t next = program.AddBlock(1000);
    program.AddEdge(program.Out(last), program.In(next), 1000);
    last = next;
  }
  program.AddEdge(program.Out(last), kGround, 1000);
  std::mt19937_64 random(10);
  for (const uint32_t e : program.blocks) program.MeasureAtRandom(e, 10, &random);
  // The chain has 10,000 times 100 observations, so the error is one in a thousand.
  CHECK(EdgeCount(Infer(program), program.blocks[5000]) == Approx(1000).epsilon(0.004));
}

}  // namespace
}  // namespace hbbp
