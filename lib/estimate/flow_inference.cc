// InferFlow checks the problem (Check) and scales it by its largest measurement. Inference::Run
// first expects what the measurements show (ExpectMeasurements) and weights them by that (Weigh).
// Then it takes interior-point steps (TakeStep), and until the weights converge sets the
// expectation to the flow and weights again (ExpectFlow). At the end it makes the flows conserve
// exactly (Balance) and applies the same linear map to the replicates (FindReplicates).
// FlowLaplacian solves the linear systems. CombineByFlow calls it for each function.
#include "estimate/flow_inference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "estimate/flow_laplacian.h"

namespace hbbp {
namespace {

// All numbers are fractions of the largest measurement.
constexpr double kSmallestUnit = 1e-9;
constexpr double kLargestUnit = 10;
constexpr double kSmallestExpected = 1e-4;  // of a unit
constexpr double kLargestError = 10;
// The variance of an edge without measurements is so large that its centre, 0, does not matter.
constexpr double kFreeVariance = 1e8;
constexpr double kFirstFreeFlow = 0.1;
constexpr double kNegligibleFlow = 1e-9;

constexpr int kWeightRounds = 12;
constexpr double kWeightChange = 1e-3;  // of all flow; smaller changes do not change weights
constexpr int kMaxSteps = 80;
constexpr double kGap = 1e-10;    // flow * price, which is in squares of standard errors
constexpr double kMisfit = 1e-4;  // in standard errors
constexpr double kRoughBalance = 1e-6;
constexpr double kBalance = 1e-13;
constexpr double kWayToBound = 0.995;  // the part of it that a step may go
constexpr int kBalanceSteps = 4;
constexpr size_t kAddedPerEdge = 8;
// This limits graphs that elimination alone does not solve, which no program written by people has.
constexpr size_t kMaxTangledEdges = 100'000;

using Column = FlowLaplacian::Vectors<1>;

std::vector<Conductance> WithoutConductances(const FlowProblem& problem) {
  std::vector<Conductance> edges;
  edges.reserve(problem.edges.size());
  for (const auto& [from, to] : problem.edges) edges.push_back({from, to, 1});
  return edges;
}

// Inference is a primal-dual interior-point method (predictor and corrector after Mehrotra). With
// potentials x of the nodes and prices z >= 0 of the bounds f >= 0, the solution obeys
//
//   (f - centre) / variance + x_from - x_to - z = 0,   A f = 0,   f z = 0.
//
// Each of Newton's steps is a Laplacian system with 1 / (1 / variance + z / f) for conductances.
class Inference {
 public:
  Inference(const FlowProblem& problem, double scale)
      : problem_(problem),
        scale_(scale),
        edges_(problem.edges.size()),
        potential_(problem.nodes),
        laplacian_(problem.nodes, WithoutConductances(problem),
                   kAddedPerEdge * (problem.nodes + problem.edges.size())) {}

  bool can_eliminate() const { return laplacian_.is_exact(); }
  FlowSolution Run();

 private:
  struct Edge {
    double expected = 0;
    double centre = 0;  // the combined measurements
    double variance = 0;
    double flow = 0;
    double price = 0;
    // These are of the current step.
    double conductance = 0;
    double push = 0;  // towards the solution, without the potentials
    double flow_change = 0;
    double price_change = 0;
  };

  void ExpectMeasurements();
  // Returns a fraction of the scale, as the flows of edges are.
  double UnitOf(const FlowMeasurement& measurement) const;
  double Variance(const FlowMeasurement& measurement) const;
  void Weigh();
  void Start();
  double ExpectFlow();
  double Gap() const;
  double Misfit() const;
  void Factorize();
  // Sets, for each node, the outflow minus the inflow. Returns the largest.
  template <size_t kColumns, typename FlowOf>
  double FindImbalance(const FlowOf& flow_of, FlowLaplacian::Vectors<kColumns>* imbalance) const;
  double Imbalance() const;
  // Finds the step to flow * price = `target`, including the second-order change of the last step
  // if `correct`.
  void FindStep(double target, bool correct);
  double LongestStep() const;
  void TakeStep();
  template <size_t kColumns>
  void Balance(std::vector<std::array<double, kColumns>>* flows) const;
  void Balance();
  std::vector<std::array<double, kReplicates>> FindReplicates() const;

  const FlowProblem& problem_;
  const double scale_;
  std::vector<Edge> edges_;
  std::vector<double> potential_;
  std::vector<double> potential_change_;
  std::vector<double> conductances_;
  FlowLaplacian laplacian_;
};

// Sets the expectation of an edge as if all its measurements were one.
void Inference::ExpectMeasurements() {
  std::vector<double> observations(edges_.size()), exposures(edges_.size());
  for (const FlowMeasurement& measurement : problem_.measurements) {
    const double unit = UnitOf(measurement);
    observations[measurement.edge] += measurement.value / scale_ / unit;
    exposures[measurement.edge] += 1 / unit;
  }
  for (size_t e = 0; e < edges_.size(); ++e) {
    if (exposures[e] > 0) edges_[e].expected = observations[e] / exposures[e];
  }
}

double Inference::UnitOf(const FlowMeasurement& measurement) const {
  return std::clamp(measurement.unit / scale_, kSmallestUnit, kLargestUnit);
}

double Inference::Variance(const FlowMeasurement& measurement) const {
  const double unit = UnitOf(measurement);
  const double expected = edges_[measurement.edge].expected;
  const double relative_error = std::min(measurement.relative_error, kLargestError) * expected;
  const double error = std::min(measurement.error / scale_, kLargestError);
  const double min_expected =
      std::clamp(measurement.min_expected / scale_, kSmallestExpected * unit, unit);
  return unit * std::max(expected, min_expected) + relative_error * relative_error + error * error;
}

void Inference::Weigh() {
  std::vector<double> weights(edges_.size());
  for (Edge& edge : edges_) edge.centre = 0;
  for (const FlowMeasurement& measurement : problem_.measurements) {
    const double weight = 1 / Variance(measurement);
    weights[measurement.edge] += weight;
    edges_[measurement.edge].centre += weight * (measurement.value / scale_);
  }
  for (size_t e = 0; e < edges_.size(); ++e) {
    edges_[e].variance = weights[e] > 0 ? 1 / weights[e] : kFreeVariance;
    edges_[e].centre *= weights[e] > 0 ? edges_[e].variance : 0;
  }
}

void Inference::Start() {
  for (Edge& edge : edges_) {
    const bool is_measured = edge.variance < kFreeVariance;
    edge.flow = is_measured ? std::max(edge.centre, std::sqrt(edge.variance)) : kFirstFreeFlow;
    edge.price = 1 / edge.flow;
  }
}

// Moves the expectation to the flow, and returns the fraction of all flow that was unexpected.
double Inference::ExpectFlow() {
  double change = 0, total = 0;
  for (Edge& edge : edges_) {
    change += std::abs(edge.flow - edge.expected);
    total += edge.flow;
    // It moves half way, because two edges that alternate would never converge otherwise.
    edge.expected = (edge.expected + edge.flow) / 2;
  }
  return change / total;
}

double Inference::Gap() const {
  double sum = 0;
  for (const Edge& edge : edges_) sum += edge.flow * edge.price;
  return sum / static_cast<double>(edges_.size());
}

// Returns the largest violation of the first of the three equations.
double Inference::Misfit() const {
  double largest = 0;
  for (size_t e = 0; e < edges_.size(); ++e) {
    const auto [from, to] = problem_.edges[e];
    const Edge& edge = edges_[e];
    const double misfit =
        (edge.flow - edge.centre) / edge.variance + potential_[from] - potential_[to] - edge.price;
    largest = std::max(largest, std::abs(misfit) * std::min(std::sqrt(edge.variance), 1.0));
  }
  return largest;
}

template <size_t kColumns, typename FlowOf>
double Inference::FindImbalance(const FlowOf& flow_of,
                                FlowLaplacian::Vectors<kColumns>* imbalance) const {
  imbalance->assign(problem_.nodes, {});
  for (size_t e = 0; e < edges_.size(); ++e) {
    const auto [from, to] = problem_.edges[e];
    for (size_t c = 0; c < kColumns; ++c) {
      const double flow = flow_of(e, c);
      (*imbalance)[from][c] += flow;
      (*imbalance)[to][c] -= flow;
    }
  }
  double largest = 0;
  for (size_t node = 1; node < imbalance->size(); ++node) {
    for (const double value : (*imbalance)[node]) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

double Inference::Imbalance() const {
  Column imbalance;
  return FindImbalance<1>([this](size_t e, size_t) { return edges_[e].flow; }, &imbalance);
}

void Inference::Factorize() {
  conductances_.clear();
  for (Edge& edge : edges_) {
    edge.conductance = 1 / (1 / edge.variance + edge.price / edge.flow);
    conductances_.push_back(edge.conductance);
  }
  laplacian_.SetConductances(conductances_);
}

void Inference::FindStep(double target, bool correct) {
  for (size_t e = 0; e < edges_.size(); ++e) {
    const auto [from, to] = problem_.edges[e];
    Edge& edge = edges_[e];
    const double second_order = correct ? edge.flow_change * edge.price_change : 0;
    // The price itself cancels.
    edge.push = (edge.centre - edge.flow) / edge.variance - potential_[from] + potential_[to] +
                (target - second_order) / edge.flow;
  }
  Column imbalance;
  FindImbalance<1>(
      [this](size_t e, size_t) { return edges_[e].flow + edges_[e].conductance * edges_[e].push; },
      &imbalance);
  const Column change = laplacian_.Solve<1>(imbalance);
  for (size_t e = 0; e < edges_.size(); ++e) {
    const auto [from, to] = problem_.edges[e];
    Edge& edge = edges_[e];
    const double second_order = correct ? edge.flow_change * edge.price_change : 0;
    edge.flow_change = edge.conductance * (edge.push - change[from][0] + change[to][0]);
    edge.price_change =
        (target - second_order - edge.price * edge.flow_change) / edge.flow - edge.price;
  }
  potential_change_.resize(change.size());
  for (size_t node = 0; node < change.size(); ++node) potential_change_[node] = change[node][0];
}

double Inference::LongestStep() const {
  double length = 1 / kWayToBound;
  for (const Edge& edge : edges_) {
    if (edge.flow_change < 0) length = std::min(length, -edge.flow / edge.flow_change);
    if (edge.price_change < 0) length = std::min(length, -edge.price / edge.price_change);
  }
  return kWayToBound * length;
}

void Inference::TakeStep() {
  Factorize();
  const double gap = Gap();
  FindStep(0, false);
  const double length = LongestStep();
  double reached = 0;
  for (const Edge& edge : edges_) {
    reached += (edge.flow + length * edge.flow_change) * (edge.price + length * edge.price_change);
  }
  const double share = std::max(reached, 0.0) / static_cast<double>(edges_.size()) / gap;
  FindStep(gap * share * share * share, true);
  const double step = LongestStep();
  for (Edge& edge : edges_) {
    edge.flow += step * edge.flow_change;
    edge.price += step * edge.price_change;
  }
  for (size_t node = 0; node < potential_.size(); ++node) {
    potential_[node] += step * potential_change_[node];
  }
}

// Adds the smallest change, weighted by conductance, that makes flows conserve.
template <size_t kColumns>
void Inference::Balance(std::vector<std::array<double, kColumns>>* flows) const {
  FlowLaplacian::Vectors<kColumns> imbalance;
  for (int i = 0; i < kBalanceSteps; ++i) {
    const double largest =
        FindImbalance<kColumns>([flows](size_t e, size_t c) { return (*flows)[e][c]; }, &imbalance);
    if (largest <= kBalance) break;
    const auto potential = laplacian_.Solve<kColumns>(imbalance);
    for (size_t e = 0; e < edges_.size(); ++e) {
      const auto [from, to] = problem_.edges[e];
      for (size_t c = 0; c < kColumns; ++c) {
        (*flows)[e][c] -= edges_[e].conductance * (potential[from][c] - potential[to][c]);
      }
    }
  }
}

// Near the solution, f minimises sum (f - centre)^2 / variance + f^2 (price / flow) under A f = 0.
// That is linear in the measurements, and price / flow keeps edges with f = 0 there.
std::vector<std::array<double, kReplicates>> Inference::FindReplicates() const {
  std::vector<std::array<double, kReplicates>> flows(edges_.size());
  for (const FlowMeasurement& measurement : problem_.measurements) {
    const Edge& edge = edges_[measurement.edge];
    const double weight = edge.conductance / Variance(measurement) / scale_;
    for (size_t c = 0; c < kReplicates; ++c) {
      flows[measurement.edge][c] += weight * static_cast<double>(measurement.replicates.sums[c]);
    }
  }
  Balance<kReplicates>(&flows);
  return flows;
}

void Inference::Balance() {
  FlowLaplacian::Vectors<1> flows;
  for (const Edge& edge : edges_) flows.push_back({edge.flow});
  Balance<1>(&flows);
  for (size_t e = 0; e < edges_.size(); ++e) edges_[e].flow = std::max(flows[e][0], 0.0);
}

FlowSolution Inference::Run() {
  ExpectMeasurements();
  Weigh();
  Start();
  int rounds = 0;
  for (int i = 0; i < kMaxSteps; ++i) {
    const bool is_solved = Gap() <= kGap && Misfit() <= kMisfit && Imbalance() <= kRoughBalance;
    if (is_solved && rounds == kWeightRounds) break;
    TakeStep();
    if (rounds == kWeightRounds) continue;
    rounds = ExpectFlow() > kWeightChange ? rounds + 1 : kWeightRounds;
    Weigh();
  }
  Factorize();
  Balance();
  const auto replicates = FindReplicates();

  FlowSolution solution;
  solution.flows.resize(edges_.size());
  for (size_t e = 0; e < edges_.size(); ++e) {
    if (edges_[e].flow < kNegligibleFlow) continue;
    solution.flows[e].count = edges_[e].flow * scale_;
    for (size_t c = 0; c < kReplicates; ++c) {
      solution.flows[e].replicates.sums[c] = static_cast<float>(replicates[e][c] * scale_);
    }
  }
  solution.imbalance = Imbalance();
  return solution;
}

bool IsCount(double value) { return value >= 0 && value <= kMaxFlow; }

Status Check(const FlowProblem& problem) {
  for (size_t i = 0; i < problem.edges.size(); ++i) {
    const auto [from, to] = problem.edges[i];
    if (from >= problem.nodes || to >= problem.nodes) {
      return MakeStatus(StatusCode::kInvalidArgument, "edge %zu goes from node %u to %u of %u", i,
                        from, to, problem.nodes);
    }
  }
  for (size_t i = 0; i < problem.measurements.size(); ++i) {
    const FlowMeasurement& measurement = problem.measurements[i];
    if (measurement.edge >= problem.edges.size()) {
      return MakeStatus(StatusCode::kInvalidArgument, "measurement %zu is of edge %u of %zu", i,
                        measurement.edge, problem.edges.size());
    }
    const bool are_replicates_finite =
        std::all_of(measurement.replicates.sums.begin(), measurement.replicates.sums.end(),
                    [](float sum) { return std::isfinite(sum); });
    if (!IsCount(measurement.value) || !IsCount(measurement.unit) || measurement.unit == 0 ||
        !IsCount(measurement.relative_error) || !IsCount(measurement.error) ||
        !are_replicates_finite) {
      return MakeStatus(
          StatusCode::kInvalidArgument,
          "measurement %zu: %g in units of %g with errors of %g and %g of it is not a "
          "count; numbers must be finite and from 0 to %g, units above 0",
          i, measurement.value, measurement.unit, measurement.error, measurement.relative_error,
          kMaxFlow);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<FlowSolution> InferFlow(const FlowProblem& problem) {
  HBBP_RETURN_IF_ERROR(Check(problem));
  double largest = 0;
  for (const FlowMeasurement& measurement : problem.measurements) {
    largest = std::max(largest, measurement.value);
  }
  if (largest == 0) return FlowSolution{std::vector<Flow>(problem.edges.size())};
  Inference inference(problem, largest);
  if (problem.edges.size() > kMaxTangledEdges && !inference.can_eliminate()) {
    return MakeStatus(StatusCode::kUnsupported,
                      "%zu edges so tangled that it would take minutes; at most %zu",
                      problem.edges.size(), kMaxTangledEdges);
  }
  FlowSolution solution = inference.Run();
  const bool is_finite = std::all_of(solution.flows.begin(), solution.flows.end(),
                                     [](const Flow& flow) { return std::isfinite(flow.count); });
  if (is_finite) return solution;
  return MakeStatus(StatusCode::kUnsupported, "numbers too far apart to be reconciled");
}

}  // namespace hbbp
