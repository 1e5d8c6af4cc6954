#include "estimate/flow_laplacian.h"

#include <cmath>
#include <utility>

#include "estimate/flow_elimination.h"
#include "estimate/stream_estimator.h"

namespace hbbp {
namespace {

constexpr int kMaxGradientSteps = 300;
constexpr double kResidual = 1e-8;  // of the norm of the right-hand side

template <size_t kColumns>
using Columns = std::array<double, kColumns>;

template <size_t kColumns>
Columns<kColumns> Dot(const std::vector<Columns<kColumns>>& a,
                      const std::vector<Columns<kColumns>>& b) {
  Columns<kColumns> products{};
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t c = 0; c < kColumns; ++c) products[c] += a[i][c] * b[i][c];
  }
  return products;
}

// a += factor * b
template <size_t kColumns>
void AddTimes(const Columns<kColumns>& factor, const std::vector<Columns<kColumns>>& b,
              std::vector<Columns<kColumns>>* a) {
  for (size_t i = 0; i < b.size(); ++i) {
    for (size_t c = 0; c < kColumns; ++c) (*a)[i][c] += factor[c] * b[i][c];
  }
}

}  // namespace

FlowLaplacian::FlowLaplacian(uint32_t nodes, std::vector<Conductance> edges, size_t max_added)
    : nodes_(nodes), edges_(std::move(edges)) {
  eliminations_.reserve(nodes);
  neighbours_.reserve(edges_.size());
  FlowElimination(nodes, edges_, max_added).Run(this);
  if (is_exact_) edges_.clear();
}

template <size_t kColumns>
void FlowLaplacian::Substitute(Vectors<kColumns>* x) const {
  uint32_t next = 0;
  for (const Elimination& step : eliminations_) {
    Columns<kColumns>& own = (*x)[step.node];
    for (; next < step.end; ++next) {
      const auto& [node, share] = neighbours_[next];
      for (size_t c = 0; c < kColumns; ++c) (*x)[node][c] += share * own[c];
    }
    for (double& value : own) value *= step.inverse_sum;
  }
  for (size_t i = eliminations_.size(); i-- > 0;) {
    const Elimination& step = eliminations_[i];
    Columns<kColumns>& own = (*x)[step.node];
    for (const uint32_t first = i == 0 ? 0 : eliminations_[i - 1].end; next > first;) {
      const auto& [node, share] = neighbours_[--next];
      for (size_t c = 0; c < kColumns; ++c) own[c] += share * (*x)[node][c];
    }
  }
}

template <size_t kColumns>
void FlowLaplacian::Multiply(const Vectors<kColumns>& x, Vectors<kColumns>* product) const {
  product->assign(nodes_, {});
  for (const Conductance& edge : edges_) {
    for (size_t c = 0; c < kColumns; ++c) {
      const double flow = edge.value * (x[edge.a][c] - x[edge.b][c]);
      (*product)[edge.a][c] += flow;
      (*product)[edge.b][c] -= flow;
    }
  }
  (*product)[0] = {};
}

template <size_t kColumns>
FlowLaplacian::Vectors<kColumns> FlowLaplacian::SolveByGradients(const Vectors<kColumns>& b) const {
  Vectors<kColumns> x(nodes_), product(nodes_);
  Vectors<kColumns> residual = b, preconditioned = b;
  Substitute(&preconditioned);
  Vectors<kColumns> direction = preconditioned;
  const Columns<kColumns> norms = Dot(b, b);
  Columns<kColumns> slope = Dot(residual, preconditioned);
  for (int step = 0; step < kMaxGradientSteps; ++step) {
    Multiply(direction, &product);
    const Columns<kColumns> curvature = Dot(direction, product);
    Columns<kColumns> length{}, minus_length{};
    for (size_t c = 0; c < kColumns; ++c) {
      if (curvature[c] > 0) length[c] = slope[c] / curvature[c];
      minus_length[c] = -length[c];
    }
    AddTimes(length, direction, &x);
    AddTimes(minus_length, product, &residual);
    const Columns<kColumns> left = Dot(residual, residual);
    bool is_done = true;
    for (size_t c = 0; c < kColumns; ++c) {
      is_done = is_done && !(left[c] > kResidual * kResidual * norms[c]);
    }
    if (is_done) break;
    preconditioned = residual;
    Substitute(&preconditioned);
    const Columns<kColumns> next_slope = Dot(residual, preconditioned);
    for (size_t i = 0; i < direction.size(); ++i) {
      for (size_t c = 0; c < kColumns; ++c) {
        const double keep = slope[c] > 0 ? next_slope[c] / slope[c] : 0;
        direction[i][c] = preconditioned[i][c] + keep * direction[i][c];
      }
    }
    slope = next_slope;
  }
  return x;
}

template <size_t kColumns>
FlowLaplacian::Vectors<kColumns> FlowLaplacian::Solve(const Vectors<kColumns>& b) const {
  Vectors<kColumns> x = b;
  x[0] = {};
  if (!is_exact_) return SolveByGradients(x);
  Substitute(&x);
  return x;
}

template FlowLaplacian::Vectors<1> FlowLaplacian::Solve(const Vectors<1>&) const;
template FlowLaplacian::Vectors<kReplicates> FlowLaplacian::Solve(
    const Vectors<kReplicates>&) const;

}  // namespace hbbp
