// Answers the questions that a particle's path through a geometry asks of a box: is a point inside,
// how far is it to the surface from outside and from inside.
//
// It has chains of tests with short blocks between them; hardly a block has ten instructions.
#include <array>
#include <cmath>
#include <cstdio>

#include "rounds.h"

namespace {

constexpr int kPoints = 560;
constexpr float kNowhere = 1e9F;
constexpr float kHalfTolerance = 0.5e-3F;

struct Vector {
  float x, y, z;
};

enum class Position { kOutside, kSurface, kInside };

class Box {
 public:
  Box(float dx, float dy, float dz) : dx_(dx), dy_(dy), dz_(dz) {}

  [[gnu::noinline]] Position Inside(const Vector& p) const {
    const float x = std::abs(p.x), y = std::abs(p.y), z = std::abs(p.z);
    if (x <= dx_ - kHalfTolerance) {
      if (y <= dy_ - kHalfTolerance) {
        if (z <= dz_ - kHalfTolerance) return Position::kInside;
        if (z <= dz_ + kHalfTolerance) return Position::kSurface;
      } else if (y <= dy_ + kHalfTolerance) {
        if (z <= dz_ + kHalfTolerance) return Position::kSurface;
      }
    } else if (x <= dx_ + kHalfTolerance) {
      if (y <= dy_ + kHalfTolerance) {
        if (z <= dz_ + kHalfTolerance) return Position::kSurface;
      }
    }
    return Position::kOutside;
  }

  // Starts at a point outside, along v.
  [[gnu::noinline]] float DistanceToIn(const Vector& p, const Vector& v) const {
    float nearest = -kNowhere, farthest = kNowhere;
    if (!Clip(p.x, v.x, dx_, &nearest, &farthest)) return kNowhere;
    if (!Clip(p.y, v.y, dy_, &nearest, &farthest)) return kNowhere;
    if (!Clip(p.z, v.z, dz_, &nearest, &farthest)) return kNowhere;
    if (farthest <= nearest + kHalfTolerance) return kNowhere;
    return nearest > kHalfTolerance ? nearest : 0;
  }

  // Starts at a point inside, along v.
  [[gnu::noinline]] float DistanceToOut(const Vector& p, const Vector& v) const {
    float nearest = kNowhere;
    if (v.x > 0) {
      nearest = (dx_ - p.x) / v.x;
    } else if (v.x < 0) {
      nearest = (-dx_ - p.x) / v.x;
    }
    if (v.y > 0) {
      const float y = (dy_ - p.y) / v.y;
      if (y < nearest) nearest = y;
    } else if (v.y < 0) {
      const float y = (-dy_ - p.y) / v.y;
      if (y < nearest) nearest = y;
    }
    if (v.z > 0) {
      const float z = (dz_ - p.z) / v.z;
      if (z < nearest) nearest = z;
    } else if (v.z < 0) {
      const float z = (-dz_ - p.z) / v.z;
      if (z < nearest) nearest = z;
    }
    return nearest;
  }

 private:
  static bool Clip(float p, float v, float half, float* nearest, float* farthest) {
    if (v == 0) return std::abs(p) < half;
    const float forwards = v > 0 ? half : -half;
    const float in = (-forwards - p) / v;
    const float out = (forwards - p) / v;
    if (in > *nearest) *nearest = in;
    if (out < *farthest) *farthest = out;
    return *nearest < *farthest;
  }

  float dx_, dy_, dz_;
};

struct Tally {
  std::array<unsigned long, 3> positions{};
  unsigned long misses = 0;
  double way = 0;
};

void Track(const Box& box, unsigned* state, Tally* tally) {
  // Some coordinates lie in a plane of the surface, as they do after a step that ended there.
  const auto coordinate = [state](float half) {
    const unsigned number = NextNumber(state);
    if (number % 16 == 0) return number % 32 == 0 ? half : -half;
    return (NextFraction(state) * 2.5F - 1.25F) * half;
  };
  const auto direction = [state] {
    const unsigned number = NextNumber(state);
    return number % 8 == 0 ? 0.0F : NextFraction(state) * 2 - 1;
  };
  const Vector point = {coordinate(10), coordinate(20), coordinate(30)};
  const Vector along = {direction(), direction(), direction()};
  const Position position = box.Inside(point);
  ++tally->positions[static_cast<size_t>(position)];
  const float way = position == Position::kOutside ? box.DistanceToIn(point, along)
                                                   : box.DistanceToOut(point, along);
  if (way >= kNowhere) {
    ++tally->misses;
  } else if (way < 1000) {
    tally->way += static_cast<double>(way);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const long rounds = RoundsFrom(argc, argv);
  const Box box(10, 20, 30);
  Tally tally;
  unsigned state = 1;
  for (long round = 0; round < rounds; ++round) {
    for (int i = 0; i < kPoints; ++i) Track(box, &state, &tally);
  }
  std::printf("%lu %lu %lu %lu %.3f\n", tally.positions[0], tally.positions[1], tally.positions[2],
              tally.misses, tally.way);
}
