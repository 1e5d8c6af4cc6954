// ZstdStream decompresses one zstd stream that arrives in parts.
//
// libzstd is loaded when the first stream is created: only recordings of `perf record -z` and some
// debug files need it, and hosts of libhbbp that read none need not have it.
#ifndef HBBP_LIB_BASE_ZSTD_STREAM_H_
#define HBBP_LIB_BASE_ZSTD_STREAM_H_

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"

// Lists every function that is used, without its prefix.
#define HBBP_LIBZSTD_FUNCTIONS(X) \
  X(createDCtx)                   \
  X(freeDCtx)                     \
  X(DCtx_reset)                   \
  X(DStreamOutSize)               \
  X(decompressStream)             \
  X(isError)                      \
  X(getErrorName)

namespace hbbp {

struct Libzstd {
#define HBBP_LIBZSTD_MEMBER(name) decltype(&::ZSTD_##name) name##_ = nullptr;
  HBBP_LIBZSTD_FUNCTIONS(HBBP_LIBZSTD_MEMBER)
#undef HBBP_LIBZSTD_MEMBER
};

// Returns kUnsupported if it is not installed or lacks a function. Any thread may call it.
StatusOr<const Libzstd*> LoadLibzstd();
// Does the same with another file, for tests.
StatusOr<Libzstd> LoadLibzstdFrom(const char* file);

class ZstdStream {
 public:
  explicit ZstdStream(const Libzstd& zstd);

  // Calls `visit(std::span<const uint8_t>)` with what `part` adds, a block at a time. After an
  // error the stream starts anew.
  template <typename Visitor>
  Status Decompress(std::span<const uint8_t> part, Visitor&& visit) {
    ZSTD_inBuffer input = {part.data(), part.size(), 0};
    ZSTD_outBuffer output;
    do {
      output = {block_.data(), block_.size(), 0};
      const size_t result = zstd_.decompressStream_(context_.get(), &output, &input);
      if (output.pos != 0) visit(std::span<const uint8_t>(block_.data(), output.pos));
      if (zstd_.isError_(result) != 0) {
        zstd_.DCtx_reset_(context_.get(), ZSTD_reset_session_only);
        return MakeStatus(StatusCode::kBadFormat, "zstd: %s", zstd_.getErrorName_(result));
      }
    } while (input.pos < input.size || output.pos == output.size);
    return OkStatus();
  }

 private:
  const Libzstd& zstd_;
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_;
  std::vector<uint8_t> block_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_BASE_ZSTD_STREAM_H_
