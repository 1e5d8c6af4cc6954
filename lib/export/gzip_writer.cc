#include "export/gzip_writer.h"

#include <dlfcn.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "base/shared_library.h"

namespace hbbp {
namespace {

// Is loaded for the reasons in symbols/libdw.h; libelf needs it, so it is installed.
struct Zlib {
  decltype(&::deflateInit2_) init = nullptr;
  decltype(&::deflate) deflate = nullptr;
  decltype(&::deflateEnd) end = nullptr;
};

const Zlib* LoadZlib() {
  static const std::optional<Zlib> loaded = []() -> std::optional<Zlib> {
    const StatusOr<void*> library = LoadSharedLibrary("libz.so.1");
    if (!library.ok()) return std::nullopt;
    Zlib zlib;
    zlib.init = reinterpret_cast<decltype(zlib.init)>(::dlsym(*library, "deflateInit2_"));
    zlib.deflate = reinterpret_cast<decltype(zlib.deflate)>(::dlsym(*library, "deflate"));
    zlib.end = reinterpret_cast<decltype(zlib.end)>(::dlsym(*library, "deflateEnd"));
    if (zlib.init == nullptr || zlib.deflate == nullptr || zlib.end == nullptr) return std::nullopt;
    return zlib;
  }();
  return loaded ? &*loaded : nullptr;
}

}  // namespace

class GzipWriter::Stream {
 public:
  explicit Stream(const Zlib* zlib) : zlib_(zlib) {
    constexpr int kLevel = 1;  // level 6 takes three times as long, for 7 % less
    constexpr int kLargestWindow = 15, kGzip = 16, kMemoryLevel = 8;
    if (zlib_->init(&state_, kLevel, Z_DEFLATED, kLargestWindow + kGzip, kMemoryLevel,
                    Z_DEFAULT_STRATEGY, ZLIB_VERSION, sizeof(state_)) != Z_OK) {
      throw std::bad_alloc();
    }
  }
  ~Stream() { zlib_->end(&state_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void Write(std::string_view bytes, int flush, ExportSink* sink) {
    state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    state_.avail_in = static_cast<uInt>(bytes.size());
    do {
      state_.next_out = reinterpret_cast<Bytef*>(out_.data());
      state_.avail_out = static_cast<uInt>(out_.size());
      zlib_->deflate(&state_, flush);
      sink->Write({out_.data(), out_.size() - state_.avail_out});
    } while (state_.avail_out == 0);
  }

 private:
  const Zlib* const zlib_;
  z_stream state_ = {};
  std::array<char, 1 << 15> out_;
};

GzipWriter::GzipWriter(ExportSink* sink) : sink_(sink) {
  if (const Zlib* const zlib = LoadZlib()) stream_ = std::make_unique<Stream>(zlib);
}

GzipWriter::~GzipWriter() = default;

void GzipWriter::Write(std::string_view bytes) {
  if (stream_ == nullptr) return sink_->Write(bytes);
  constexpr size_t kPiece = 1 << 30;  // zlib counts in 32 bits
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kPiece))) {
    stream_->Write(bytes.substr(0, kPiece), Z_NO_FLUSH, sink_);
  }
}

void GzipWriter::Finish() {
  if (stream_ != nullptr) stream_->Write({}, Z_FINISH, sink_);
}

}  // namespace hbbp
