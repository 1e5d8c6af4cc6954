// Defines Lanes: as many numbers as a register of the variant holds, with the operators of a
// number.
//
// FITTER_LANES   1 (x87), 4 (SSE) or 8 (AVX)
// FITTER_CALLS   defined: every operator is a function that is called, as it is where a compiler
//                does not inline operators
#ifndef HBBP_BENCH_ACCURACY_KERNELS_LANES_H_
#define HBBP_BENCH_ACCURACY_KERNELS_LANES_H_

#include <cstring>

#ifdef FITTER_CALLS
#define FITTER_OPERATOR [[gnu::noinline]] static
#else
#define FITTER_OPERATOR [[gnu::always_inline]] static inline
#endif

inline constexpr int kLanes = FITTER_LANES;

#if FITTER_LANES == 1
using Vector = float;
#else
typedef float Vector __attribute__((vector_size(4 * FITTER_LANES)));
#endif

struct Lanes {
  Vector v;
};

FITTER_OPERATOR Lanes operator+(Lanes a, Lanes b) { return {a.v + b.v}; }
FITTER_OPERATOR Lanes operator-(Lanes a, Lanes b) { return {a.v - b.v}; }
FITTER_OPERATOR Lanes operator*(Lanes a, Lanes b) { return {a.v * b.v}; }
FITTER_OPERATOR Lanes operator/(Lanes a, Lanes b) { return {a.v / b.v}; }

FITTER_OPERATOR Lanes Load(const float* numbers) {
  Lanes lanes;
  std::memcpy(&lanes.v, numbers, sizeof(lanes.v));
  return lanes;
}

FITTER_OPERATOR void Store(Lanes lanes, float* numbers) {
  std::memcpy(numbers, &lanes.v, sizeof(lanes.v));
}

FITTER_OPERATOR Lanes All(float number) {
  Lanes lanes;
  float numbers[kLanes];
  for (float& lane : numbers) lane = number;
  std::memcpy(&lanes.v, numbers, sizeof(lanes.v));
  return lanes;
}

#endif  // HBBP_BENCH_ACCURACY_KERNELS_LANES_H_
