// Measures the cost of a native stub (executing, describing and building it), and of loading the
// registers of a signal's context.
#include <benchmark/benchmark.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "trace/native/native_stub.h"
#include "trace/native/signal_context.h"

namespace {

using hbbp::trace::DescribeNative;
using hbbp::trace::MachineState;
using hbbp::trace::NativeInstruction;
using hbbp::trace::NativeRegion;

constexpr size_t kRegionBytes = 1 << 20;

struct Example {
  const char* name;
  std::vector<uint8_t> code;
};

const Example kExamples[] = {
    {"popcnt rax, rcx", {0xf3, 0x48, 0x0f, 0xb8, 0xc1}},
    {"adc rax, rcx", {0x48, 0x11, 0xc8}},
    {"bsf rax, rcx", {0x48, 0x0f, 0xbc, 0xc1}},
    {"mulx rax, rcx, rbx", {0xc4, 0xe2, 0xf3, 0xf6, 0xc3}},
    {"pshufd xmm1, xmm2, 0x4e", {0x66, 0x0f, 0x70, 0xca, 0x4e}},
    {"pcmpeqb xmm1, xmm2", {0x66, 0x0f, 0x74, 0xca}},
    {"pmovmskb eax, xmm1", {0x66, 0x0f, 0xd7, 0xc1}},
    {"movups xmm1, [rax]", {0x0f, 0x10, 0x08}},
    {"addsd xmm1, xmm2", {0xf2, 0x0f, 0x58, 0xca}},
    {"cvtsi2sd xmm1, rax", {0xf2, 0x48, 0x0f, 0x2a, 0xc8}},
    {"comisd xmm1, xmm2", {0x66, 0x0f, 0x2f, 0xca}},
    {"vpcmpeqb ymm1, ymm2, ymm3", {0xc5, 0xed, 0x74, 0xcb}},
    {"vpcmpeqb ymm1, ymm2, [rax]", {0xc5, 0xed, 0x74, 0x08}},
    {"vpmovmskb eax, ymm1", {0xc5, 0xfd, 0xd7, 0xc1}},
    {"vaddsd xmm1, xmm2, xmm3", {0xc5, 0xeb, 0x58, 0xcb}},
    {"vpcmpeqb k1, ymm16, [rax]", {0x62, 0xf1, 0x7d, 0x20, 0x74, 0x08}},
    {"vpaddd zmm1, zmm2, zmm3", {0x62, 0xf1, 0x6d, 0x48, 0xfe, 0xcb}},
    {"kmovd eax, k1", {0xc5, 0xfb, 0x93, 0xc1}},
    {"kortestd k1, k1", {0xc4, 0xe1, 0xf9, 0x98, 0xc9}},
    {"fadd st, st(1)", {0xd8, 0xc1}},
    {"fmul qword [rax]", {0xdc, 0x08}},
    {"paddb mm1, mm2", {0x0f, 0xfc, 0xca}},
};

NativeRegion* Region() {
  static NativeRegion* const region = NativeRegion::Create(kRegionBytes);
  return region;
}

std::unique_ptr<MachineState> SomeState() {
  auto state = std::make_unique<MachineState>();
  std::memset(static_cast<void*>(state.get()), 0, sizeof(MachineState));
  constexpr uint16_t kX87Control = 0x037f;
  std::memcpy(state->fxsave, &kX87Control, sizeof(kX87Control));
  state->fxsave[4] = 0x03;  // two ones on the stack
  for (unsigned i = 0; i < 2; ++i) {
    state->fxsave[32 + 16 * i + 7] = 0x80;
    state->fxsave[32 + 16 * i + 8] = 0xff;
    state->fxsave[32 + 16 * i + 9] = 0x3f;
  }
  state->mxcsr = 0x1fa0;
  state->has_vector_state = 1;
  for (unsigned i = 0; i < 16; ++i) state->gpr[i] = i * 0x0101010101;
  return state;
}

void BM_Execute(benchmark::State& bench, const Example& example) {
  NativeInstruction native;
  if (!DescribeNative(example.code.data(), example.code.size(), 0, Region(), &native) ||
      native.execute == nullptr) {
    bench.SkipWithError("the processor or the host cannot");
    return;
  }
  const std::unique_ptr<MachineState> state = SomeState();
  for (auto _ : bench) {
    native.execute(state.get());
    benchmark::ClobberMemory();
  }
}

void BM_Describe(benchmark::State& bench, const Example& example) {
  for (auto _ : bench) {
    NativeInstruction native;
    benchmark::DoNotOptimize(
        DescribeNative(example.code.data(), example.code.size(), 0, Region(), &native));
    benchmark::DoNotOptimize(native);
  }
}

void BM_CreateRegion(benchmark::State& bench) {
  for (auto _ : bench) NativeRegion::Destroy(NativeRegion::Create(kRegionBytes));
}
BENCHMARK(BM_CreateRegion);

// Each stub is new, because it has another immediate operand.
void BM_DescribeNew(benchmark::State& bench) {
  NativeRegion* region = nullptr;
  unsigned imm = 0;
  std::vector<uint8_t> code = {0x48, 0x69, 0xc1, 0, 0, 0, 0};  // imul rax, rcx, imm
  for (auto _ : bench) {
    if (imm % 4096 == 0) {
      bench.PauseTiming();
      NativeRegion::Destroy(region);
      region = NativeRegion::Create(kRegionBytes);
      bench.ResumeTiming();
    }
    std::memcpy(code.data() + 3, &imm, sizeof(imm));
    ++imm;
    NativeInstruction native;
    benchmark::DoNotOptimize(DescribeNative(code.data(), code.size(), 0, region, &native));
  }
  NativeRegion::Destroy(region);
}
BENCHMARK(BM_DescribeNew);

ucontext_t context_of_signal;
alignas(64) uint8_t frame_of_signal[8192];

// Keeps the frame that a handler finds, with the size that the kernel gave it.
void KeepContext(int, siginfo_t*, void* context) {
  context_of_signal = *static_cast<ucontext_t*>(context);
  const void* frame = context_of_signal.uc_mcontext.fpregs;
  constexpr size_t kSizeOffset = 480;  // of xstate_size in struct _fpx_sw_bytes
  uint32_t size = 0;
  std::memcpy(&size, static_cast<const uint8_t*>(frame) + kSizeOffset, sizeof(size));
  std::memcpy(frame_of_signal, frame, size < sizeof(frame_of_signal) ? size : 512);
  context_of_signal.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(frame_of_signal);
}

void KeepOneContext() {
  hbbp::trace::PrepareSignalContext();
  struct sigaction action = {};
  action.sa_sigaction = KeepContext;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}

void BM_LoadGeneralRegisters(benchmark::State& bench) {
  KeepOneContext();
  const std::unique_ptr<MachineState> state = SomeState();
  for (auto _ : bench) {
    hbbp::trace::LoadGeneralRegisters(context_of_signal, state.get());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_LoadGeneralRegisters);

void BM_LoadVectorState(benchmark::State& bench) {
  KeepOneContext();
  const std::unique_ptr<MachineState> state = SomeState();
  for (auto _ : bench) {
    hbbp::trace::LoadVectorState(context_of_signal, state.get());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(BM_LoadVectorState);

[[maybe_unused]] const bool kRegistered = [] {
  for (const Example& example : kExamples) {
    const std::string name(example.name);
    benchmark::RegisterBenchmark(("BM_Execute/" + name).c_str(),
                                 [&](benchmark::State& bench) { BM_Execute(bench, example); });
  }
  for (const Example& example : {kExamples[0], kExamples[8], kExamples[15]}) {
    benchmark::RegisterBenchmark(
        (std::string("BM_Describe/") + example.name).c_str(),
        [example](benchmark::State& bench) { BM_Describe(bench, example); });
  }
  return true;
}();

}  // namespace
