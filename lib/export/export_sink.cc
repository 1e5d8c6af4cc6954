#include "export/export_sink.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace hbbp {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

}  // namespace

void ExportSink::Write(std::string_view bytes) {
  buffer_ += bytes;
  if (buffer_.size() >= kPieceBytes) HandOver();
}

void ExportSink::WriteNumber(uint64_t number) {
  char digits[20];
  Write({digits, std::to_chars(digits, digits + sizeof(digits), number).ptr});
}

void ExportSink::WriteHex(uint64_t number) {
  char digits[16];
  Write({digits, std::to_chars(digits, digits + sizeof(digits), number, 16).ptr});
}

void ExportSink::WriteReal(double number) {
  char text[32];
  Write({text, std::to_chars(text, text + sizeof(text), number).ptr});
}

void ExportSink::Print(const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  const int size = std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (size > 0) Write({text, std::min(static_cast<size_t>(size), sizeof(text) - 1)});
}

Status ExportSink::Finish() {
  HandOver();
  return status_;
}

void ExportSink::HandOver() {
  if (status_.ok() && !buffer_.empty()) status_ = take_(buffer_);
  buffer_.clear();
}

uint64_t WholeCount(double count) {
  constexpr double kMax = 9e18;
  if (!(count > 0)) return 0;
  return static_cast<uint64_t>(std::clamp(std::round(count), 1.0, kMax));
}

}  // namespace hbbp
