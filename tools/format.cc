#include "format.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/linux_constants.h"
#include "symbols/demangle.h"

namespace hbbp::tools {
namespace {

std::string SeparateThousands(std::string digits) {
  const size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string Printed(const char* format, double value) {
  char text[400];
  const int size = std::snprintf(text, sizeof text, format, value);
  return std::string(text, static_cast<size_t>(size));
}

}  // namespace

std::string FormatCount(uint64_t count) { return SeparateThousands(std::to_string(count)); }

std::string FormatCount(double count) {
  if (!std::isfinite(count)) return "-";
  return SeparateThousands(Printed("%.0f", count));
}

std::string FormatShare(double share) {
  if (!std::isfinite(share)) return "-";
  return Printed("%.2f %%", share * 100);
}

std::string FormatFactor(double factor) { return Printed("%.4g", factor); }

std::string FormatDuration(uint64_t nanoseconds) {
  const double value = static_cast<double>(nanoseconds);
  if (nanoseconds >= 1'000'000'000) return Printed("%.3f s", value * 1e-9);
  if (nanoseconds >= 1'000'000) return Printed("%.1f ms", value * 1e-6);
  if (nanoseconds >= 1'000) return Printed("%.0f us", value * 1e-3);
  return Printed("%.0f ns", value);
}

std::string FormatAddress(uint64_t address) {
  char text[16];
  const auto end = std::to_chars(text, text + sizeof text, address, 16).ptr;
  return "0x" + std::string(text, end);
}

std::string FormatHex(const uint8_t* bytes, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * size);
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::string FormatExact(double number) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  return std::string(text, end);
}

std::string Demangle(const char* symbol) { return hbbp::Demangle(symbol); }

std::string_view BaseName(std::string_view path) {
  path = WithoutDeletedSuffix(path);
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string ShortNames::Of(std::string_view path) const {
  const std::string_view name = BaseName(path);
  const auto same = paths_.find(name);
  return std::string(same != paths_.end() && same->second.size() > 1 ? path : name);
}

std::string Printable(std::string_view text) {
  std::string printable;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // In UTF-8, U+0080 to U+009F are two bytes. U+009B starts escape sequences like ESC [.
    const bool is_c1 = c == '\xc2' && i + 1 < text.size() && (text[i + 1] & 0xe0) == 0x80;
    if (is_c1) {
      printable += '?';
      ++i;
    } else if (c == '\t') {
      printable.append(4 - printable.size() % 4, ' ');
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      printable += c == '\r' ? ' ' : '?';
    } else {
      printable += c;
    }
  }
  printable.erase(printable.find_last_not_of(' ') + 1);
  return printable;
}

}  // namespace hbbp::tools
