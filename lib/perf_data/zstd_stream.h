// ZstdStream: one zstd stream that arrives in parts.
#ifndef HBBP_LIB_PERF_DATA_ZSTD_STREAM_H_
#define HBBP_LIB_PERF_DATA_ZSTD_STREAM_H_

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hbbp {

class ZstdStream {
 public:
  ZstdStream();

  // Calls `visit(std::span<const uint8_t>)` with what `part` adds, a block at a time. What went
  // wrong, or nullptr; after an error the stream starts anew.
  template <typename Visitor>
  const char* Decompress(std::span<const uint8_t> part, Visitor&& visit) {
    ZSTD_inBuffer input = {part.data(), part.size(), 0};
    ZSTD_outBuffer output;
    do {
      output = {block_.data(), block_.size(), 0};
      const size_t result = ZSTD_decompressStream(context_.get(), &output, &input);
      if (output.pos != 0) visit(std::span<const uint8_t>(block_.data(), output.pos));
      if (ZSTD_isError(result) != 0) {
        ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
        return ZSTD_getErrorName(result);
      }
    } while (input.pos < input.size || output.pos == output.size);
    return nullptr;
  }

 private:
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context_;
  std::vector<uint8_t> block_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_ZSTD_STREAM_H_
