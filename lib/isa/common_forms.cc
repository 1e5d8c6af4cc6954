#include "isa/common_forms.h"

#include <array>
#include <bit>
#include <cstring>

namespace hbbp {
namespace {

enum : uint8_t {
  kKnown = 1,
  kModrm = 2,
  kMemoryOnly = 4,      // with a register operand it would be another instruction or invalid
  kTestImmediate = 8,   // the immediate belongs to /0 and /1 only
  kWideImmediate = 16,  // REX.W makes the immediate eight bytes
  kRelative = 32,       // the immediate is a branch displacement
};

struct Form {
  uint8_t flags = 0;
  uint8_t immediate_bytes = 0;
  uint8_t regs = 0xff;  // bit n: ModRM.reg may be n
  BranchKind kind = BranchKind::kNone;
};

constexpr int kTwoByte = 0x100;  // opcodes that follow 0f

// DecodeCommonForm rejects prefixes other than REX, so a form holds for operands of 32 and 64 bits.
consteval std::array<Form, 512> MakeForms() {
  std::array<Form, 512> forms{};
  auto set = [&forms](int first, int last, Form form) {
    form.flags |= kKnown;
    for (int opcode = first; opcode <= last; ++opcode) forms[opcode] = form;
  };
  // add, or, adc, sbb, and, sub, xor, cmp
  for (int group = 0x00; group < 0x40; group += 8) {
    set(group, group + 3, {.flags = kModrm});
    set(group + 4, group + 4, {.immediate_bytes = 1});
    set(group + 5, group + 5, {.immediate_bytes = 4});
  }
  set(0x50, 0x5f, {});                                       // push, pop
  set(0x63, 0x63, {.flags = kModrm});                        // movsxd
  set(0x68, 0x68, {.immediate_bytes = 4});                   // push
  set(0x69, 0x69, {.flags = kModrm, .immediate_bytes = 4});  // imul
  set(0x6a, 0x6a, {.immediate_bytes = 1});                   // push
  set(0x6b, 0x6b, {.flags = kModrm, .immediate_bytes = 1});  // imul
  set(0x70, 0x7f, {.flags = kRelative, .immediate_bytes = 1, .kind = BranchKind::kConditional});
  set(0x80, 0x80, {.flags = kModrm, .immediate_bytes = 1});
  set(0x81, 0x81, {.flags = kModrm, .immediate_bytes = 4});
  set(0x83, 0x83, {.flags = kModrm, .immediate_bytes = 1});
  set(0x84, 0x8b, {.flags = kModrm});                // test, xchg, mov
  set(0x8d, 0x8d, {.flags = kModrm | kMemoryOnly});  // lea
  set(0x90, 0x99, {});                               // xchg, cdqe, cqo
  set(0xa8, 0xa8, {.immediate_bytes = 1});           // test
  set(0xa9, 0xa9, {.immediate_bytes = 4});
  set(0xb0, 0xb7, {.immediate_bytes = 1});  // mov
  set(0xb8, 0xbf, {.flags = kWideImmediate, .immediate_bytes = 4});
  set(0xc0, 0xc1, {.flags = kModrm, .immediate_bytes = 1});  // shifts
  set(0xc3, 0xc3, {.kind = BranchKind::kReturn});
  set(0xc6, 0xc6, {.flags = kModrm, .immediate_bytes = 1, .regs = 0x01});  // mov
  set(0xc7, 0xc7, {.flags = kModrm, .immediate_bytes = 4, .regs = 0x01});
  set(0xc9, 0xc9, {});                           // leave
  set(0xcc, 0xcc, {.kind = BranchKind::kTrap});  // int3
  set(0xd0, 0xd3, {.flags = kModrm});            // shifts
  set(0xe8, 0xe8, {.flags = kRelative, .immediate_bytes = 4, .kind = BranchKind::kCall});
  set(0xe9, 0xe9, {.flags = kRelative, .immediate_bytes = 4, .kind = BranchKind::kJump});
  set(0xeb, 0xeb, {.flags = kRelative, .immediate_bytes = 1, .kind = BranchKind::kJump});
  set(0xf6, 0xf6, {.flags = kModrm | kTestImmediate, .immediate_bytes = 1});
  set(0xf7, 0xf7, {.flags = kModrm | kTestImmediate, .immediate_bytes = 4});
  set(0xfe, 0xfe, {.flags = kModrm, .regs = 0x03});  // inc, dec
  set(0xff, 0xff, {.flags = kModrm, .regs = 0x57});  // and call, jmp, push; not far

  set(kTwoByte | 0x10, kTwoByte | 0x12, {.flags = kModrm});  // movups, movlps
  set(kTwoByte | 0x14, kTwoByte | 0x16, {.flags = kModrm});  // unpcklps, unpckhps, movhps
  set(kTwoByte | 0x1f, kTwoByte | 0x1f, {.flags = kModrm, .regs = 0x01});  // nop
  set(kTwoByte | 0x28, kTwoByte | 0x29, {.flags = kModrm});                // movaps
  set(kTwoByte | 0x2e, kTwoByte | 0x2f, {.flags = kModrm});                // ucomiss, comiss
  set(kTwoByte | 0x40, kTwoByte | 0x4f, {.flags = kModrm});                // cmovcc
  set(kTwoByte | 0x51, kTwoByte | 0x5f, {.flags = kModrm});  // packed single arithmetic
  set(kTwoByte | 0x80, kTwoByte | 0x8f,
      {.flags = kRelative, .immediate_bytes = 4, .kind = BranchKind::kConditional});
  set(kTwoByte | 0x90, kTwoByte | 0x9f, {.flags = kModrm});                        // setcc
  set(kTwoByte | 0xa2, kTwoByte | 0xa2, {});                                       // cpuid
  set(kTwoByte | 0xa3, kTwoByte | 0xa3, {.flags = kModrm});                        // bt
  set(kTwoByte | 0xa4, kTwoByte | 0xa4, {.flags = kModrm, .immediate_bytes = 1});  // shld
  set(kTwoByte | 0xa5, kTwoByte | 0xa5, {.flags = kModrm});
  set(kTwoByte | 0xab, kTwoByte | 0xab, {.flags = kModrm});                        // bts
  set(kTwoByte | 0xac, kTwoByte | 0xac, {.flags = kModrm, .immediate_bytes = 1});  // shrd
  set(kTwoByte | 0xad, kTwoByte | 0xad, {.flags = kModrm});
  set(kTwoByte | 0xaf, kTwoByte | 0xb1, {.flags = kModrm});  // imul, cmpxchg
  set(kTwoByte | 0xb3, kTwoByte | 0xb3, {.flags = kModrm});  // btr
  set(kTwoByte | 0xb6, kTwoByte | 0xb7, {.flags = kModrm});  // movzx
  set(kTwoByte | 0xba, kTwoByte | 0xba,
      {.flags = kModrm, .immediate_bytes = 1, .regs = 0xf0});  // bt, bts, btr, btc
  set(kTwoByte | 0xbb, kTwoByte | 0xc1, {.flags = kModrm});    // btc, bsf, bsr, movsx, xadd
  set(kTwoByte | 0xc6, kTwoByte | 0xc6, {.flags = kModrm, .immediate_bytes = 1});  // shufps
  set(kTwoByte | 0xc8, kTwoByte | 0xcf, {});                                       // bswap
  return forms;
}

constexpr std::array<Form, 512> kForms = MakeForms();

constexpr BranchKind kGroup5Kinds[8] = {
    BranchKind::kNone,         BranchKind::kNone, BranchKind::kIndirectCall, BranchKind::kNone,
    BranchKind::kIndirectJump, BranchKind::kNone, BranchKind::kNone,         BranchKind::kNone};

}  // namespace

bool DecodeCommonForm(const uint8_t* code, uint64_t address, ControlFlow* flow) {
  const uint8_t* next = code;
  bool rex_w = false;
  if ((*next & 0xf0) == 0x40) {
    rex_w = (*next & 8) != 0;
    ++next;
  }
  int opcode = *next++;
  if (opcode == 0x0f) opcode = kTwoByte | *next++;
  const Form& form = kForms[opcode];
  if (form.flags == 0) return false;

  BranchKind kind = form.kind;
  int immediate_bytes = form.immediate_bytes;
  if (form.flags & kModrm) {
    const uint8_t modrm = *next++;
    const int mod = modrm >> 6;
    const int reg = (modrm >> 3) & 7;
    const int rm = modrm & 7;
    if (((form.regs >> reg) & 1) == 0) return false;
    if (mod == 3) {
      if (form.flags & kMemoryOnly) return false;
    } else {
      const int base = rm == 4 ? *next++ & 7 : rm;
      if (mod == 1) {
        next += 1;
      } else if (mod == 2 || base == 5) {
        next += 4;
      }
    }
    if ((form.flags & kTestImmediate) && reg > 1) immediate_bytes = 0;
    if (opcode == 0xff) kind = kGroup5Kinds[reg];
  }
  if ((form.flags & kWideImmediate) && rex_w) immediate_bytes = 8;
  next += immediate_bytes;

  flow->length = static_cast<uint8_t>(next - code);
  flow->kind = kind;
  flow->has_target = (form.flags & kRelative) != 0;
  flow->target = 0;
  if (flow->has_target) {
    int32_t displacement;
    if (immediate_bytes == 1) {
      displacement = int32_t{std::bit_cast<int8_t>(next[-1])};
    } else {
      std::memcpy(&displacement, next - 4, sizeof(displacement));
    }
    flow->target = address + flow->length + static_cast<uint64_t>(int64_t{displacement});
  }
  return true;
}

}  // namespace hbbp
