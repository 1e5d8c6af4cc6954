#include "format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>

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

std::string Plural(uint64_t count, const char* one, const char* many) {
  return FormatCount(count) + " " + (count == 1 ? one : many);
}

MeasuredText FormatMeasured(double value, double error) {
  if (!std::isfinite(value) || !std::isfinite(error) || error < 1) {
    return {FormatCount(value), FormatCount(error)};
  }
  static constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P", " E"};
  const double larger = std::max(std::fabs(value), error);
  size_t unit = 0;
  double scale = 1;
  // 999.95 k would be printed as 1000.0 k.
  while (larger / scale >= 999.5 && unit + 1 < std::size(kUnits)) {
    scale *= 1000;
    ++unit;
  }
  const int max_decimals = static_cast<int>(3 * unit);
  const int decimals =
      std::clamp(1 - static_cast<int>(std::floor(std::log10(error / scale))), 0, max_decimals);
  // 1,234,567 ± 12 reads better than 1.234567 M ± 0.000012 M.
  if (decimals > 3) return {FormatCount(value), FormatCount(error)};
  const auto text = [&](double number) {
    char digits[400];
    const int size = std::snprintf(digits, sizeof digits, "%.*f", decimals, number / scale);
    return std::string(digits, static_cast<size_t>(size)) + kUnits[unit];
  };
  return {text(value), text(error)};
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

std::string ShortPaths::Of(std::string_view path) const {
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

size_t DisplayWidth(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace hbbp::tools
