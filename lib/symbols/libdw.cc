#include "symbols/libdw.h"

#include <dlfcn.h>

#include <string>

#include "base/shared_library.h"

namespace hbbp {
namespace {

Status Unusable(const std::string& why) {
  return Status(StatusCode::kUnsupported,
                "source lines need libdw of elfutils, " + why + "; install it (Debian: libdw1)");
}

}  // namespace

StatusOr<Libdw> LoadLibdwFrom(const char* file) {
  // The library is never closed: its handles live as long as profiles do.
  const StatusOr<void*> loaded = LoadSharedLibrary(file);
  if (!loaded.ok()) {
    return Unusable("which cannot be loaded (" + loaded.status().message() + ")");
  }
  void* const library = *loaded;
  Libdw libdw;
#define HBBP_LIBDW_FIND(name)                                                                  \
  libdw.name##_ = reinterpret_cast<decltype(libdw.name##_)>(::dlsym(library, "dwarf_" #name)); \
  if (libdw.name##_ == nullptr) return Unusable("which lacks dwarf_" #name);
  HBBP_LIBDW_FUNCTIONS(HBBP_LIBDW_FIND)
#undef HBBP_LIBDW_FIND
  // This is the function of the libelf that libdw was loaded with.
  const auto version = reinterpret_cast<decltype(&::elf_version)>(::dlsym(library, "elf_version"));
  if (version == nullptr || version(EV_CURRENT) == EV_NONE) {
    return Unusable("whose libelf is too old");
  }
  return libdw;
}

StatusOr<const Libdw*> LoadLibdw() {
  static const StatusOr<Libdw> loaded = LoadLibdwFrom("libdw.so.1");
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

}  // namespace hbbp
