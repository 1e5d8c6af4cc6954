// The belief is __libc_single_threaded, which pthread_create clears. Since glibc 2.36 the C library
// itself goes by it on this architecture.
#include "preload/libc_threads.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <pty.h>
#include <string.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "preload/image_profile.h"

#define HBBP_INTERPOSE __attribute__((visibility("default")))

// This library must not believe it. The C++ library is static in it, and asks this variable
// whether counters of references need atomic instructions.
extern "C" char __libc_single_threaded;
char __libc_single_threaded = 0;  // NOLINT(bugprone-reserved-identifier): its name

namespace hbbp::preload {
namespace {

// They are two variables where the program has a copy for its own code. Null: it is not possible.
char* of_c_library = nullptr;
char* of_program = nullptr;

bool GoesByFlag() {
  char* end;
  const long major = std::strtol(::gnu_get_libc_version(), &end, 10);
  const long minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
  return major > 2 || (major == 2 && minor >= 36);
}

struct Range {
  uint64_t begin = 0, end = 0;
  bool Contains(uint64_t address) const { return address >= begin && address < end; }
};

// The code that our calls may lead to.
struct OwnLibraries {
  Range c_library, this_library, decoder;
};

bool IsNamed(const char* path, const char* name) {
  const char* const slash = ::strrchr(path, '/');
  const char* const file = slash == nullptr ? path : slash + 1;
  return ::strncmp(file, name, ::strlen(name)) == 0;
}

int AddLibrary(dl_phdr_info* info, size_t, void* result) {
  auto* const libraries = static_cast<OwnLibraries*>(result);
  Range range;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    range.begin = info->dlpi_addr + header.p_vaddr;
    range.end = range.begin + header.p_memsz;
  }
  if (range.Contains(reinterpret_cast<uint64_t>(&AddLibrary))) libraries->this_library = range;
  if (IsNamed(info->dlpi_name, "libc.so.6")) libraries->c_library = range;
  if (IsNamed(info->dlpi_name, "libZydis.so")) libraries->decoder = range;
  return 0;
}

// Returns whether the functions that this library calls are those of the C library. All were bound
// when it was loaded.
bool CallsOnlyTheCLibrary() {
  OwnLibraries libraries;
  ::dl_iterate_phdr(&AddLibrary, &libraries);
  link_map* own = nullptr;
  Dl_info info;
  if (::dladdr1(reinterpret_cast<const void*>(&AddLibrary), &info, reinterpret_cast<void**>(&own),
                RTLD_DL_LINKMAP) == 0) {
    return false;
  }
  const ElfW(Sym)* symbols = nullptr;
  const ElfW(Rela) * relocations[2] = {};
  size_t bytes[2] = {};
  for (const ElfW(Dyn)* entry = own->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto address = reinterpret_cast<const void*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) symbols = static_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_JMPREL) relocations[0] = static_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_RELA) relocations[1] = static_cast<const ElfW(Rela)*>(address);
    if (entry->d_tag == DT_PLTRELSZ) bytes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELASZ) bytes[1] = entry->d_un.d_val;
  }
  for (int table = 0; table < 2; ++table) {
    for (size_t i = 0; i < bytes[table] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& relocation = relocations[table][i];
      const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(relocation.r_info)];
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      const uint64_t target = *reinterpret_cast<const uint64_t*>(own->l_addr + relocation.r_offset);
      if (target != 0 && !libraries.c_library.Contains(target) &&
          !libraries.this_library.Contains(target) && !libraries.decoder.Contains(target)) {
        return false;
      }
    }
  }
  return true;
}

__attribute__((constructor(101))) void LookUpFlag() {
  if (of_program != nullptr || !GoesByFlag() || !CallsOnlyTheCLibrary()) return;
  void* const library = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  of_c_library = static_cast<char*>(::dlsym(library, "__libc_single_threaded"));
  ::dlclose(library);
  of_program = static_cast<char*>(::dlsym(RTLD_DEFAULT, "__libc_single_threaded"));
}

void SetHasOneThread(bool value) { *of_c_library = *of_program = value ? 1 : 0; }

}  // namespace

bool ScopedThreadBelief::IsPossible() {
  return of_c_library != nullptr && of_program != nullptr && IsImageHere();
}

bool ScopedThreadBelief::HasOneThread() { return IsPossible() && *of_c_library != 0; }

ScopedThreadBelief::ScopedThreadBelief()
    : is_possible_(IsPossible()), had_one_thread_(HasOneThread()) {}

ScopedThreadBelief::ScopedThreadBelief(bool has_one_thread) : ScopedThreadBelief() {
  if (is_possible_) SetHasOneThread(has_one_thread);
}

ScopedThreadBelief::~ScopedThreadBelief() {
  if (!is_possible_ || had_one_thread_ == HasOneThread()) return;
  // Handlers of fork may have made threads.
  if (!had_one_thread_ || ProgramHasOneThread()) SetHasOneThread(had_one_thread_);
}

namespace {

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Calls the next function of that name, which forks: the child forgets a thread only that the C
// library knows of.
template <typename Function, typename... Arguments>
auto CallAsTwoThreads(const char* name, Arguments... arguments) {
  const ScopedThreadBelief belief(false);
  return Next<Function>(name)(arguments...);
}

}  // namespace
}  // namespace hbbp::preload

#define HBBP_CALL_AS_TWO_THREADS(function, ...) \
  return hbbp::preload::CallAsTwoThreads<decltype(::function)>(#function, __VA_ARGS__)

extern "C" {

HBBP_INTERPOSE int daemon(int keeps_directory, int keeps_files) noexcept {
  HBBP_CALL_AS_TWO_THREADS(daemon, keeps_directory, keeps_files);
}

HBBP_INTERPOSE int forkpty(int* terminal, char* name, const termios* settings,
                           const winsize* size) noexcept {
  HBBP_CALL_AS_TWO_THREADS(forkpty, terminal, name, settings, size);
}

}  // extern "C"
