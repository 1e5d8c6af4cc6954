// GzipWriter compresses what is written to a sink, if zlib is there.
#ifndef HBBP_LIB_EXPORT_GZIP_WRITER_H_
#define HBBP_LIB_EXPORT_GZIP_WRITER_H_

#include <memory>
#include <string_view>

#include "export/export_sink.h"

namespace hbbp {

class GzipWriter {
 public:
  explicit GzipWriter(ExportSink* sink);
  ~GzipWriter();

  // Returns false if zlib cannot be loaded; what is written then arrives as it is.
  bool compresses() const { return stream_ != nullptr; }

  void Write(std::string_view bytes);
  // Must be called after the last Write.
  void Finish();

 private:
  class Stream;

  ExportSink* const sink_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_GZIP_WRITER_H_
