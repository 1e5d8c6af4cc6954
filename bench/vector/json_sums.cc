// json_sums IMPLEMENTATION FILE ROUNDS: parses JSON and checks UTF-8 by the code of simdjson for
// one kind of processor (westmere: SSE4.2, haswell: AVX2, icelake: AVX-512). Prints the sum of the
// numbers and lengths found.
#include <simdjson.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

static uint64_t Sum(simdjson::dom::element element) {
  using simdjson::dom::element_type;
  uint64_t sum = 0;
  switch (element.type()) {
    case element_type::ARRAY:
      for (simdjson::dom::element child : element.get_array()) sum = sum * 31 + Sum(child);
      return sum;
    case element_type::OBJECT:
      for (const auto& [key, value] : element.get_object())
        sum = sum * 31 + key.size() + Sum(value);
      return sum;
    case element_type::STRING:
      return std::string_view(element.get_string()).size();
    case element_type::INT64:
      return static_cast<uint64_t>(int64_t(element.get_int64()));
    case element_type::DOUBLE:
      return static_cast<uint64_t>(double(element.get_double()) * 1000);
    default:
      return 1;
  }
}

int main(int argc, char** argv) {
  if (argc < 4) return 99;
  const auto* implementation = simdjson::get_available_implementations()[argv[1]];
  if (implementation == nullptr || !implementation->supported_by_runtime_system()) return 77;
  simdjson::get_active_implementation() = implementation;
  const simdjson::padded_string text = simdjson::padded_string::load(argv[2]);
  uint64_t sum = 0;
  for (int round = 0; round < std::atoi(argv[3]); ++round) {
    simdjson::dom::parser parser;
    sum = sum * 31 + Sum(parser.parse(text));
    sum += simdjson::validate_utf8(text.data(), text.size()) ? 1 : 0;
  }
  std::printf("%016llx\n", static_cast<unsigned long long>(sum));
}
