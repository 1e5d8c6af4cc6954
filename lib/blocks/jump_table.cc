// AnalyzeIndirectJump decodes the instructions before an indirect jump and lets Interpreter::Step
// execute each over symbolic values; Interpreter::Jump then asks what the jump goes through. The
// interpreter follows no branch: at a conditional jump it keeps the state for the target, and
// merges it when the linear order arrives there. BlockMap calls AnalyzeIndirectJump for every
// indirect jump of a part, and DecodeAddressLoad to find tables whose address was loaded too far
// away.
#include "blocks/jump_table.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace hbbp {
namespace {

constexpr int kRegisters = 16;
constexpr int kNoRegister = JumpTable::kNoRegister;
constexpr size_t kMaxSlots = 16;
constexpr size_t kMaxPendingStates = 16;

// An address that may be in a table: base + displacement + index.
struct TableAddress {
  bool base_known = false;
  uint64_t base = 0;
  int base_register = kNoRegister;
  uint64_t displacement = 0;
  uint32_t index = 0;  // a symbol
};

struct Value {
  enum class Kind : uint8_t {
    kSymbol,  // unknown, but the same wherever the symbol is the same
    kConstant,
    kAddress,  // of a table entry
    kEntry,    // loaded from a table
    kTarget,   // an entry plus the base of its table
  };
  Kind kind = Kind::kSymbol;
  bool scaled = false;               // kSymbol: it is an index times the size of an entry
  bool pointer = false;              // kSymbol: it was loaded from memory, and not from a table
  bool sign_extended = false;        // kEntry, kTarget
  uint8_t entry_size = 0;            // kEntry, kTarget
  int first_register = kNoRegister;  // kSymbol: the register that held it at the start
  uint32_t symbol = 0;
  uint64_t constant = 0;
  TableAddress address;  // kAddress, kEntry, kTarget
};

// A location in memory. Unoptimized code keeps its variables in such locations.
struct Slot {
  int base = kNoRegister;
  int index = kNoRegister;
  int scale = 0;
  int64_t displacement = 0;
  Value value;

  bool Depends(int number) const { return base == number || index == number; }
  bool IsSameLocation(const Slot& other) const {
    return base == other.base && index == other.index && scale == other.scale &&
           displacement == other.displacement;
  }
};

struct Comparison {
  bool valid = false;
  uint32_t symbol = 0;
  uint64_t limit = 0;
};

struct Symbol {
  uint32_t parent = 0;   // the symbol whose bounds hold for this one too, or 0
  uint32_t bound = 0;    // how many values it can have, or 0
  bool guarded = false;  // a mask bounds it, and not just its type
};

// A Guard is a bound that a conditional jump proves for a symbol.
struct Guard {
  uint32_t symbol = 0;
  uint32_t bound = 0;
};

struct MachineState {
  std::array<Value, kRegisters> registers;
  std::vector<Slot> slots;
  std::vector<Guard> guards;  // at most one for each symbol
  Comparison comparison;
};

const Guard* FindGuard(const MachineState& state, uint32_t symbol) {
  for (const Guard& guard : state.guards) {
    if (guard.symbol == symbol) return &guard;
  }
  return nullptr;
}

struct Instruction {
  ZydisDecodedInstruction head;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  uint64_t address = 0;

  uint64_t end() const { return address + head.length; }
  bool Is(int operand, ZydisOperandType type) const { return operands[operand].type == type; }
};

bool ChangesFlags(const Instruction& instruction) {
  const ZydisAccessedFlags* flags = instruction.head.cpu_flags;
  return flags != nullptr &&
         (flags->modified | flags->set_0 | flags->set_1 | flags->undefined) != 0;
}

// Returns -1 for a register that is not a general-purpose one.
int RegisterIndex(ZydisRegister name) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
  if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15) return -1;
  return whole - ZYDIS_REGISTER_RAX;
}

constexpr int kRax = 0;
constexpr int kRsp = 4;
constexpr int kRbp = 5;

bool IsHighByte(ZydisRegister name) {
  return name >= ZYDIS_REGISTER_AH && name <= ZYDIS_REGISTER_BH;
}

class Interpreter {
 public:
  Interpreter() {
    symbols_.emplace_back();
    Reset();
  }

  void Step(const Instruction& instruction) {
    bool reachable = falls_in_;
    for (const auto& [target, state] : pending_) {
      if (target != instruction.address) continue;
      if (reachable) {
        KeepCommonGuards(state);
      } else {
        state_ = state;
        reachable = true;
      }
    }
    if (!reachable) Reset();
    falls_in_ = true;
    Execute(instruction);
    if (!sets_comparison_ && ChangesFlags(instruction)) state_.comparison.valid = false;
    sets_comparison_ = false;
  }

  IndirectJump Jump(const Instruction& instruction) {
    IndirectJump jump;
    const ZydisDecodedOperand& operand = instruction.operands[0];
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      const Value value = Read(operand.reg.value);
      if (value.kind == Value::Kind::kTarget ||
          (value.kind == Value::Kind::kEntry && value.entry_size >= 4)) {
        jump.kind = IndirectJumpKind::kJumpTable;
        jump.table = Table(value, value.kind == Value::Kind::kTarget);
      } else if (value.pointer || value.kind == Value::Kind::kConstant) {
        jump.kind = IndirectJumpKind::kPointer;
      }
    } else if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      const auto address = Evaluate(instruction, operand);
      if (address.has_value() && address->kind == Value::Kind::kAddress) {
        Value entry = *address;
        entry.entry_size = 8;
        jump.kind = IndirectJumpKind::kJumpTable;
        jump.table = Table(entry, false);
      } else {
        jump.kind = IndirectJumpKind::kPointer;
      }
    }
    return jump;
  }

 private:
  JumpTable Table(const Value& value, bool relative) const {
    JumpTable table;
    table.base_known = value.address.base_known;
    table.base = value.address.base;
    table.base_register = value.address.base_register;
    table.displacement = value.address.displacement;
    table.relative = relative;
    table.entry_size = value.entry_size;
    table.sign_extended = value.sign_extended;
    table.entry_count = Bound(value.address.index);
    table.guarded = IsGuarded(value.address.index);
    return table;
  }

  // Where two paths merge, only guards of both hold. Registers keep the values of the path that is
  // followed, because the table is most likely loaded there.
  void KeepCommonGuards(const MachineState& other) {
    std::erase_if(state_.guards, [&](Guard& guard) {
      const Guard* same = FindGuard(other, guard.symbol);
      if (same != nullptr) guard.bound = std::max(guard.bound, same->bound);
      return same == nullptr;
    });
  }

  Value NewSymbol(const Symbol& symbol) {
    symbols_.push_back(symbol);
    Value value;
    value.symbol = static_cast<uint32_t>(symbols_.size() - 1);
    return value;
  }

  Value Unknown() { return NewSymbol({}); }

  static Value Constant(uint64_t constant) {
    Value value;
    value.kind = Value::Kind::kConstant;
    value.constant = constant;
    return value;
  }

  // A parent is always older than its child, so the walk ends.
  uint32_t Bound(uint32_t symbol) const {
    uint32_t bound = 0;
    const auto limit = [&bound](uint32_t count) {
      if (count != 0 && (bound == 0 || count < bound)) bound = count;
    };
    for (; symbol != 0; symbol = symbols_[symbol].parent) {
      limit(symbols_[symbol].bound);
      if (const Guard* guard = FindGuard(state_, symbol)) limit(guard->bound);
    }
    return bound;
  }

  bool IsGuarded(uint32_t symbol) const {
    for (; symbol != 0; symbol = symbols_[symbol].parent) {
      if (symbols_[symbol].guarded || FindGuard(state_, symbol) != nullptr) return true;
    }
    return false;
  }

  static void Limit(MachineState* state, uint64_t count) {
    if (!state->comparison.valid || count == 0 || count > kMaxJumpTableEntries) return;
    const Guard guard = {state->comparison.symbol, static_cast<uint32_t>(count)};
    for (Guard& known : state->guards) {
      if (known.symbol != guard.symbol) continue;
      known.bound = std::min(known.bound, guard.bound);
      return;
    }
    state->guards.push_back(guard);
  }

  void Reset() {
    for (int i = 0; i < kRegisters; ++i) {
      state_.registers[i] = Unknown();
      state_.registers[i].first_register = i;
    }
    state_.slots.clear();
    state_.guards.clear();
    state_.comparison.valid = false;
  }

  Value Read(ZydisRegister name) {
    const int index = RegisterIndex(name);
    return index < 0 || IsHighByte(name) ? Unknown() : state_.registers[index];
  }

  void Write(ZydisRegister name, const Value& value) {
    const int index = RegisterIndex(name);
    if (index < 0) return;
    state_.registers[index] = value;
    std::erase_if(state_.slots, [&](const Slot& slot) { return slot.Depends(index); });
  }

  void Clobber(const Instruction& instruction) {
    for (int i = 0; i < instruction.head.operand_count; ++i) {
      const ZydisDecodedOperand& operand = instruction.operands[i];
      if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) continue;
      if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
        Write(operand.reg.value, Unknown());
      } else if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
        Store(instruction, operand, Unknown());
      }
    }
  }

  static bool IsOnStack(const Slot& slot) {
    return (slot.base == kRsp || slot.base == kRbp) && slot.index == kNoRegister;
  }

  static bool HasSegment(const ZydisDecodedOperand& operand) {
    return operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS;
  }

  // Returns the slot without its value.
  static std::optional<Slot> DecodeSlot(const Instruction& instruction,
                                        const ZydisDecodedOperand& operand) {
    if (HasSegment(operand)) return {};
    Slot slot;
    slot.displacement = operand.mem.disp.has_displacement ? operand.mem.disp.value : 0;
    if (operand.mem.base == ZYDIS_REGISTER_RIP) {
      slot.displacement += static_cast<int64_t>(instruction.end());
    } else if (operand.mem.base != ZYDIS_REGISTER_NONE) {
      slot.base = RegisterIndex(operand.mem.base);
    }
    if (operand.mem.index != ZYDIS_REGISTER_NONE) {
      slot.index = RegisterIndex(operand.mem.index);
      slot.scale = operand.mem.scale;
      if (slot.index == kNoRegister) return {};
    }
    return slot;
  }

  Slot* FindSlot(const Slot& wanted) {
    for (Slot& slot : state_.slots) {
      if (slot.IsSameLocation(wanted)) return &slot;
    }
    return nullptr;
  }

  void AddSlot(const Slot& slot) {
    if (state_.slots.size() == kMaxSlots) state_.slots.erase(state_.slots.begin());
    state_.slots.push_back(slot);
  }

  void DropSlotsOffStack() {
    std::erase_if(state_.slots, [](const Slot& slot) { return !IsOnStack(slot); });
  }

  // Assumes that pointers do not point to variables on the stack.
  void Store(const Instruction& instruction, const ZydisDecodedOperand& operand,
             const Value& value) {
    auto slot = DecodeSlot(instruction, operand);
    if (!slot.has_value() || !IsOnStack(*slot)) DropSlotsOffStack();
    if (!slot.has_value()) return;
    slot->value = value;
    if (Slot* known = FindSlot(*slot); known != nullptr) {
      known->value = value;
    } else {
      AddSlot(*slot);
    }
  }

  // Returns the address of a memory operand if it is a constant or looks like that of a table
  // entry.
  std::optional<Value> Evaluate(const Instruction& instruction,
                                const ZydisDecodedOperand& operand) {
    const auto& memory = operand.mem;
    if (HasSegment(operand)) return {};
    const auto displacement =
        memory.disp.has_displacement ? static_cast<uint64_t>(memory.disp.value) : 0;
    if (memory.base == ZYDIS_REGISTER_RIP) return Constant(instruction.end() + displacement);
    const bool has_base = memory.base != ZYDIS_REGISTER_NONE;
    const bool has_index = memory.index != ZYDIS_REGISTER_NONE;
    const Value base = has_base ? Read(memory.base) : Constant(0);
    if (!has_index) {
      if (base.kind == Value::Kind::kConstant) return Constant(base.constant + displacement);
      if (base.kind == Value::Kind::kAddress) {
        Value value = base;
        value.address.displacement += displacement;
        return value;
      }
      if (base.scaled) return Address(Constant(0), displacement, base);
      return {};
    }
    const Value index = Read(memory.index);
    if (memory.scale == 1 && base.kind != Value::Kind::kConstant &&
        (index.kind == Value::Kind::kConstant || base.scaled)) {
      return Address(index, displacement, base);
    }
    const bool is_array = memory.scale > 1 || index.scaled;
    if (base.kind != Value::Kind::kConstant && !is_array) return {};
    return Address(base, displacement, index);
  }

  // An entry may itself be an index: switch (a[i]).
  static bool IsNumber(const Value& value) {
    return value.kind == Value::Kind::kSymbol || value.kind == Value::Kind::kEntry;
  }

  // Returns base + displacement + index as the address of a table entry.
  static std::optional<Value> Address(const Value& base, uint64_t displacement,
                                      const Value& index) {
    if (!IsNumber(index)) return {};
    if (base.kind != Value::Kind::kConstant && base.kind != Value::Kind::kSymbol) return {};
    Value value;
    value.kind = Value::Kind::kAddress;
    value.address.base_known = base.kind == Value::Kind::kConstant;
    value.address.base = base.constant;
    value.address.base_register = base.first_register;
    value.address.displacement = displacement;
    value.address.index = index.symbol;
    return value;
  }

  Value Load(const Instruction& instruction, const ZydisDecodedOperand& operand,
             bool sign_extended) {
    auto address = Evaluate(instruction, operand);
    if (!address.has_value() || address->kind != Value::Kind::kAddress) {
      Value value = Unknown();
      value.pointer = operand.size == 64;
      auto slot = DecodeSlot(instruction, operand);
      if (!slot.has_value()) return value;
      if (const Slot* known = FindSlot(*slot); known != nullptr) return known->value;
      slot->value = value;
      AddSlot(*slot);
      return value;
    }
    address->kind = Value::Kind::kEntry;
    address->entry_size = static_cast<uint8_t>(operand.size / 8);
    address->sign_extended = sign_extended;
    address->symbol = SymbolOfEntry(instruction, operand);
    return *address;
  }

  // Loads of the same entry have the same value, so that a comparison with one bounds the other.
  uint32_t SymbolOfEntry(const Instruction& instruction, const ZydisDecodedOperand& operand) {
    auto slot = DecodeSlot(instruction, operand);
    if (!slot.has_value()) return NewSymbol({}).symbol;
    const Slot* const known = FindSlot(*slot);
    if (known != nullptr && known->value.kind == Value::Kind::kSymbol) return known->value.symbol;
    slot->value = NewSymbol({});
    const uint32_t symbol = slot->value.symbol;
    AddSlot(*slot);
    return symbol;
  }

  Value Add(const Value& a, const Value& b) {
    using Kind = Value::Kind;
    if (a.kind == Kind::kEntry && (b.kind == Kind::kConstant || b.kind == Kind::kSymbol)) {
      Value value = a;
      value.kind = Kind::kTarget;
      // Compilers add to an entry the base of its table, so that one known value is enough for
      // both.
      if (b.kind == Kind::kConstant && !value.address.base_known) {
        value.address.base_known = true;
        value.address.base = b.constant;
      } else if (b.kind == Kind::kConstant && b.constant != value.address.base) {
        value.address.displacement += value.address.base - b.constant;
        value.address.base = b.constant;
      }
      return value;
    }
    if (b.kind == Kind::kEntry && a.kind != Kind::kEntry) return Add(b, a);
    if (a.kind == Kind::kConstant && b.kind == Kind::kConstant) {
      return Constant(a.constant + b.constant);
    }
    if (a.kind == Kind::kConstant) return Address(a, 0, b).value_or(Unknown());
    if (b.kind == Kind::kConstant) return Address(b, 0, a).value_or(Unknown());
    if (a.scaled) return Address(b, 0, a).value_or(Unknown());
    if (b.scaled) return Address(a, 0, b).value_or(Unknown());
    return Unknown();
  }

  Value LoadEffectiveAddress(const Instruction& instruction) {
    const auto& memory = instruction.operands[1].mem;
    const uint64_t displacement =
        memory.disp.has_displacement ? static_cast<uint64_t>(memory.disp.value) : 0;
    if (memory.index != ZYDIS_REGISTER_NONE && displacement == 0) {
      const Value index = Read(memory.index);
      if (memory.base == ZYDIS_REGISTER_NONE) {
        if (index.kind != Value::Kind::kSymbol) return Unknown();
        Value value = NewSymbol({.parent = index.symbol});
        value.scaled = true;
        return value;
      }
      const Value base = Read(memory.base);
      if (memory.scale == 1 &&
          (base.kind == Value::Kind::kEntry || index.kind == Value::Kind::kEntry)) {
        return Add(base, index);
      }
    }
    // Arithmetic on plain values is not the address of a table.
    const auto address = Evaluate(instruction, instruction.operands[1]);
    if (!address.has_value()) return Unknown();
    if (address->kind == Value::Kind::kAddress && !address->address.base_known) return Unknown();
    return *address;
  }

  void Compare(const Value& value, const ZydisDecodedOperand& limit) {
    if (limit.type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !IsNumber(value)) return;
    state_.comparison = {true, value.symbol, limit.imm.value.u};
    sets_comparison_ = true;
  }

  void Branch(const Instruction& instruction) {
    const uint64_t limit = state_.comparison.limit;
    uint64_t taken = 0;
    uint64_t not_taken = 0;
    switch (instruction.head.mnemonic) {
      case ZYDIS_MNEMONIC_JNBE:
      case ZYDIS_MNEMONIC_JNLE:
        not_taken = limit + 1;
        break;
      case ZYDIS_MNEMONIC_JNB:
      case ZYDIS_MNEMONIC_JNL:
        not_taken = limit;
        break;
      case ZYDIS_MNEMONIC_JBE:
      case ZYDIS_MNEMONIC_JLE:
        taken = limit + 1;
        break;
      case ZYDIS_MNEMONIC_JB:
      case ZYDIS_MNEMONIC_JL:
        taken = limit;
        break;
      default:
        break;
    }
    RememberForTarget(instruction, taken);
    Limit(&state_, not_taken);
  }

  void RememberForTarget(const Instruction& instruction, uint64_t bound) {
    if (!instruction.Is(0, ZYDIS_OPERAND_TYPE_IMMEDIATE)) return;
    const uint64_t target = instruction.end() + instruction.operands[0].imm.value.u;
    if (target <= instruction.address || pending_.size() == kMaxPendingStates) return;
    pending_.emplace_back(target, state_);
    Limit(&pending_.back().second, bound);
  }

  void Move(const Instruction& instruction) {
    const auto& to = instruction.operands[0];
    const auto& from = instruction.operands[1];
    if (to.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      if (from.type == ZYDIS_OPERAND_TYPE_REGISTER && to.size >= 32) {
        Store(instruction, to, Read(from.reg.value));
      } else {
        Clobber(instruction);
      }
      return;
    }
    if (to.size < 32 || RegisterIndex(to.reg.value) < 0) {
      Clobber(instruction);
      return;
    }
    Value value;
    if (from.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      value = Load(instruction, from, false);
    } else if (from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
      value = Constant(to.size == 32 ? static_cast<uint32_t>(from.imm.value.u) : from.imm.value.u);
    } else if (RegisterIndex(from.reg.value) < 0) {
      value = Unknown();
    } else {
      value = Read(from.reg.value);
    }
    Write(to.reg.value, value);
  }

  void Extend(const Instruction& instruction, bool sign) {
    const auto& to = instruction.operands[0];
    const auto& from = instruction.operands[1];
    if (to.size < 32) {
      Clobber(instruction);
      return;
    }
    Value value;
    if (from.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      value = Load(instruction, from, sign);
    } else {
      value = Read(from.reg.value);
      if (value.kind == Value::Kind::kEntry && value.entry_size * 8 == from.size) {
        value.sign_extended = sign;
      }
    }
    if (IsNumber(value) && from.size == 8 && !sign) {
      const Value byte = NewSymbol({.parent = value.symbol, .bound = 256});
      if (value.kind == Value::Kind::kSymbol) value = byte;
      value.symbol = byte.symbol;
    }
    Write(to.reg.value, value);
  }

  void Execute(const Instruction& instruction) {
    const auto& operands = instruction.operands;
    const bool writes_register = instruction.head.operand_count_visible > 0 &&
                                 operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
    switch (instruction.head.mnemonic) {
      case ZYDIS_MNEMONIC_MOV:
        Move(instruction);
        return;
      case ZYDIS_MNEMONIC_MOVSXD:
      case ZYDIS_MNEMONIC_MOVSX:
        Extend(instruction, true);
        return;
      case ZYDIS_MNEMONIC_MOVZX:
        Extend(instruction, false);
        return;
      case ZYDIS_MNEMONIC_CDQE: {
        Value& value = state_.registers[kRax];
        if (value.kind == Value::Kind::kEntry) value.sign_extended = true;
        return;
      }
      case ZYDIS_MNEMONIC_LEA:
        Write(operands[0].reg.value, LoadEffectiveAddress(instruction));
        return;
      case ZYDIS_MNEMONIC_ADD:
        if (writes_register && operands[0].size == 64) {
          Value addend;
          if (operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
            addend = Read(operands[1].reg.value);
          } else if (operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY) {
            addend = Load(instruction, operands[1], false);
          } else {
            addend = Constant(operands[1].imm.value.u);
          }
          const Value augend = Read(operands[0].reg.value);
          Value sum = Add(augend, addend);
          // An index plus a constant is another index, unless it was scaled for a table.
          if (operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
              sum.kind == Value::Kind::kAddress && !augend.scaled) {
            sum = Unknown();
          }
          Write(operands[0].reg.value, sum);
        } else {
          Clobber(instruction);
        }
        return;
      case ZYDIS_MNEMONIC_CMP:
      case ZYDIS_MNEMONIC_SUB:
        if (operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
          Compare(Read(operands[0].reg.value), operands[1]);
        } else if (operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY) {
          Compare(Load(instruction, operands[0], false), operands[1]);
        }
        Clobber(instruction);
        return;
      case ZYDIS_MNEMONIC_AND:
        if (writes_register && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
            operands[1].imm.value.u < kMaxJumpTableEntries) {
          Write(operands[0].reg.value,
                NewSymbol({.parent = 0,
                           .bound = static_cast<uint32_t>(operands[1].imm.value.u) + 1,
                           .guarded = true}));
        } else {
          Clobber(instruction);
        }
        return;
      case ZYDIS_MNEMONIC_SHL:
        if (writes_register && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
            operands[1].imm.value.u <= 3) {
          const Value shifted = Read(operands[0].reg.value);
          const bool is_index = shifted.kind == Value::Kind::kSymbol && !shifted.scaled;
          Value value = NewSymbol({.parent = is_index ? shifted.symbol : 0});
          value.scaled = shifted.kind == Value::Kind::kSymbol;
          Write(operands[0].reg.value, value);
        } else {
          Clobber(instruction);
        }
        return;
      case ZYDIS_MNEMONIC_JMP:
        RememberForTarget(instruction, 0);
        falls_in_ = false;
        return;
      case ZYDIS_MNEMONIC_RET:
      case ZYDIS_MNEMONIC_UD2:
      case ZYDIS_MNEMONIC_HLT:
      case ZYDIS_MNEMONIC_INT3:
        falls_in_ = false;
        return;
      case ZYDIS_MNEMONIC_CALL:
        // The callee may change these registers by the calling convention.
        for (const int index : {0, 1, 2, 6, 7, 8, 9, 10, 11}) state_.registers[index] = Unknown();
        state_.comparison.valid = false;
        DropSlotsOffStack();
        return;
      default:
        break;
    }
    if (instruction.head.meta.category == ZYDIS_CATEGORY_COND_BR) Branch(instruction);
    Clobber(instruction);
  }

  MachineState state_;
  std::vector<Symbol> symbols_;
  std::vector<std::pair<uint64_t, MachineState>> pending_;
  bool falls_in_ = true;
  bool sets_comparison_ = false;
};

}  // namespace

uint64_t JumpTable::Target(uint64_t entry) const {
  const int unused = 64 - entry_size * 8;
  uint64_t value = entry << unused;
  value = sign_extended ? static_cast<uint64_t>(static_cast<int64_t>(value) >> unused)
                        : value >> unused;
  return relative ? base + value : value;
}

IndirectJump AnalyzeIndirectJump(std::span<const uint8_t> code, uint64_t address,
                                 std::span<const uint32_t> offsets) {
  ZydisDecoder decoder;
  if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64))) {
    return {};
  }
  if (offsets.size() > kJumpTableLookback) offsets = offsets.last(kJumpTableLookback);
  Interpreter interpreter;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const auto bytes = code.subspan(offsets[i]);
    Instruction instruction;
    instruction.address = address + offsets[i];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes.data(), bytes.size(),
                                             &instruction.head, instruction.operands.data()))) {
      continue;
    }
    if (i + 1 == offsets.size()) return interpreter.Jump(instruction);
    interpreter.Step(instruction);
  }
  return {};
}

std::optional<LoadedAddress> DecodeAddressLoad(std::span<const uint8_t> code, uint64_t address) {
  constexpr size_t kLength = 7;
  if (code.size() < kLength || (code[0] & 0xfb) != 0x48 || code[1] != 0x8d ||
      (code[2] & 0xc7) != 0x05) {
    return std::nullopt;
  }
  int32_t displacement = 0;
  std::memcpy(&displacement, code.data() + 3, sizeof(displacement));
  return LoadedAddress{.address = address + kLength + static_cast<uint64_t>(int64_t{displacement}),
                       .register_number = (code[2] >> 3 & 7) | (code[0] & 4) << 1};
}

}  // namespace hbbp
