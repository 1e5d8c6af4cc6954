#include "base/zstd_stream.h"

#include <dlfcn.h>

#include <new>
#include <string>

#include "base/shared_library.h"

namespace hbbp {
namespace {

Status Unusable(const std::string& why) {
  return Status(StatusCode::kUnsupported, "what zstd has compressed needs libzstd, " + why +
                                              "; install it (Debian: libzstd1)");
}

}  // namespace

StatusOr<Libzstd> LoadLibzstdFrom(const char* file) {
  const StatusOr<void*> loaded = LoadSharedLibrary(file);
  if (!loaded.ok()) {
    return Unusable("which cannot be loaded (" + loaded.status().message() + ")");
  }
  void* const library = *loaded;
  Libzstd zstd;
#define HBBP_LIBZSTD_FIND(name)                                                             \
  zstd.name##_ = reinterpret_cast<decltype(zstd.name##_)>(::dlsym(library, "ZSTD_" #name)); \
  if (zstd.name##_ == nullptr) return Unusable("which lacks ZSTD_" #name);
  HBBP_LIBZSTD_FUNCTIONS(HBBP_LIBZSTD_FIND)
#undef HBBP_LIBZSTD_FIND
  return zstd;
}

StatusOr<const Libzstd*> LoadLibzstd() {
  static const StatusOr<Libzstd> loaded = LoadLibzstdFrom("libzstd.so.1");
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

ZstdStream::ZstdStream(const Libzstd& zstd)
    : zstd_(zstd), context_(zstd.createDCtx_(), zstd.freeDCtx_) {
  if (context_ == nullptr) throw std::bad_alloc();
  block_.resize(zstd.DStreamOutSize_());
}

}  // namespace hbbp
