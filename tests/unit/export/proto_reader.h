// Decodes messages of Protocol Buffers, for tests, independently of what encodes them.
#ifndef HBBP_TESTS_UNIT_EXPORT_PROTO_READER_H_
#define HBBP_TESTS_UNIT_EXPORT_PROTO_READER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.h"

namespace hbbp {

inline uint64_t TakeVarint(std::string_view* bytes) {
  uint64_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    REQUIRE_FALSE(bytes->empty());
    const auto byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    number |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return number;
    REQUIRE(shift < 63);
  }
}

struct ProtoFields {
  std::map<uint32_t, std::vector<uint64_t>> numbers;      // by field
  std::map<uint32_t, std::vector<std::string>> contents;  // of strings, messages, packed fields

  uint64_t Number(uint32_t field) const {
    const auto found = numbers.find(field);
    if (found == numbers.end()) return 0;
    REQUIRE(found->second.size() == 1);
    return found->second.front();
  }
  std::vector<uint64_t> Packed(uint32_t field) const {
    const auto found = contents.find(field);
    if (found == contents.end()) return {};
    std::vector<uint64_t> all;
    for (std::string_view rest : found->second) {
      while (!rest.empty()) all.push_back(TakeVarint(&rest));
    }
    return all;
  }
  const std::vector<std::string>& All(uint32_t field) const {
    static const std::vector<std::string> none;
    const auto found = contents.find(field);
    return found == contents.end() ? none : found->second;
  }
};

inline ProtoFields ReadProto(std::string_view bytes) {
  ProtoFields fields;
  while (!bytes.empty()) {
    const uint64_t key = TakeVarint(&bytes);
    const auto field = static_cast<uint32_t>(key >> 3);
    const uint64_t type = key & 7, number = TakeVarint(&bytes);
    if (type == 0) {
      fields.numbers[field].push_back(number);
      continue;
    }
    REQUIRE(type == 2);
    REQUIRE(number <= bytes.size());
    fields.contents[field].emplace_back(bytes.substr(0, number));
    bytes.remove_prefix(number);
  }
  return fields;
}

}  // namespace hbbp

#endif  // HBBP_TESTS_UNIT_EXPORT_PROTO_READER_H_
