// Measures nanoseconds per interpreted instruction, with the code decoded before and the caches
// warm (items_per_second counts instructions), and the cost of decoding.
#include <asm/prctl.h>
#include <benchmark/benchmark.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/interpreter/code_cache.h"
#include "trace/interpreter/look_ahead.h"
#include "trace/native/native_stub.h"
#include "trace/native/signal_context.h"

namespace hbbp::trace {
namespace {

volatile uint64_t g_sink;

int CompareInts(const void* a, const void* b) {
  const int x = *static_cast<const int*>(a);
  const int y = *static_cast<const int*>(b);
  return x < y ? -1 : x > y;
}

void SortByLibc() {
  static int values[256];
  uint32_t seed = 1;
  for (int& value : values) value = static_cast<int>((seed = seed * 1664525 + 1013904223) >> 8);
  std::qsort(values, 256, sizeof(int), CompareInts);
}

void SortByTemplate() {
  static uint64_t values[256];
  uint64_t seed = 1;
  for (uint64_t& value : values) value = (seed = seed * 6364136223846793005u + 1) >> 20;
  std::sort(std::begin(values), std::end(values));
}

void Print() {
  char text[128];
  for (int i = 0; i < 8; ++i) {
    std::snprintf(text, sizeof(text), "%d %s %x %lu", i, "text", i * 77, 123456789ul);
  }
  g_sink = static_cast<uint64_t>(text[1]);
}

void ParseFloats() {
  double sum = 0;
  for (const char* text : {"3.14159265358979", "1e30", "-0.125", "123456789.123"}) {
    sum += std::strtod(text, nullptr);
  }
  g_sink = static_cast<uint64_t>(sum);
}

const std::string& Text() {
  static const std::string text = [] {
    std::string made;
    for (int i = 0; i < 400; ++i) made += "word" + std::to_string(i * i % 97) + ' ';
    return made;
  }();
  return text;
}

void HashLoop() {
  uint64_t hash = 14695981039346656037u;
  for (const char c : Text()) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  g_sink = hash;
}

void Checksum() {
  static const std::vector<uint32_t> table = [] {
    std::vector<uint32_t> made(256);
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0xedb88320u : 0);
      made[i] = value;
    }
    return made;
  }();
  uint32_t crc = ~0u;
  for (const char c : Text()) crc = table[(crc ^ static_cast<uint8_t>(c)) & 255] ^ (crc >> 8);
  g_sink = crc;
}

void LookUp() {
  static const std::map<int, int> numbers = [] {
    std::map<int, int> made;
    for (int i = 0; i < 1000; ++i) made[i * 7919 % 10007] = i;
    return made;
  }();
  uint64_t sum = 0;
  for (int i = 0; i < 200; ++i) {
    const auto found = numbers.lower_bound(i * 31 % 10007);
    if (found != numbers.end()) sum += static_cast<uint64_t>(found->second);
  }
  g_sink = sum;
}

void CountWords() {
  std::unordered_map<std::string, int> words;
  std::string word;
  for (const char c : Text()) {
    if (c == ' ') {
      ++words[word];
      word.clear();
    } else {
      word += c;
    }
  }
  g_sink = words.size();
}

struct Shape {
  virtual ~Shape() = default;
  virtual int Area(int scale) const = 0;
};
struct Square : Shape {
  int Area(int scale) const override { return scale * scale; }
};
struct Strip : Shape {
  int Area(int scale) const override { return scale + 3; }
};

void VirtualCalls() {
  static const std::vector<Shape*> shapes = [] {
    std::vector<Shape*> made;
    for (int i = 0; i < 300; ++i) {
      made.push_back(i * 7 % 3 == 0 ? static_cast<Shape*>(new Strip) : new Square);
    }
    return made;
  }();
  uint64_t sum = 0;
  for (const Shape* shape : shapes) sum += static_cast<uint64_t>(shape->Area(5));
  g_sink = sum;
}

// Runs a byte-code interpreter, as scripting languages have.
void ByteCode() {
  static const std::vector<uint8_t> program = [] {
    std::vector<uint8_t> made;
    for (int i = 0; i < 600; ++i) made.push_back(static_cast<uint8_t>(i * 13 % 7));
    return made;
  }();
  int64_t stack[16] = {1, 2, 3};
  int64_t* top = stack + 2;
  for (const uint8_t code : program) {
    switch (code) {
      case 0:
        *top += 1;
        break;
      case 1:
        if (top < stack + 14) {
          top[1] = *top;
          ++top;
        }
        break;
      case 2:
        if (top > stack) {
          top[-1] += *top;
          --top;
        }
        break;
      case 3:
        *top ^= 0x55;
        break;
      case 4:
        if (top > stack) std::swap(top[0], top[-1]);
        break;
      case 5:
        *top = -*top;
        break;
      default:
        *top <<= 1;
        break;
    }
  }
  g_sink = static_cast<uint64_t>(*top);
}

void FloatingPoint() {
  static double x[64], y[64];
  double sum = 0;
  for (int i = 0; i < 64; ++i) {
    x[i] = i * 0.5;
    y[i] = 1.0 / (i + 1);
  }
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 8; ++j) sum += x[i] * y[(i + j) % 64] - sum * 1e-3;
  }
  g_sink = static_cast<uint64_t>(sum);
}

class OwnLookAhead {
 public:
  explicit OwnLookAhead(CodeCache* code_cache) {
    const size_t alignment = LookAhead::Alignment();
    const size_t bytes = (LookAhead::Size() + alignment - 1) / alignment * alignment;
    memory_ = std::aligned_alloc(alignment, bytes);
    std::memset(memory_, 0, bytes);
    look_ahead_ = LookAhead::Create(memory_, code_cache);
  }
  ~OwnLookAhead() { std::free(memory_); }
  OwnLookAhead(const OwnLookAhead&) = delete;
  OwnLookAhead& operator=(const OwnLookAhead&) = delete;

  LookAhead* get() { return look_ahead_; }

 private:
  void* memory_;
  LookAhead* look_ahead_;
};

class Bench {
 public:
  Bench()
      : region_(NativeRegion::Create(1 << 20)),
        code_cache_(CodeCache::Create(16u << 20, region_)),
        look_ahead_(code_cache_),
        branches_(65536),
        stack_(1 << 16) {
    PrepareSignalContext();
  }
  ~Bench() {
    CodeCache::Destroy(code_cache_);
    if (region_ != nullptr) NativeRegion::Destroy(region_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void Begin(void (*function)()) {
    state_.gpr[kRsp] = reinterpret_cast<uint64_t>(&stack_[stack_.size() - 64]) / 16 * 16 - 8;
    state_.rip = reinterpret_cast<uint64_t>(function);
    syscall(SYS_arch_prctl, ARCH_GET_FS, &state_.fs_base);
    state_.has_vector_state = 1;
    state_.mxcsr = 0x1f80;
    state_.fxsave[0] = 0x7f;
    state_.fxsave[1] = 3;
    look_ahead_.get()->Begin(state_, true);
  }
  RunResult Run(uint32_t branches) {
    return look_ahead_.get()->Run(branches_.data(), branches, 10'000'000);
  }
  const MachineState& state() const { return state_; }
  const std::vector<TakenBranch>& branches() const { return branches_; }
  CodeCache* code_cache() { return code_cache_; }
  NativeRegion* region() { return region_; }

 private:
  NativeRegion* region_;
  CodeCache* code_cache_;
  OwnLookAhead look_ahead_;
  std::vector<TakenBranch> branches_;
  std::vector<char> stack_;
  MachineState state_ = {};
};

void RunFunction(benchmark::State& state, void (*function)(), uint32_t branches) {
  function();  // lazy binding, statics
  Bench bench;
  int64_t instructions = 0;
  int64_t taken = 0;
  RunResult result;
  for (auto _ : state) {
    bench.Begin(function);
    result = bench.Run(branches);
    instructions += static_cast<int64_t>(result.instructions);
    taken += result.branches;
  }
  state.SetItemsProcessed(instructions);
  state.SetLabel(std::string(NameOf(result.reason)) + ", " + std::to_string(result.instructions) +
                 " instructions, " + std::to_string(result.branches) + " branches");
  state.counters["ns_per_instruction"] =
      benchmark::Counter(static_cast<double>(instructions) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["ns_per_branch"] = benchmark::Counter(
      static_cast<double>(taken) / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// The first block of a run that is not in the code cache is decoded, but not kept: a run of one
// instruction from each target of a branch decodes a block each time. With blocks in the cache
// (`is_decoded`), this is the cost of starting.
void DecodeBlocks(benchmark::State& state, void (*function)(), bool is_decoded) {
  function();
  Bench bench;
  bench.Begin(function);
  const RunResult whole = bench.Run(65536);
  std::set<uint64_t> targets;
  for (uint32_t i = 0; i < whole.branches; ++i) targets.insert(bench.branches()[i].to);
  targets.erase(whole.ip);
  CodeCache* empty = CodeCache::Create(1 << 20, bench.region());
  OwnLookAhead fresh(is_decoded ? bench.code_cache() : empty);
  const MachineState start = bench.state();
  MachineState moved = start;
  int64_t decoded = 0;
  int64_t runs = 0;
  TakenBranch branch;
  for (auto _ : state) {
    for (const uint64_t target : targets) {
      moved.rip = target;
      fresh.get()->Begin(moved, true);
      fresh.get()->Run(&branch, 1, 1);
      decoded += static_cast<int64_t>(fresh.get()->stats().decoded_instructions);
      ++runs;
    }
  }
  state.SetItemsProcessed(decoded);
  state.counters["ns_per_run"] = benchmark::Counter(
      static_cast<double>(runs) / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["decoded_per_run"] = static_cast<double>(decoded) / static_cast<double>(runs);
  CodeCache::Destroy(empty);
}

#define HBBP_LOOK_AHEAD_BENCH(function)                              \
  BENCHMARK_CAPTURE(RunFunction, function##_whole, function, 65536); \
  BENCHMARK_CAPTURE(RunFunction, function##_256, function, 256)

HBBP_LOOK_AHEAD_BENCH(SortByLibc);
HBBP_LOOK_AHEAD_BENCH(SortByTemplate);
HBBP_LOOK_AHEAD_BENCH(Print);
HBBP_LOOK_AHEAD_BENCH(ParseFloats);
HBBP_LOOK_AHEAD_BENCH(HashLoop);
HBBP_LOOK_AHEAD_BENCH(Checksum);
HBBP_LOOK_AHEAD_BENCH(LookUp);
HBBP_LOOK_AHEAD_BENCH(CountWords);
HBBP_LOOK_AHEAD_BENCH(VirtualCalls);
HBBP_LOOK_AHEAD_BENCH(ByteCode);
HBBP_LOOK_AHEAD_BENCH(FloatingPoint);
BENCHMARK_CAPTURE(DecodeBlocks, Print_decoding, Print, false);
BENCHMARK_CAPTURE(DecodeBlocks, Print_decoded, Print, true);
BENCHMARK_CAPTURE(DecodeBlocks, FloatingPoint_decoding, FloatingPoint, false);
BENCHMARK_CAPTURE(DecodeBlocks, FloatingPoint_decoded, FloatingPoint, true);

}  // namespace
}  // namespace hbbp::trace
