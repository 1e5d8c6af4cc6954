#include "probe/lackey_trace.h"

#include <charconv>

namespace hbbp::tools {
namespace {

// Reads "0401ab70,3".
bool ReadAccess(std::string_view text, uint64_t* address, uint64_t* size) {
  const char* const end = text.data() + text.size();
  const auto [comma, address_error] = std::from_chars(text.data(), end, *address, 16);
  if (address_error != std::errc() || comma == end || *comma != ',') return false;
  const auto [stop, size_error] = std::from_chars(comma + 1, end, *size);
  return size_error == std::errc() && stop == end;
}

}  // namespace

void LackeyTrace::Feed(std::string_view text) {
  while (true) {
    const size_t end = text.find('\n');
    if (end == text.npos) break;
    if (partial_line_.empty()) {
      ReadLine(text.substr(0, end));
    } else {
      partial_line_ += text.substr(0, end);
      ReadLine(partial_line_);
      partial_line_.clear();
    }
    text.remove_prefix(end + 1);
  }
  partial_line_ += text;
}

void LackeyTrace::ReadLine(std::string_view line) {
  uint64_t address = 0;
  uint64_t size = 0;
  const bool is_access = line.size() > 3 && (line[0] == 'I' || line[0] == ' ') && line[2] == ' ' &&
                         ReadAccess(line.substr(3), &address, &size);
  if (is_access && line[0] == 'I') {
    if (has_step_) {
      step_.next = address;
      on_step_(step_);
    }
    step_ = {address, 0, 0, 0};
    has_step_ = true;
  } else if (is_access && (line[1] == 'L' || line[1] == 'S' || line[1] == 'M')) {
    if (step_.size == 0) {
      step_.address = address;
      step_.size = size;
    }
  } else {
    last_message_ = line;
  }
}

void LackeyTrace::Finish() {
  if (has_step_) on_step_(step_);
  has_step_ = false;
}

}  // namespace hbbp::tools
