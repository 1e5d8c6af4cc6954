#include "unit/trace/random_state.h"

#include <cstring>
#include <iterator>

#include "support/native_executor.h"

namespace hbbp::testing {
namespace {

constexpr uint64_t kIntegers[] = {0,
                                  1,
                                  2,
                                  7,
                                  31,
                                  32,
                                  63,
                                  64,
                                  0x7f,
                                  0x80,
                                  0xff,
                                  0x7fff,
                                  0x8000,
                                  0x7fffffff,
                                  0x80000000,
                                  0xffffffff,
                                  0x7fffffffffffffff,
                                  0x8000000000000000,
                                  0xffffffffffffffff,
                                  0xfffffffffffffffe,
                                  0x0123456789abcdef,
                                  0x8080808080808080,
                                  0x7f7f7f7f7f7f7f7f,
                                  0x5555555555555555,
                                  0xffff0000ffff0000};
constexpr uint64_t kDoubles[] = {
    0x3ff0000000000000, 0xbff0000000000000, 0x4000000000000000, 0x3fe0000000000000,
    0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001,
    0xfff8000000001234, 0x0000000000000001, 0x800fffffffffffff, 0x0010000000000000,
    0x7fefffffffffffff, 0xffefffffffffffff, 0x43e0000000000000, 0xc3e0000000000000,
    0x41dfffffffc00000, 0x41e0000000000000, 0x3ff8000000000000, 0xc004000000000000,
    0x400921fb54442d18, 0x3690000000000000, 0x47efffffe0000000, 0x3ca0000000000000};
constexpr uint32_t kFloats[] = {
    0x3f800000, 0xbf800000, 0x40000000, 0x3f000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
    0xffc01234, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x4f000000, 0xcf000000,
    0x5f000000, 0x3fc00000, 0xc0200000, 0x40490fdb, 0x33800000, 0x477fe000, 0x387fc000, 0x80000000};

template <typename Values>
auto Pick(Random* random, const Values& values) {
  return values[(*random)() % std::size(values)];
}

uint64_t Float(Random* random) {
  const uint64_t kind = (*random)() % 4;
  if (kind == 0) return static_cast<uint32_t>((*random)());
  return Pick(random, kFloats);
}

// The x87 state is this part of FXSAVE.
void FillX87(Random* random, uint8_t* fxsave) {
  constexpr uint16_t kMasked = 0x003f;
  const uint64_t bits = (*random)();
  const auto control =
      static_cast<uint16_t>(kMasked | 0x0040 | (bits & 0x0c00) | (bits % 4 == 0 ? 0x0200 : 0x0300));
  const auto status = static_cast<uint16_t>(bits >> 16 & 0x7f7f);  // all but busy and ES
  std::memcpy(fxsave, &control, 2);
  std::memcpy(fxsave + 2, &status, 2);
  fxsave[4] = static_cast<uint8_t>(bits % 8 == 0 ? bits >> 40 : 0xff);  // not empty
  constexpr uint16_t kExponents[] = {0,      0x8000, 1,      0x3fff, 0xbfff, 0x4000,
                                     0x3ffe, 0x7fff, 0xffff, 0x7ffe, 0x403e, 0x4005};
  for (unsigned i = 0; i < 8; ++i) {
    uint64_t mantissa = (*random)() | uint64_t{1} << 63;
    const uint64_t kind = (*random)() % 8;
    if (kind == 0) mantissa = uint64_t{1} << 63;
    if (kind == 1) mantissa = InterestingValue(random);
    const uint16_t exponent = Pick(random, kExponents);
    std::memcpy(fxsave + 32 + 16 * i, &mantissa, 8);
    std::memcpy(fxsave + 40 + 16 * i, &exponent, 2);
  }
  constexpr uint32_t kMxcsr = 0x1f80;
  constexpr uint32_t kMxcsrMask = 0xffff;
  std::memcpy(fxsave + 24, &kMxcsr, 4);
  std::memcpy(fxsave + 28, &kMxcsrMask, 4);
}

}  // namespace

uint64_t InterestingValue(Random* random) {
  switch ((*random)() % 8) {
    case 0:
    case 1:
      return Pick(random, kIntegers);
    case 2:
    case 3:
      return Pick(random, kDoubles);
    case 4:
    case 5:
      return Float(random) << 32 | Float(random);
    case 6:
      return (*random)() % 256;
    default:
      return (*random)();
  }
}

void FillInteresting(Random* random, uint8_t* bytes, size_t size) {
  for (size_t i = 0; i < size; i += 8) {
    const uint64_t value = InterestingValue(random);
    std::memcpy(bytes + i, &value, size - i < 8 ? size - i : 8);
  }
}

void FillState(Random* random, trace::MachineState* state) {
  for (uint64_t& value : state->gpr) value = InterestingValue(random);
  state->gpr[trace::kNoGpr] = 0;
  state->flags = (*random)() & (trace::kArithmeticFlags | trace::kFlagDf);
  state->poison = 0;
  // Exceptions are masked; rounding, flush-to-zero, denormals-are-zero and sticky flags are random.
  state->mxcsr = 0x1f80 | ((*random)() & 0xe07f);
  state->has_vector_state = 1;
  for (uint64_t& value : state->k) value = (*random)() % 4 == 0 ? ~uint64_t{0} : (*random)();
  FillInteresting(random, state->zmm[0], sizeof(state->zmm));
  std::memset(state->fxsave, 0, sizeof(state->fxsave));
  FillX87(random, state->fxsave);
  NativeExecutor::MakePossible(state);
}

}  // namespace hbbp::testing
