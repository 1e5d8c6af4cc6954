#include "base/shared_library.h"

#include <dlfcn.h>
#include <link.h>

namespace hbbp {
namespace {

bool IsStaticProgram() {
  const auto find_loader = [](dl_phdr_info* program, size_t, void*) {
    for (int i = 0; i < program->dlpi_phnum; ++i) {
      if (program->dlpi_phdr[i].p_type == PT_INTERP) return 1;
    }
    return 2;  // the program comes first, and libraries do not matter
  };
  return ::dl_iterate_phdr(find_loader, nullptr) == 2;
}

}  // namespace

StatusOr<void*> LoadSharedLibrary(const char* file) {
  if (IsStaticProgram()) {
    return MakeStatus(StatusCode::kUnsupported, "a static program loads no libraries");
  }
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return MakeStatus(StatusCode::kUnsupported, "%s", ::dlerror());
  return library;
}

}  // namespace hbbp
