// dgemm CORETYPE SIZE ROUNDS THREADS: products of matrices by the kernels of OpenBLAS for one kind
// of processor (Haswell: AVX2 and FMA, SkylakeX: AVX-512, Nehalem: SSE). Prints the sum of what
// came out, to the last bit.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Dgemm)(const char*, const char*, const int*, const int*, const int*, const double*,
                      const double*, const int*, const double*, const int*, const double*, double*,
                      const int*);

static uint64_t Bits(const double* values, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits;
    memcpy(&bits, &values[i], sizeof(bits));
    sum = sum * 31 + bits;
  }
  return sum;
}

int main(int argc, char** argv) {
  if (argc < 5) return 99;
  const int size = atoi(argv[2]);
  setenv("OPENBLAS_CORETYPE", argv[1], 1);
  setenv("OPENBLAS_NUM_THREADS", argv[4], 1);
  // The library reads its environment when it is loaded.
  void* library = dlopen("libopenblas.so.0", RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 77;
  }
  void* symbol = dlsym(library, "dgemm_");
  Dgemm dgemm;
  memcpy(&dgemm, &symbol, sizeof(dgemm));
  const size_t cells = (size_t)size * (size_t)size;
  double* a = malloc(cells * sizeof(double));
  double* b = malloc(cells * sizeof(double));
  double* c = calloc(cells, sizeof(double));
  for (size_t i = 0; i < cells; ++i) {
    a[i] = (double)(i * 7919 % 1009) / 1009;
    b[i] = (double)(i * 104729 % 997) / 997;
  }
  const double alpha = 1.0 / size, beta = 0.5;
  for (int round = 0; round < atoi(argv[3]); ++round) {
    dgemm("N", round % 2 ? "T" : "N", &size, &size, &size, &alpha, a, &size, b, &size, &beta, c,
          &size);
  }
  printf("%016llx\n", (unsigned long long)Bits(c, cells));
  return 0;
}
