// vectors N: N rounds of vector code, gathers, and string and bit instructions on memory. Prints a
// checksum of what they computed, or exits with 77 where there is no AVX2.
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWords = 1024 };

static double sums[kWords], factors[kWords];
static float narrow[kWords];
static int32_t table[kWords], indices[kWords], gathered[kWords];
static uint8_t from[kWords], to[kWords];
static uint64_t bits[kWords];
static __thread uint64_t of_thread;

__attribute__((noipa, target("avx2,fma"))) static void Multiply(double factor) {
  const __m256d factors_of_lane = _mm256_set1_pd(factor);
  for (int i = 0; i < kWords; i += 4) {
    const __m256d product =
        _mm256_fmadd_pd(_mm256_loadu_pd(factors + i), factors_of_lane, _mm256_loadu_pd(sums + i));
    _mm256_storeu_pd(sums + i, product);
    _mm_storeu_ps(narrow + i, _mm256_cvtpd_ps(product));
  }
}

__attribute__((noipa, target("avx2"))) static void Gather(void) {
  for (int i = 0; i < kWords; i += 8) {
    const __m256i index = _mm256_loadu_si256((const __m256i*)(indices + i));
    const __m256i found = _mm256_i32gather_epi32(table, index, 4);
    _mm256_storeu_si256((__m256i*)(gathered + i), found);
    _mm256_maskstore_epi32(table + i, found, _mm256_add_epi32(found, index));
  }
}

__attribute__((noipa)) static void Copy(int round) {
  void* source = from;
  void* destination = to;
  uint64_t count = (uint64_t)(kWords - round % 64);
  __asm__ volatile("rep movsb" : "+S"(source), "+D"(destination), "+c"(count) : : "memory");
  destination = from;
  count = 64;
  __asm__ volatile("rep stosb" : "+D"(destination), "+c"(count) : "a"(round) : "memory");
  for (uint64_t i = 0; i < kWords; ++i) {
    // Not in the red zone.
    __asm__ volatile(
        "lea -128(%%rsp), %%rsp\n\tbtc %1, (%0)\n\tpush (%0)\n\tpop %%rax\n\t"
        "xor %%rax, %%fs:(%2)\n\tlea 128(%%rsp), %%rsp"
        :
        : "r"(bits), "r"(i * 61 % 4096),
          "r"((uint64_t)&of_thread - (uint64_t)__builtin_thread_pointer())
        : "rax", "memory", "cc");
  }
}

static uint64_t Checksum(uint64_t sum, const void* data, size_t bytes) {
  const uint8_t* byte = data;
  for (size_t i = 0; i < bytes; ++i) sum = sum * 1099511628211u ^ byte[i];
  return sum;
}

int main(int argc, char** argv) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 77;
  for (int i = 0; i < kWords; ++i) {
    factors[i] = i * 0.5;
    table[i] = i * 7919;
    indices[i] = i * 37 % kWords;
    from[i] = (uint8_t)(i * 31);
  }
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  long double x87 = 1;
  for (int round = 0; round < rounds; ++round) {
    Multiply(1e-3);
    Gather();
    Copy(round);
    x87 = x87 * 1.25L - (long double)sums[round % kWords] * 1e-9L;
    if (x87 > 1e9L) x87 = 1;
  }
  uint64_t sum = Checksum(0, sums, sizeof(sums));
  sum = Checksum(sum, narrow, sizeof(narrow));
  sum = Checksum(sum, table, sizeof(table));
  sum = Checksum(sum, gathered, sizeof(gathered));
  sum = Checksum(sum, to, sizeof(to));
  sum = Checksum(sum, bits, sizeof(bits));
  printf("%llx %.17Lg %llx\n", (unsigned long long)sum, x87, (unsigned long long)of_thread);
  return 0;
}
