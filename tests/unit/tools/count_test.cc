#include <array>
#include <string>
#include <vector>

#include "count/address_table.h"
#include "support/catch.h"
#include "truth/instruction_kind.h"

namespace hbbp::tools {
namespace {

InstructionKind KindOf(const std::vector<uint8_t>& bytes) { return ClassifyInstruction(bytes); }

TEST_CASE("count: string instructions repeat with a rep prefix, wherever it stands") {
  CHECK(KindOf({0xf3, 0xa4}) == InstructionKind::kRepeatedString);        // rep movsb
  CHECK(KindOf({0xf3, 0x48, 0xab}) == InstructionKind::kRepeatedString);  // rep stosq
  CHECK(KindOf({0x66, 0xf3, 0xa5}) == InstructionKind::kRepeatedString);  // rep movsw
  CHECK(KindOf({0xf2, 0xae}) == InstructionKind::kRepeatedString);        // repne scasb
  CHECK(KindOf({0xf3, 0x6e}) == InstructionKind::kRepeatedString);        // rep outsb
  CHECK(KindOf({0xa4}) == InstructionKind::kOrdinary);                    // movsb
  CHECK(KindOf({0xf3, 0x0f, 0x10, 0xc1}) == InstructionKind::kOrdinary);  // movss
  CHECK(KindOf({0xf3, 0xc3}) == InstructionKind::kOrdinary);              // rep ret
  CHECK(KindOf({0xf3, 0x90}) == InstructionKind::kOrdinary);              // pause
}

TEST_CASE("count: entries of the kernel, and pushf") {
  CHECK(KindOf({0x0f, 0x05}) == InstructionKind::kSystemCall);
  CHECK(KindOf({0x48, 0x0f, 0x05}) == InstructionKind::kSystemCall);
  CHECK(KindOf({0xcd, 0x80}) == InstructionKind::kOtherKernelEntry);
  CHECK(KindOf({0x0f, 0x34}) == InstructionKind::kOtherKernelEntry);
  CHECK(KindOf({0x9c}) == InstructionKind::kPushFlags);
  CHECK(KindOf({0x0f, 0x31}) == InstructionKind::kOrdinary);  // rdtsc
  CHECK(KindOf({0xcd, 0x03}) == InstructionKind::kOrdinary);
}

TEST_CASE("count: bytes that end within an instruction are ordinary") {
  CHECK(KindOf({}) == InstructionKind::kOrdinary);
  CHECK(KindOf({0xf3}) == InstructionKind::kOrdinary);
  CHECK(KindOf({0xf3, 0x48}) == InstructionKind::kOrdinary);
  CHECK(KindOf({0x0f}) == InstructionKind::kOrdinary);
  CHECK(KindOf(std::vector<uint8_t>(kInstructionBytes, 0x66)) == InstructionKind::kOrdinary);
}

TEST_CASE("count: the table keeps every address while it grows") {
  AddressTable table;
  constexpr uint64_t kAddresses = 100000;
  for (uint64_t i = 0; i < kAddresses; ++i) {
    REQUIRE(table.Find(i * 7) == nullptr);
    table.Insert(i * 7)->count = i;
  }
  CHECK(table.size() == kAddresses);
  for (uint64_t i = 0; i < kAddresses; ++i) {
    REQUIRE(table.Find(i * 7) != nullptr);
    REQUIRE(table.Find(i * 7)->count == i);
  }
  uint64_t seen = 0;
  table.ForEach([&](const AddressTable::Entry&) { ++seen; });
  CHECK(seen == kAddresses);
  table.Clear();
  CHECK(table.size() == 0);
  CHECK(table.Find(7) == nullptr);
}

}  // namespace
}  // namespace hbbp::tools
