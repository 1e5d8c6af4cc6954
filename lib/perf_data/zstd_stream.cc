#include "perf_data/zstd_stream.h"

#include <new>

namespace hbbp {

ZstdStream::ZstdStream() : context_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {
  if (context_ == nullptr) throw std::bad_alloc();
  block_.resize(ZSTD_DStreamOutSize());
}

}  // namespace hbbp
