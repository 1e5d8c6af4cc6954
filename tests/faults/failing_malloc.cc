// A library to be preloaded, which makes one allocation of libhbbp-preload in the program fail, or
// all from one on. An allocation belongs to that library if its code requests it, or its worker
// does.
//
//   HBBP_FAULT_NTH     which one, counted from 1; 0: none
//   HBBP_FAULT_ON      if set, all later ones too
//   HBBP_FAULT_REPORT  a file that gets a line for each process: how many failed
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

std::atomic<uint64_t> begin{0}, end{0};
std::atomic<long> allocations{0}, failed{0};
std::atomic<long> nth{-1};
std::atomic<bool> fails_on{false};

int FindLibrary(dl_phdr_info* info, size_t, void*) {
  if (strstr(info->dlpi_name, "libhbbp-preload") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    begin = info->dlpi_addr + header.p_vaddr;
    end = begin + header.p_memsz;
  }
  return 1;
}

// The constructor runs before those of the library.
void ReadSettings() {
  const char* const number = getenv("HBBP_FAULT_NTH");
  fails_on = getenv("HBBP_FAULT_ON") != nullptr;
  dl_iterate_phdr(&FindLibrary, nullptr);
  nth = number == nullptr ? 0 : atol(number);
}

bool IsOfWorker() {
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  return strcmp(name, "hbbp-worker") == 0;
}

bool Fails(const void* caller) {
  if (nth < 0) ReadSettings();
  const auto address = reinterpret_cast<uint64_t>(caller);
  if ((address < begin || address >= end) && !IsOfWorker()) return false;
  const long number = ++allocations;
  if (nth == 0 || number < nth || (number > nth && !fails_on)) return false;
  ++failed;
  errno = ENOMEM;
  return true;
}

__attribute__((destructor)) void Report() {
  const char* const file = getenv("HBBP_FAULT_REPORT");
  if (file == nullptr || begin == 0) return;
  char line[64];
  const int length =
      snprintf(line, sizeof(line), "%ld of %ld\n", failed.load(), allocations.load());
  const int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return;
  (void)!write(fd, line, static_cast<size_t>(length));
  close(fd);
}

}  // namespace

extern "C" {

void* malloc(size_t size) noexcept {
  return Fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) noexcept {
  return Fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) noexcept {
  return Fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) noexcept {
  return Fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return Fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  void* const result =
      Fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
  if (result == nullptr) return ENOMEM;
  *memory = result;
  return 0;
}

}  // extern "C"
