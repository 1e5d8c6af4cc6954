// image_filter sse2|avx2|avx512 ROUNDS: blurs and sharpens a picture by turns, and looks for its
// bright runs, 16, 32 or 64 pixels at a time, with branches on masks of comparisons. Prints a sum
// of the pixels and runs, the same for all.
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWidth = 1024, kHeight = 512, kBright = 140 };

static uint8_t picture[kHeight][kWidth], blurred[kHeight][kWidth];

// The compiler vectorises these loops for the width of `target`.
#define FILTER(NAME, TARGET)                                                                       \
  __attribute__((target(TARGET), optimize("O3"))) static void NAME(int sharpens) {                 \
    for (int y = 1; y < kHeight - 1; ++y) {                                                        \
      for (int x = 1; x < kWidth - 1; ++x) {                                                       \
        const int around =                                                                         \
            picture[y - 1][x] + picture[y + 1][x] + picture[y][x - 1] + picture[y][x + 1];         \
        const int mixed = sharpens ? picture[y][x] * 12 - around * 2 : picture[y][x] * 4 + around; \
        const int scaled = sharpens ? mixed / 4 : mixed / 8;                                       \
        blurred[y][x] = (uint8_t)(scaled < 0 ? 0 : scaled > 255 ? 255 : scaled);                   \
      }                                                                                            \
    }                                                                                              \
    memcpy(picture, blurred, sizeof(picture));                                                     \
  }

FILTER(FilterSse2, "sse2")
FILTER(FilterAvx2, "avx2")
FILTER(FilterAvx512, "avx512f,avx512bw,avx512vl,prefer-vector-width=512")

// Counts runs that begin in `mask`; bit 0 of `previous` says whether the pixel before it is bright.
static uint64_t CountRuns(uint64_t mask, uint64_t previous) {
  if (mask == 0) return 0;
  return (uint64_t)__builtin_popcountll(mask & ~(mask << 1 | previous));
}

static uint64_t FindSse2(void) {
  uint64_t runs = 0, previous = 0;
  const uint8_t* pixels = &picture[0][0];
  for (size_t i = 0; i < sizeof(picture); i += 16) {
    const __m128i block = _mm_loadu_si128((const __m128i*)(pixels + i));
    const __m128i bright = _mm_cmpeq_epi8(_mm_max_epu8(block, _mm_set1_epi8((char)kBright)), block);
    const uint64_t mask = (uint16_t)_mm_movemask_epi8(bright);
    runs += CountRuns(mask, previous);
    previous = mask >> 15;
  }
  return runs;
}

__attribute__((target("avx2"))) static uint64_t FindAvx2(void) {
  uint64_t runs = 0, previous = 0;
  const uint8_t* pixels = &picture[0][0];
  for (size_t i = 0; i < sizeof(picture); i += 32) {
    const __m256i block = _mm256_loadu_si256((const __m256i*)(pixels + i));
    const __m256i bright =
        _mm256_cmpeq_epi8(_mm256_max_epu8(block, _mm256_set1_epi8((char)kBright)), block);
    const uint64_t mask = (uint32_t)_mm256_movemask_epi8(bright);
    runs += CountRuns(mask, previous);
    previous = mask >> 31;
  }
  return runs;
}

__attribute__((target("avx512f,avx512bw"))) static uint64_t FindAvx512(void) {
  uint64_t runs = 0, previous = 0;
  const uint8_t* pixels = &picture[0][0];
  for (size_t i = 0; i < sizeof(picture); i += 64) {
    const __m512i block = _mm512_loadu_si512(pixels + i);
    const uint64_t mask = _mm512_cmpge_epu8_mask(block, _mm512_set1_epi8((char)kBright));
    runs += CountRuns(mask, previous);
    previous = mask >> 63;
  }
  return runs;
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  void (*filter)(int) = FilterSse2;
  uint64_t (*find)(void) = FindSse2;
  if (strcmp(argv[1], "avx2") == 0) {
    if (!__builtin_cpu_supports("avx2")) return 77;
    filter = FilterAvx2;
    find = FindAvx2;
  } else if (strcmp(argv[1], "avx512") == 0) {
    if (!__builtin_cpu_supports("avx512bw")) return 77;
    filter = FilterAvx512;
    find = FindAvx512;
  }
  uint64_t x = 1, sum = 0;
  for (int y = 0; y < kHeight; ++y) {
    for (int column = 0; column < kWidth; ++column) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      picture[y][column] = (uint8_t)((x >> 56) / 2 + (uint64_t)(y + column) / 16 % 128);
    }
  }
  for (int round = 0; round < atoi(argv[2]); ++round) {
    filter(round % 3 == 2);
    sum = sum * 31 + find();
  }
  for (int y = 0; y < kHeight; ++y) {
    for (int column = 0; column < kWidth; ++column) sum = sum * 31 + picture[y][column];
  }
  printf("%016llx\n", (unsigned long long)sum);
  return 0;
}
