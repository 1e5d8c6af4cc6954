// X87Stack follows when the registers of the x87 stack are ready. Instructions name them relative
// to the top of the stack, which nearly each of them moves.
#ifndef HBBP_LIB_BACKENDS_X87_STACK_H_
#define HBBP_LIB_BACKENDS_X87_STACK_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "isa/zydis_decode.h"

namespace hbbp {

// X87Effect is what an instruction does to the stack. Registers are numbered from the top before
// it.
struct X87Effect {
  static constexpr int8_t kNone = -1;

  bool is_any = false;
  bool pushes = false;  // before it writes: st(0) is the new one
  uint8_t pops = 0;     // after it has written
  bool reads_top = false;
  int8_t reads = kNone;   // another register that it reads,
  int8_t writes = kNone;  // and the one that it writes, of the stack after pushes and before pops
  int8_t exchanges = kNone;  // with the top, in no time
};

// The effect of other instructions is none.
X87Effect EffectOnX87(const ZydisDecodedInstruction& instruction);

class X87Stack {
 public:
  double ReadyAt(const X87Effect& effect) const {
    double latest = effect.reads_top ? Register(0) : 0;
    if (effect.reads != X87Effect::kNone) latest = std::max(latest, Register(effect.reads));
    return latest;
  }
  void Apply(const X87Effect& effect, double done) {
    if (effect.exchanges != X87Effect::kNone) std::swap(Register(0), Register(effect.exchanges));
    if (effect.pushes) --top_;
    if (effect.writes != X87Effect::kNone) Register(effect.writes) = done;
    top_ += effect.pops;
  }

 private:
  const double& Register(int8_t number) const {
    return ready_[(top_ + static_cast<unsigned>(number)) % 8];
  }
  double& Register(int8_t number) { return ready_[(top_ + static_cast<unsigned>(number)) % 8]; }

  double ready_[8] = {};
  unsigned top_ = 0;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BACKENDS_X87_STACK_H_
