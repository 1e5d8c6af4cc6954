// The constructor eliminates once, with the conductances it is given, and if that was exact plans
// its repetition: the position of each edge among the neighbours of a step (PlanRepetition).
// SetConductances then repeats only the arithmetic (RepeatElimination), or eliminates again
// approximately. Solve substitutes forward and backward (Substitute), within conjugate gradients if
// elimination is not exact. InferFlow calls it.
#include "estimate/flow_laplacian.h"

#include <algorithm>
#include <utility>

#include "estimate/stream_estimator.h"

namespace hbbp {
namespace {

// Once elimination is known not to be exact, more of it costs more than it saves.
constexpr size_t kEdgesPerAdded = 2;
constexpr int kMaxGradientSteps = 300;
constexpr double kResidual = 1e-5;  // of the norm of the right-hand side

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

// Computes a += factor * b.
template <size_t kColumns>
void AddTimes(const Columns<kColumns>& factor, const std::vector<Columns<kColumns>>& b,
              std::vector<Columns<kColumns>>* a) {
  for (size_t i = 0; i < b.size(); ++i) {
    for (size_t c = 0; c < kColumns; ++c) (*a)[i][c] += factor[c] * b[i][c];
  }
}

}  // namespace

FlowLaplacian::FlowLaplacian(uint32_t nodes, std::vector<Conductance> edges, size_t max_added)
    : nodes_(nodes), max_added_(max_added), edges_(std::move(edges)) {
  Eliminate(max_added_);
  if (is_exact()) PlanRepetition();
}

void FlowLaplacian::Eliminate(size_t max_added) {
  elimination_ = {};  // frees memory before the next one allocates as much
  elimination_ = FlowElimination(nodes_, edges_, max_added).Run();
}

void FlowLaplacian::SetConductances(std::span<const double> values) {
  for (size_t i = 0; i < edges_.size(); ++i) edges_[i].value = values[i];
  if (is_exact()) {
    RepeatElimination();
  } else {
    Eliminate(std::min(max_added_, edges_.size() / kEdgesPerAdded));
  }
}

void FlowLaplacian::PlanRepetition() {
  std::vector<uint32_t> order(nodes_);  // position of each node in the elimination
  uint32_t first = 0;
  for (uint32_t i = 0; i < elimination_.steps.size(); ++i) {
    order[elimination_.steps[i].node] = i;
    const auto part =
        std::span(elimination_.neighbours).subspan(first, elimination_.steps[i].end - first);
    std::sort(part.begin(), part.end(),
              [](const Elimination::Neighbour& a, const Elimination::Neighbour& b) {
                return a.node < b.node;
              });
    first = elimination_.steps[i].end;
  }
  const auto slot_of = [&](uint32_t a, uint32_t b) {
    const uint32_t i = std::min(order[a], order[b]);
    const uint32_t other = elimination_.steps[i].node == a ? b : a;
    const auto begin =
        elimination_.neighbours.begin() + (i == 0 ? 0 : elimination_.steps[i - 1].end);
    const auto found =
        std::lower_bound(begin, elimination_.neighbours.begin() + elimination_.steps[i].end, other,
                         [](const Elimination::Neighbour& neighbour, uint32_t node) {
                           return neighbour.node < node;
                         });
    return static_cast<uint32_t>(found - elimination_.neighbours.begin());
  };
  for (const Conductance& edge : edges_) {
    const bool has_slot = edge.a != edge.b && edge.a != 0 && edge.b != 0;
    slots_of_edges_.push_back(has_slot ? slot_of(edge.a, edge.b) : 0);
  }
  first = 0;
  for (const Elimination::Step& step : elimination_.steps) {
    for (uint32_t i = first; i < step.end; ++i) {
      for (uint32_t j = first; j < i; ++j) {
        slots_of_added_.push_back(
            slot_of(elimination_.neighbours[i].node, elimination_.neighbours[j].node));
      }
    }
    first = step.end;
  }
}

void FlowLaplacian::RepeatElimination() {
  values_.assign(elimination_.neighbours.size(), 0);
  to_ground_.assign(nodes_, 0);
  for (size_t i = 0; i < edges_.size(); ++i) {
    const Conductance& edge = edges_[i];
    if (edge.a == edge.b) continue;
    if (edge.a == 0 || edge.b == 0) {
      to_ground_[edge.a + edge.b] += edge.value;
    } else {
      values_[slots_of_edges_[i]] += edge.value;
    }
  }
  uint32_t first = 0;
  auto added = slots_of_added_.begin();
  for (Elimination::Step& step : elimination_.steps) {
    const double to_ground = to_ground_[step.node];
    double sum = to_ground;
    for (uint32_t i = first; i < step.end; ++i) sum += values_[i];
    step.inverse_sum = sum > 0 ? 1 / sum : 0;
    for (uint32_t i = first; i < step.end; ++i) {
      const double share = values_[i] * step.inverse_sum;
      elimination_.neighbours[i].share = share;
      to_ground_[elimination_.neighbours[i].node] += share * to_ground;
      for (uint32_t j = first; j < i; ++j) values_[*added++] += share * values_[j];
    }
    first = step.end;
  }
}

template <size_t kColumns>
void FlowLaplacian::Substitute(Vectors<kColumns>* x) const {
  uint32_t next = 0;
  for (const Elimination::Step& step : elimination_.steps) {
    Columns<kColumns>& own = (*x)[step.node];
    for (; next < step.end; ++next) {
      const auto& [node, share] = elimination_.neighbours[next];
      for (size_t c = 0; c < kColumns; ++c) (*x)[node][c] += share * own[c];
    }
    for (double& value : own) value *= step.inverse_sum;
  }
  for (size_t i = elimination_.steps.size(); i-- > 0;) {
    const Elimination::Step& step = elimination_.steps[i];
    Columns<kColumns>& own = (*x)[step.node];
    for (const uint32_t first = i == 0 ? 0 : elimination_.steps[i - 1].end; next > first;) {
      const auto& [node, share] = elimination_.neighbours[--next];
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
  if (!is_exact()) return SolveByGradients(x);
  Substitute(&x);
  return x;
}

template FlowLaplacian::Vectors<1> FlowLaplacian::Solve(const Vectors<1>&) const;
template FlowLaplacian::Vectors<kReplicates> FlowLaplacian::Solve(
    const Vectors<kReplicates>&) const;

}  // namespace hbbp
