// ExportSink collects what a writer of an export format writes, and hands it to the host in pieces.
#ifndef HBBP_LIB_EXPORT_EXPORT_SINK_H_
#define HBBP_LIB_EXPORT_EXPORT_SINK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace hbbp {

class ExportSink {
 public:
  // Is called with each piece, in order. After an error it is not called again.
  using Take = std::function<Status(std::string_view piece)>;
  explicit ExportSink(Take take) : take_(std::move(take)) {}

  void Write(std::string_view bytes);
  void WriteNumber(uint64_t number);
  void WriteHex(uint64_t number);
  // Writes with as many digits as it takes to read the number back exactly.
  void WriteReal(double number);
  // Writes as printf does, up to a kilobyte.
  void Print(const char* format, ...) __attribute__((format(printf, 2, 3)));

  // Hands over the rest. Returns the first error of the host.
  Status Finish();

 private:
  void HandOver();

  const Take take_;
  std::string buffer_;
  Status status_;
};

// Returns a count as a whole number, which is not 0 unless the count is: readers take 0 as never
// executed.
uint64_t WholeCount(double count);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_EXPORT_SINK_H_
