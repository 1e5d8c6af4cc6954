#include "perf_data/bpf_programs.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "support/catch.h"

namespace hbbp {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kAddress = 0xffffffffc002204c;
constexpr uint64_t kAllArrays = 0x1f9;  // as perf 6.1 reads them
constexpr size_t kInfoBytes = 232;      // of Linux 6.1

template <typename T>
void Append(T value, Bytes* bytes) {
  const auto* raw = reinterpret_cast<const uint8_t*>(&value);
  bytes->insert(bytes->end(), raw, raw + sizeof(value));
}

template <typename T>
void Put(T value, size_t at, Bytes* bytes) {
  std::memcpy(bytes->data() + at, &value, sizeof(value));
}

// Appends a program of these functions as perf has it.
void AppendProgram(const std::vector<BpfFunction>& functions, Bytes* bytes,
                   uint64_t arrays = kAllArrays, size_t info_bytes = kInfoBytes) {
  Bytes info(kInfoBytes), data;
  for (const BpfFunction& function : functions) {
    data.insert(data.end(), function.code.begin(), function.code.end());
  }
  const auto count = static_cast<uint32_t>(functions.size());
  Put(static_cast<uint32_t>(data.size()), 16, &info);
  data.resize((data.size() + 7) / 8 * 8);
  Put(count, 104, &info);
  Put(count, 108, &info);
  Put(uint64_t{data.size()}, 112, &info);
  for (const BpfFunction& function : functions) Append(function.address, &data);
  Put(uint64_t{data.size()}, 120, &info);
  for (const BpfFunction& function : functions) {
    Append(static_cast<uint32_t>(function.code.size()), &data);
  }
  data.resize((data.size() + 7) / 8 * 8);
  info.resize(info_bytes);
  Append(static_cast<uint32_t>(info.size()), bytes);
  Append(static_cast<uint32_t>(data.size()), bytes);
  Append(arrays, bytes);
  bytes->insert(bytes->end(), info.begin(), info.end());
  bytes->insert(bytes->end(), data.begin(), data.end());
}

Bytes Programs(uint32_t count) {
  Bytes bytes;
  Append(count, &bytes);
  return bytes;
}

const std::vector<BpfFunction> kFunctions = {{kAddress, {0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3}},
                                             {kAddress + 64, {0x31, 0xc0, 0xc3}}};

TEST_CASE("functions of BPF programs have their addresses and code") {
  Bytes bytes = Programs(3);
  AppendProgram({kFunctions[0], kFunctions[1]}, &bytes);
  AppendProgram({{kAddress + 128, {0xcc}}}, &bytes);
  AppendProgram({}, &bytes);
  std::vector<BpfFunction> functions;
  REQUIRE(ParseBpfPrograms(bytes, ByteOrder::kNative, &functions));
  CHECK(functions ==
        std::vector<BpfFunction>{kFunctions[0], kFunctions[1], {kAddress + 128, {0xcc}}});
}

TEST_CASE("BPF programs without code, or whose addresses are hidden or not known, are left out") {
  Bytes bytes = Programs(4);
  AppendProgram(kFunctions, &bytes, kAllArrays & ~uint64_t{1});  // its offsets are pointers
  AppendProgram({{0, {0xc3}}, {kAddress, {}}}, &bytes);
  AppendProgram(kFunctions, &bytes, kAllArrays, 104);
  AppendProgram({kFunctions[1]}, &bytes);
  std::vector<BpfFunction> functions;
  REQUIRE(ParseBpfPrograms(bytes, ByteOrder::kNative, &functions));
  CHECK(functions == std::vector<BpfFunction>{kFunctions[1]});
}

TEST_CASE("no byte of BPF programs makes reading them unsafe, and what is cut off is refused") {
  Bytes whole = Programs(2);
  AppendProgram(kFunctions, &whole);
  AppendProgram({kFunctions[1]}, &whole);
  std::vector<BpfFunction> functions;
  for (size_t size = 0; size < whole.size(); ++size) {
    functions.clear();
    // The copy has exactly that size.
    const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    CHECK_FALSE(ParseBpfPrograms(cut, ByteOrder::kNative, &functions));
    CHECK(functions.size() <= 2);
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      Bytes bytes = whole;
      bytes[i] = value;
      functions.clear();
      (void)ParseBpfPrograms(bytes, ByteOrder::kNative, &functions);
      for (const BpfFunction& function : functions) CHECK(function.code.size() <= whole.size());
    }
  }
}

}  // namespace
}  // namespace hbbp
