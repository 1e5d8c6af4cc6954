#include "estimate/flow_laplacian.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "estimate/stream_estimator.h"
#include "support/catch.h"

namespace hbbp {
namespace {

constexpr size_t kAnyNumber = SIZE_MAX;

// Returns the largest |L x - b| of a node, as a fraction of the largest |b|.
double Residual(uint32_t nodes, const std::vector<Conductance>& edges,
                const FlowLaplacian::Vectors<1>& b, const FlowLaplacian::Vectors<1>& x) {
  std::vector<double> left(nodes);
  double scale = 0, largest = 0;
  for (uint32_t i = 1; i < nodes; ++i) scale = std::max(scale, std::abs(left[i] = -b[i][0]));
  for (const Conductance& edge : edges) {
    const double flow = edge.value * (x[edge.a][0] - x[edge.b][0]);
    left[edge.a] += flow;
    left[edge.b] -= flow;
  }
  for (uint32_t i = 1; i < nodes; ++i) largest = std::max(largest, std::abs(left[i]));
  return largest / scale;
}

TEST_CASE("the example of the header") {
  const FlowLaplacian laplacian(3, {{0, 1, 1}, {1, 2, 0.5}}, kAnyNumber);
  CHECK(laplacian.is_exact());
  const auto x = laplacian.Solve<1>({{{7}}, {{0}}, {{1}}});
  CHECK(x[0][0] == 0);
  CHECK(x[1][0] == Approx(1));
  CHECK(x[2][0] == Approx(3));
}

TEST_CASE("parallel edges add up; loops and edges of conductance 0 are none") {
  const FlowLaplacian laplacian(
      3, {{0, 1, 0.25}, {1, 0, 0.75}, {1, 2, 0.5}, {2, 2, 9}, {0, 2, 0}, {0, 0, 4}}, kAnyNumber);
  const auto x = laplacian.Solve<1>({{{0}}, {{0}}, {{1}}});
  CHECK(x[1][0] == Approx(1));
  CHECK(x[2][0] == Approx(3));
}

TEST_CASE("a part without the ground is solved up to a constant") {
  const std::vector<Conductance> edges = {{0, 1, 1}, {2, 3, 2}, {3, 4, 4}};
  const FlowLaplacian::Vectors<1> b = {{{0}}, {{5}}, {{1}}, {{1}}, {{-2}}, {{0}}};
  const auto x = FlowLaplacian(6, edges, kAnyNumber).Solve<1>(b);
  CHECK(x[1][0] == Approx(5));
  CHECK(x[2][0] - x[3][0] == Approx(0.5));
  CHECK(x[3][0] - x[4][0] == Approx(0.5));
  CHECK(x[5][0] == 0);
}

TEST_CASE("conductances of all sizes lose no digits") {
  // In a chain to the ground all of b flows through all edges.
  std::vector<Conductance> edges;
  FlowLaplacian::Vectors<1> b(41);
  b[40] = {1};
  double resistance = 0;
  for (uint32_t i = 0; i < 40; ++i) {
    edges.push_back({i, i + 1, i % 2 == 0 ? 1e12 : 1e-12});
    resistance += 1 / edges.back().value;
  }
  const auto x = FlowLaplacian(41, edges, kAnyNumber).Solve<1>(b);
  CHECK(x[40][0] == Approx(resistance).epsilon(1e-12));
}

TEST_CASE("a random graph is solved by elimination alone, and by gradients where that is bounded") {
  constexpr uint32_t kNodes = 400;
  std::mt19937_64 random(1);
  std::vector<Conductance> edges;
  for (uint32_t i = 0; i < 3 * kNodes; ++i) {
    const auto value = std::exp(std::uniform_real_distribution<>(-8, 8)(random));
    edges.push_back({static_cast<uint32_t>(random() % kNodes),
                     static_cast<uint32_t>(random() % kNodes), value});
  }
  for (uint32_t i = 1; i < kNodes; ++i) edges.push_back({i - 1, i, 1});
  FlowLaplacian::Vectors<1> b(kNodes);
  FlowLaplacian::Vectors<kReplicates> many(kNodes);
  for (uint32_t i = 1; i < kNodes; ++i) {
    b[i][0] = std::normal_distribution<>()(random);
    for (size_t c = 0; c < kReplicates; ++c) many[i][c] = (c % 2 == 0 ? 1.0 : -2.0) * b[i][0];
  }
  const FlowLaplacian exact(kNodes, edges, kAnyNumber);
  CHECK(exact.is_exact());
  CHECK(Residual(kNodes, edges, b, exact.Solve<1>(b)) < 1e-12);
  for (const size_t max_added : {0u, 200u, 3000u}) {
    const FlowLaplacian bounded(kNodes, edges, max_added);
    CHECK_FALSE(bounded.is_exact());
    const auto x = bounded.Solve<1>(b);
    CHECK(Residual(kNodes, edges, b, x) < 1e-3);
    const auto y = bounded.Solve<kReplicates>(many);
    CHECK(y[7][4] == Approx(x[7][0]));
    CHECK(y[300][9] == Approx(-2 * x[300][0]));
  }
}

TEST_CASE("a star of thousands of neighbours") {
  constexpr uint32_t kNodes = 20'000;
  std::vector<Conductance> edges;
  for (uint32_t i = 2; i < kNodes; ++i) edges.push_back({1, i, 1});
  for (uint32_t i = 2; i < kNodes; ++i) edges.push_back({i, 0, 1});
  FlowLaplacian::Vectors<1> b(kNodes);
  b[1] = {1};
  const FlowLaplacian laplacian(kNodes, edges, 4 * kNodes);
  CHECK(laplacian.is_exact());
  CHECK(laplacian.Solve<1>(b)[1][0] == Approx(2.0 / (kNodes - 2)));
}

TEST_CASE("conductances can be set again, and again") {
  for (const size_t max_added : {size_t{0}, kAnyNumber}) {
    std::mt19937_64 random(2);
    std::vector<Conductance> edges;
    FlowLaplacian::Vectors<1> b(50);
    for (uint32_t i = 1; i < 50; ++i) {
      edges.push_back({i - 1, i, 1});
      edges.push_back({static_cast<uint32_t>(random() % 50), i, 1});
      b[i][0] = std::normal_distribution<>()(random);
    }
    FlowLaplacian laplacian(50, edges, max_added);
    CHECK(laplacian.is_exact() == (max_added != 0));
    CHECK(Residual(50, edges, b, laplacian.Solve<1>(b)) < 1e-3);
    for (int run = 0; run < 3; ++run) {
      std::vector<double> values;
      for (Conductance& edge : edges) {
        edge.value = random() % 8 == 0 && edge.a + 1 != edge.b ? 0 : std::exp(random() % 9);
        values.push_back(edge.value);
      }
      laplacian.SetConductances(values);
      CHECK(Residual(50, edges, b, laplacian.Solve<1>(b)) < 1e-3);
    }
  }
}

TEST_CASE("nothing but the ground") { CHECK(FlowLaplacian(1, {}, 0).Solve<1>({{{3}}})[0][0] == 0); }

}  // namespace
}  // namespace hbbp
