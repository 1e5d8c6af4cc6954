// A program that finds, while it runs, which functions its indirect calls go to: an interpreter
// that could then test for the most frequent one before it calls through the pointer.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <hbbp/hbbp.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

using Operation = double (*)(double, double);

__attribute__((noinline)) static double Sum(double a, double b) { return a + b; }
__attribute__((noinline)) static double Product(double a, double b) { return a * b; }
__attribute__((noinline)) static double Largest(double a, double b) { return a < b ? b : a; }

// Evaluates a program of the interpreter.
__attribute__((noinline)) static double Evaluate(const std::vector<Operation>& program,
                                                 unsigned times) {
  double value = 0;
  for (unsigned i = 0; i < times; ++i) {
    for (const Operation operation : program) value = operation(value, 0.5);
  }
  return value;
}

namespace {

// Counts how often each indirect call went where.
class Census {
 public:
  using Pair = std::pair<std::uint64_t, std::uint64_t>;  // code numbers of the call and its target

  Census()
      : probe_("p: indirect && proc_call => call, null", [this](const hbbp_probe_call& call) {
          calls_[{call.pc, call.target}] += call.weight;
          return false;
        }) {}

  // Adds the bursts since the last time. Until the first sample there are none.
  void Update(hbbp::session* session) {
    const hbbp::profile profile = session->snapshot();
    if (profile.info().kept_bursts > 0) probe_.run(hbbp::analysis(profile), probe_.next_burst());
  }

  std::uint64_t bursts() const { return probe_.next_burst(); }

  // Prints the most frequent ones.
  void Print(std::size_t count) const {
    std::vector<std::pair<Pair, double>> pairs(calls_.begin(), calls_.end());
    std::sort(pairs.begin(), pairs.end(),
              [](const auto& a, const auto& b) { return a.second > b.second; });
    pairs.resize(std::min(pairs.size(), count));
    for (const auto& [pair, calls] : pairs) {
      std::printf("%s calls %s: about %.0f times\n", NameOf(pair.first).c_str(),
                  NameOf(pair.second).c_str(), calls);
    }
  }

 private:
  std::string NameOf(std::uint64_t code) const {
    if (code == 0) return "?";
    const std::string name = hbbp::demangle(probe_.locate(code).name);
    return name.substr(0, name.find('('));  // without parameters
  }

  std::map<Pair, double> calls_;
  hbbp::probe probe_;
};

}  // namespace

int main() {
  constexpr std::uint64_t kBursts = 30;
  constexpr int kMaxRounds = 1000;
  try {
    hbbp_session_options options = {};
    options.source = HBBP_SOURCE_SWBT;
    options.event = HBBP_EVENT_TASK_CLOCK;
    options.period = 1'000'000;
    options.kept_burst_bytes = 1 << 20;
    hbbp::session session(options);
    Census census;
    const std::vector<Operation> program = {Sum, Product, Sum, Largest, Sum};
    double value = 0;
    session.start();
    for (int round = 0; round < kMaxRounds && census.bursts() < kBursts; ++round) {
      value += Evaluate(program, 1'000'000);
      census.Update(&session);
    }
    session.stop();
    std::printf("value %g\n", value);
    census.Print(3);
  } catch (const hbbp::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
