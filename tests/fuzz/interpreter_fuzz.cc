// Runs arbitrary code bytes in the interpreter from arbitrary registers: it never crashes, never
// writes to the memory of the program, stays within its limits and always ends.
//
// The program's code and data are mapped read-only, so that a store that reaches them ends the
// fuzzer. Only faults that a tracer catches in production are caught: no SIGFPE, no SIGILL.
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "trace/interpreter/code_cache.h"
#include "trace/interpreter/look_ahead.h"
#include "trace/native/machine_state.h"
#include "trace/native/native_stub.h"

namespace {

using hbbp::TakenBranch;
using hbbp::trace::CodeCache;
using hbbp::trace::LookAhead;
using hbbp::trace::MachineState;
using hbbp::trace::NativeRegion;
using hbbp::trace::RunResult;
using hbbp::trace::StopReason;

constexpr size_t kPage = 4096;
constexpr size_t kDataPages = 8;
constexpr size_t kCodePages = 2;
constexpr size_t kCodeBytes = kCodePages * kPage;
constexpr size_t kMaxCode = 512;
constexpr uint32_t kCapacity = 64;
constexpr uint64_t kMaxInstructions = 20000;

void Require(bool invariant) {
  if (!invariant) std::abort();
}

uint8_t* Map(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Require(memory != MAP_FAILED);
  return static_cast<uint8_t*>(memory);
}

struct sigaction previous_actions[64];

void OnFault(int signal, siginfo_t*, void* context) {
  if (LookAhead::RecoverFromFault(static_cast<ucontext_t*>(context))) return;
  ::sigaction(signal, &previous_actions[signal], nullptr);
}

class Program {
 public:
  Program() {
    // Nothing is mapped before and after the code and the data.
    uint8_t* memory = Map((kDataPages + kCodePages + 3) * kPage);
    code_ = memory + kPage;
    data_ = code_ + kCodeBytes + kPage;
    for (uint8_t* gap : {memory, code_ + kCodeBytes, data_ + kDataPages * kPage}) {
      ::mprotect(gap, kPage, PROT_NONE);
    }
    for (size_t i = 0; i < kDataPages * kPage; ++i) data_[i] = static_cast<uint8_t>(i * 37 >> 3);
    ::mprotect(data_, kDataPages * kPage, PROT_READ);
    region_ = NativeRegion::Create(2 << 20);
    cache_ = CodeCache::Create(4 << 20, region_);
    Require(cache_ != nullptr);
    const size_t alignment = LookAhead::Alignment();
    const size_t bytes = (LookAhead::Size() + alignment - 1) / alignment * alignment;
    auto* whole = reinterpret_cast<uintptr_t*>(Map(bytes + 2 * alignment));
    const uintptr_t aligned =
        (reinterpret_cast<uintptr_t>(whole) + alignment - 1) / alignment * alignment;
    look_ahead_ = LookAhead::Create(reinterpret_cast<void*>(aligned), cache_);
    struct sigaction action = {};
    action.sa_sigaction = &OnFault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    for (const int signal : {SIGSEGV, SIGBUS}) {
      ::sigaction(signal, &action, &previous_actions[signal]);
    }
  }

  LookAhead* look_ahead() { return look_ahead_; }

  uint64_t SetCode(const uint8_t* bytes, size_t size, bool at_end) {
    ::mprotect(code_, kCodeBytes, PROT_READ | PROT_WRITE);
    std::memset(code_, 0x90, kCodeBytes);
    uint8_t* start = at_end ? code_ + kCodeBytes - size : code_ + kPage - 16;
    std::memcpy(start, bytes, size);
    ::mprotect(code_, kCodeBytes, PROT_READ);
    return reinterpret_cast<uint64_t>(start);
  }

  // Returns a value for a register, chosen by one byte.
  uint64_t Value(uint8_t choice) const {
    const auto data = reinterpret_cast<uint64_t>(data_);
    const uint64_t detail = choice >> 3;
    switch (choice & 7) {
      case 0:
        return detail;
      case 1:
        return ~detail;
      case 2:
        return data + detail * 64;
      case 3:
        return data + kDataPages * kPage - detail;  // its end
      case 4:
        return reinterpret_cast<uint64_t>(code_) + detail;
      case 5:
        return uint64_t{1} << (detail * 2);
      case 6:
        return data + detail * 1021;
      default:
        return 0x8000'0000'0000'0000 | detail << 32 | detail;
    }
  }

  void CheckFlushed() { (void)cache_->FlushIfFull(); }

 private:
  uint8_t* code_ = nullptr;
  uint8_t* data_ = nullptr;
  NativeRegion* region_ = nullptr;
  CodeCache* cache_ = nullptr;
  LookAhead* look_ahead_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Program& program = *new Program();
  constexpr size_t kHeader = 24;
  if (size < kHeader) return 0;
  const uint8_t options = data[0];
  auto state = std::make_unique<MachineState>();
  std::memset(static_cast<void*>(state.get()), 0, sizeof(*state));
  for (unsigned i = 0; i < 16; ++i) state->gpr[i] = program.Value(data[i + 1]);
  state->flags =
      (uint64_t{data[17]} << 4 | data[18]) & (hbbp::trace::kArithmeticFlags | hbbp::trace::kFlagDf);
  state->fs_base = program.Value(data[19]);
  state->gs_base = program.Value(data[20]);
  if (options & 1) {
    for (unsigned i = 0; i < 16; ++i) {
      if (data[21 + i / 8] >> (i % 8) & 1) state->poison |= hbbp::trace::GprBit(i);
    }
  }
  state->has_vector_state = 1;
  // MXCSR has random rounding and denormals, and sometimes unmasked exceptions.
  state->mxcsr = data[23] & 1 ? 0x1f80u : (0x1f80u ^ (uint32_t{data[23]} << 8)) & 0xffc0u;
  asm volatile("fninit\n\tfxsave64 %0" : "=m"(state->fxsave));
  for (unsigned i = 0; i < 32; ++i) {
    for (unsigned byte = 0; byte < 64; ++byte) {
      state->zmm[i][byte] = static_cast<uint8_t>(data[byte % kHeader] * (i + 1) + byte);
    }
  }
  for (unsigned i = 0; i < 8; ++i) state->k[i] = program.Value(data[1 + i]);
  const size_t code_size = std::min(size - kHeader, kMaxCode);
  state->rip = program.SetCode(data + kHeader, code_size, (options & 2) != 0);

  // This is one entry more than may be used.
  TakenBranch branches[kCapacity + 1];
  const TakenBranch guard = {0x1122334455667788, 0x99aabbccddeeff00};
  branches[kCapacity] = guard;
  LookAhead& look_ahead = *program.look_ahead();
  look_ahead.Begin(*state, (options & 4) != 0);
  uint64_t instructions = 0;
  for (int run = 0; run < 4; ++run) {
    const uint32_t capacity = run == 0 && (options & 8) ? 1 : kCapacity;
    const RunResult result =
        options & 16 ? look_ahead.RunToDynamicBranch(branches, capacity, kMaxInstructions)
                     : look_ahead.Run(branches, capacity, kMaxInstructions);
    Require(result.branches <= capacity);
    Require(result.instructions <= kMaxInstructions);
    Require(result.reason < StopReason::kCount);
    Require(result.reason != StopReason::kStackOverflow);
    Require(branches[kCapacity].from == guard.from && branches[kCapacity].to == guard.to);
    Require(look_ahead.state().rip == result.ip || result.reason == StopReason::kCodeCacheFull);
    instructions += result.instructions;
    if (result.instructions == 0) break;
  }
  Require(look_ahead.stats().instructions == instructions);
  Require(look_ahead.MaxStackBytesUsed() < LookAhead::StackBytes() * 3 / 4);
  program.CheckFlushed();
  return 0;
}
