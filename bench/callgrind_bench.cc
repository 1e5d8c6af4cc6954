#include <benchmark/benchmark.h>

#include <string>

#include "truth/callgrind.h"

namespace hbbp::tools {
namespace {

// Returns text like callgrind's: functions of short compressed lines, and some calls.
std::string MakeFile(int functions) {
  std::string text =
      "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\n"
      "positions: instr line\nevents: Ir\n\nob=(1) /usr/bin/program\n";
  uint64_t total = 0;
  for (int function = 0; function < functions; ++function) {
    text += "\nfl=(1)\nfn=(" + std::to_string(function) + ") function\n";
    text += std::to_string(4096 + function * 256) + " 10 7\n";
    total += 7;
    for (int i = 0; i < 40; ++i) {
      const int count = 1 + i * 1237;
      text += "+" + std::to_string(1 + i % 7) + (i % 5 == 0 ? " +1 " : " * ") +
              std::to_string(count) + "\n";
      total += static_cast<uint64_t>(count);
      if (i % 10 == 9) text += "cfn=(1)\ncalls=3 4096 10\n* * 123456\n";
    }
  }
  return text + "\ntotals: " + std::to_string(total) + "\n";
}

void BM_ParseCallgrind(benchmark::State& state) {
  const std::string text = MakeFile(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    StatusOr<Truth> truth = ParseCallgrind(text, "bench");
    if (!truth.ok()) {
      state.SkipWithError(truth.status().message().c_str());
      break;
    }
    benchmark::DoNotOptimize(truth->total);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(BM_ParseCallgrind)->Arg(100)->Arg(20000);

}  // namespace
}  // namespace hbbp::tools
