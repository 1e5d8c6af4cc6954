// load_libraries LIBRARY ROUNDS: calls dlopen, works in the library, calls dlclose, and maps other
// code at its address. Checks that each load starts with fresh data; prints the sum.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/mman.h>

#include "spin.h"

typedef uint64_t (*WorkFunction)(uint64_t seed, long rounds);

int main(int argc, char** argv) {
  if (argc < 2) return kUsage;
  const long rounds = Argument(argc, argv, 2, 300);
  uint64_t sum = 0, first = 0;
  for (long round = 0; round < rounds; ++round) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return kHarmed;
    }
    void* symbol = dlsym(library, "LoadedWork");
    WorkFunction work;
    __builtin_memcpy(&work, &symbol, sizeof(work));
    const uint64_t of_first_call = work(7, 50000);
    if (round == 0) first = of_first_call;
    if (of_first_call != first) return kHarmed;
    sum += work((uint64_t)round, 50000);
    if (dlclose(library) != 0) return kHarmed;
    sum += Spin((uint64_t)round, 20000);
    void* filler = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (round % 2 == 0 && filler != MAP_FAILED) munmap(filler, 1 << 16);
  }
  Print("sum", sum);
  return 0;
}
