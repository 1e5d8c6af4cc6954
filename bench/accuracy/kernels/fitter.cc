// Fits straight tracks to the hits of a row of detector planes by a Kalman filter, as many tracks
// at a time as a register holds.
//
// It has long blocks of arithmetic: the same work with x87, SSE and AVX, and with AVX where every
// operator is called. All compute in single precision and without fused operations, so SSE and AVX
// agree to the last bit, and x87, whose registers are wider, nearly.
#include <array>
#include <cstdio>

#include "lanes.h"
#include "rounds.h"

namespace {

constexpr int kTracks = 64;  // per round; a multiple of every number of lanes
constexpr int kPlanes = 10;

// The position and direction of a track, in x and in y, and their covariance.
struct State {
  Lanes x, y, tx, ty;
  Lanes xx, xt, tt;  // the same for x and y, which are independent
};

struct Hits {
  std::array<std::array<float, kTracks>, kPlanes> x, y;
};

struct Fit {
  std::array<float, kTracks> x, y, tx, ty, chi2;
};

[[gnu::noinline]] void FitTracks(const Hits& hits, Fit* fit) {
  const Lanes distance = All(0.5F), hit_variance = All(0.01F), scattering = All(1e-5F);
  for (size_t first = 0; first < kTracks; first += kLanes) {
    State s = {All(0), All(0), All(0), All(0), All(100), All(0), All(10)};
    Lanes chi2 = All(0);
    for (size_t plane = 0; plane < kPlanes; ++plane) {
      s.x = s.x + s.tx * distance;
      s.y = s.y + s.ty * distance;
      s.xx = s.xx + distance * (s.xt + s.xt + distance * s.tt);
      s.xt = s.xt + distance * s.tt;
      s.tt = s.tt + scattering;
      const Lanes dx = Load(&hits.x[plane][first]) - s.x;
      const Lanes dy = Load(&hits.y[plane][first]) - s.y;
      const Lanes weight = All(1) / (s.xx + hit_variance);
      const Lanes gain = s.xx * weight, slope_gain = s.xt * weight;
      chi2 = chi2 + (dx * dx + dy * dy) * weight;
      s.x = s.x + gain * dx;
      s.y = s.y + gain * dy;
      s.tx = s.tx + slope_gain * dx;
      s.ty = s.ty + slope_gain * dy;
      s.tt = s.tt - slope_gain * s.xt;
      s.xt = s.xt - gain * s.xt;
      s.xx = s.xx - gain * s.xx;
    }
    Store(s.x, &fit->x[first]);
    Store(s.y, &fit->y[first]);
    Store(s.tx, &fit->tx[first]);
    Store(s.ty, &fit->ty[first]);
    Store(chi2, &fit->chi2[first]);
  }
}

void MakeHits(Hits* hits) {
  unsigned state = 1;
  for (size_t track = 0; track < kTracks; ++track) {
    const float tx = NextFraction(&state) - 0.5F, ty = NextFraction(&state) - 0.5F;
    for (size_t plane = 0; plane < kPlanes; ++plane) {
      const float z = 0.5F * static_cast<float>(plane + 1);
      hits->x[plane][track] = tx * z + 0.2F * (NextFraction(&state) - 0.5F);
      hits->y[plane][track] = ty * z + 0.2F * (NextFraction(&state) - 0.5F);
    }
  }
}

[[gnu::noinline]] double Sum(const std::array<float, kTracks>& numbers) {
  double sum = 0;
  for (const float number : numbers) sum += static_cast<double>(number);
  return sum;
}

// It is separate from main, so that nothing of a variant runs before the processor was checked.
[[gnu::noinline]] void Run(long rounds) {
  Hits hits;
  MakeHits(&hits);
  Fit fit = {};
  double sum = 0;
  for (long round = 0; round < rounds; ++round) {
    for (int i = 0; i < FITTER_FITS_IN_A_ROUND; ++i) FitTracks(hits, &fit);
    // The next round has slightly different hits.
    hits.x[static_cast<size_t>(round) % kPlanes][0] += 1e-3F;
    sum += Sum(fit.x) + Sum(fit.tx) + Sum(fit.chi2);
  }
  std::printf("%.3f %.3f %.3f\n", Sum(fit.y), Sum(fit.ty), sum / static_cast<double>(rounds));
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = RoundsFrom(argc, argv);
#if FITTER_LANES == 8
  if (!__builtin_cpu_supports("avx")) {
    std::fputs("this processor has no AVX; fitter_sse does the same without\n", stderr);
    return 77;
  }
#endif
  Run(rounds);
}
