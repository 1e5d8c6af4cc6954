// tiles ROUNDS: two threads keep data in the tiles of AMX over code with branches, and compare what
// they compute there with what scalar code does. Prints a sum.
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spin.h"

#define USES_TILES __attribute__((target("amx-tile,amx-int8")))

enum { kRows = 16, kColumns = 16, kBytesOfRow = 64, kSteps = 200 };
enum { kRequestPermission = 0x1023, kTileData = 18 };  // of arch_prctl

typedef struct TileConfig {
  uint8_t palette, start_row, reserved[14];
  uint16_t bytes_of_row[16];
  uint8_t rows[16];
} TileConfig;

typedef struct Work {
  uint64_t seed, sum;
  int was_harmed;
} Work;

static long rounds;

static void Fill(int8_t* values, uint64_t seed) {
  for (int i = 0; i < kRows * kBytesOfRow; ++i)
    values[i] = (int8_t)(Spin(seed + (uint64_t)i, 1) % 256);
}

// Sums up products of four bytes, as tdpbssd does.
static int32_t Element(const int8_t* left, const int8_t* right, int row, int column) {
  int32_t sum = 0;
  for (int k = 0; k < kRows; ++k) {
    for (int byte = 0; byte < 4; ++byte) {
      sum += left[row * kBytesOfRow + 4 * k + byte] * right[k * kBytesOfRow + 4 * column + byte];
    }
  }
  return sum;
}

USES_TILES static void Multiply(Work* work) {
  static const TileConfig kConfig = {
      .palette = 1, .bytes_of_row = {64, 64, 64}, .rows = {kRows, kRows, kRows}};
  int8_t left[kRows * kBytesOfRow], right[kRows * kBytesOfRow];
  int32_t product[kRows * kColumns];
  Fill(left, work->seed);
  Fill(right, work->seed + 1);
  _tile_loadconfig(&kConfig);
  _tile_loadd(1, left, kBytesOfRow);
  _tile_loadd(2, right, kBytesOfRow);
  for (long round = 0; round < rounds; ++round) {
    _tile_zero(0);
    for (int step = 0; step < kSteps; ++step) {
      _tile_dpbssd(0, 1, 2);
      work->sum += Spin(work->sum, 20);
    }
    _tile_stored(0, product, kBytesOfRow);
    for (int i = 0; i < kRows * kColumns; ++i) {
      const int32_t once = Element(left, right, i / kColumns, i % kColumns);
      if (product[i] != kSteps * once) work->was_harmed = 1;
    }
  }
  _tile_release();
}

static void* Run(void* work) {
  Multiply((Work*)work);
  return NULL;
}

int main(int argc, char** argv) {
  rounds = Argument(argc, argv, 1, 1000);
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) return kSkipped;
  Work works[2] = {{1, 0, 0}, {100, 0, 0}};
  pthread_t thread;
  if (pthread_create(&thread, NULL, Run, &works[1]) != 0) return kHarmed;
  Run(&works[0]);
  pthread_join(thread, NULL);
  if (works[0].was_harmed || works[1].was_harmed) return kHarmed;
  Print("sum", works[0].sum + works[1].sum);
  return 0;
}
