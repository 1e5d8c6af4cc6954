// AnalyzeIndirectJump finds the jump table behind an indirect jump.
//
// It interprets the instructions before the jump in linear order over symbolic values: constants
// (lea table(%rip)), table entries (movslq (%rdx,%rax,4)) and sums of both. Results of other
// instructions are unknown, so that the order of the instructions, the registers and other
// instructions between them do not matter. A compare with a constant and the conditional jump after
// it bound the index.
#ifndef HBBP_LIB_BLOCKS_JUMP_TABLE_H_
#define HBBP_LIB_BLOCKS_JUMP_TABLE_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <span>

namespace hbbp {

// A longer table is truncated.
inline constexpr uint32_t kMaxJumpTableEntries = 4096;

// At most so many instructions, up to and including the indirect jump, are interpreted.
inline constexpr uint32_t kJumpTableLookback = 48;

// An entry is at base + displacement + index * entry_size, where the base may be 0. The jump goes
// to the entry, or to the entry plus the base.
struct JumpTable {
  static constexpr int kNoRegister = -1;

  bool base_known = false;
  // The register that held an unknown base before the first instruction that was interpreted.
  int base_register = kNoRegister;
  uint64_t base = 0;
  uint64_t displacement = 0;
  bool relative = false;
  uint8_t entry_size = 0;  // 1, 2, 4 or 8
  bool sign_extended = false;
  uint32_t entry_count = 0;  // an upper bound, or 0 if none was found
  bool guarded = false;      // the code checks the index: the table has all these entries

  uint64_t address() const { return base + displacement; }
  uint64_t Target(uint64_t entry) const;
};

enum class IndirectJumpKind {
  kUnknown,
  kPointer,  // one pointer in memory, such as an entry of the PLT, is not a table
  kJumpTable,
};

struct IndirectJump {
  IndirectJumpKind kind = IndirectJumpKind::kUnknown;
  JumpTable table;
};

// `offsets` are the starts of instructions in `code`, in order; the last one is the jump. `code`
// lies at `address`.
IndirectJump AnalyzeIndirectJump(std::span<const uint8_t> code, uint64_t address,
                                 std::span<const uint32_t> offsets);

struct LoadedAddress {
  uint64_t address = 0;
  int register_number = JumpTable::kNoRegister;  // numbered as base_register
};

// Decodes `lea constant(%rip), register` at the start of `code`, if it is one.
std::optional<LoadedAddress> DecodeAddressLoad(std::span<const uint8_t> code, uint64_t address);

}  // namespace hbbp

#endif  // HBBP_LIB_BLOCKS_JUMP_TABLE_H_
