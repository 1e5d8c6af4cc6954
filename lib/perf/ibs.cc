#include "perf/ibs.h"

#include <cstddef>

namespace hbbp {
namespace {

// These are bits of the word of capabilities (CPUID Fn8000_001B_EAX).
constexpr uint32_t kHasBranchTarget = 1u << 5;
constexpr uint32_t kHasZen4Extensions = 1u << 11;

constexpr size_t kOpRegisters = 7;     // of every family
constexpr size_t kFetchRegisters = 3;  // likewise

class RawRegisters {
 public:
  RawRegisters(std::span<const uint8_t> raw, ByteOrder order) : raw_(raw), order_(order) {}

  size_t size() const {
    return raw_.size() < sizeof(uint32_t) ? 0 : (raw_.size() - sizeof(uint32_t)) / sizeof(uint64_t);
  }
  uint32_t capabilities() const { return LoadNative<uint32_t>(raw_.data(), order_); }
  // Returns 0 for a register that is not there.
  uint64_t operator[](size_t index) const {
    if (index >= size()) return 0;
    return LoadNative<uint64_t>(raw_.data() + sizeof(uint32_t) + index * sizeof(uint64_t), order_);
  }

 private:
  std::span<const uint8_t> raw_;
  ByteOrder order_;
};

constexpr uint64_t Bits(uint64_t value, unsigned first, unsigned last) {
  return value >> first & ((uint64_t{1} << (last - first + 1)) - 1);
}
constexpr bool Bit(uint64_t value, unsigned bit) { return (value >> bit & 1) != 0; }

void DecodeOpControl(uint64_t control, IbsOp* op) {
  // The counter's low four bits are always 0 and are not stored.
  op->max_count = Bits(control, 0, 15) << 4 | Bits(control, 20, 26) << 20;
  op->only_l3_misses = Bit(control, 16);
  op->is_valid = Bit(control, 18);
  op->counts_uops = Bit(control, 19);
  op->current_count = Bits(control, 32, 58);
}

void DecodeOpData(uint64_t data, IbsOp* op) {
  op->completion_to_retire_cycles = static_cast<uint16_t>(Bits(data, 0, 15));
  op->tag_to_retire_cycles = static_cast<uint16_t>(Bits(data, 16, 31));
  op->is_resync = Bit(data, 32);
  op->is_return = Bit(data, 34);
  op->is_taken = Bit(data, 35);
  op->is_mispredicted = Bit(data, 36);
  op->is_branch = Bit(data, 37);
  op->ip_is_invalid = Bit(data, 38);
  op->is_fused_branch = Bit(data, 39);
  op->is_microcode = Bit(data, 40);
}

void DecodeOpData2(uint64_t data, IbsOp* op) {
  const bool is_extended = (op->capabilities & kHasZen4Extensions) != 0;
  const uint64_t high = is_extended ? Bits(data, 6, 7) << 3 : 0;
  op->data_source = static_cast<IbsDataSource>(Bits(data, 0, 2) | high);
  op->is_remote = Bit(data, 4);
  op->hit_owned_line = Bit(data, 5);
}

void DecodeOpData3(uint64_t data, IbsOp* op) {
  op->is_load = Bit(data, 0);
  op->is_store = Bit(data, 1);
  op->missed_l1_dtlb = Bit(data, 2);
  op->missed_l2_dtlb = Bit(data, 3);
  op->hit_l1_dtlb_2m = Bit(data, 4);
  op->hit_l1_dtlb_1g = Bit(data, 5);
  op->hit_l2_dtlb_2m = Bit(data, 6);
  op->missed_dc = Bit(data, 7);
  op->is_misaligned = Bit(data, 8);
  op->has_load_bank_conflict = Bit(data, 9);
  op->has_store_bank_conflict = Bit(data, 10);
  op->is_forwarded = Bit(data, 11);
  op->is_forwarding_cancelled = Bit(data, 12);
  op->is_write_combining = Bit(data, 13);
  op->is_uncacheable = Bit(data, 14);
  op->is_locked = Bit(data, 15);
  op->found_miss_underway = Bit(data, 16);
  op->has_linear_address = Bit(data, 17);
  op->has_physical_address = Bit(data, 18);
  op->hit_l2_dtlb_1g = Bit(data, 19);
  op->missed_l2 = Bit(data, 20);
  op->is_software_prefetch = Bit(data, 21);
  const uint64_t width = Bits(data, 22, 25);
  op->width_bytes = width == 0 || width > 7 ? 0 : static_cast<uint8_t>(1u << (width - 1));
  op->open_requests = static_cast<uint8_t>(Bits(data, 26, 31));
  op->dc_miss_cycles = static_cast<uint16_t>(Bits(data, 32, 47));
  op->dtlb_refill_cycles = static_cast<uint16_t>(Bits(data, 48, 63));
}

uint64_t PageBytes(uint64_t code) {
  constexpr uint64_t kPageBytes[] = {4 << 10, 2 << 20, 1 << 30, 0};
  return kPageBytes[code];
}

}  // namespace

std::optional<IbsOp> DecodeIbsOp(std::span<const uint8_t> raw, ByteOrder order) {
  const RawRegisters registers(raw, order);
  if (registers.size() < kOpRegisters) return std::nullopt;
  IbsOp op;
  op.capabilities = registers.capabilities();
  DecodeOpControl(registers[0], &op);
  op.ip = registers[1];
  DecodeOpData(registers[2], &op);
  DecodeOpData2(registers[3], &op);
  DecodeOpData3(registers[4], &op);
  if (op.has_linear_address) op.linear_address = registers[5];
  if (op.has_physical_address) op.physical_address = registers[6];
  // The register keeps what an earlier op has left.
  const bool has_target = (op.capabilities & kHasBranchTarget) != 0 && op.is_branch && op.is_taken;
  if (has_target) op.branch_target = registers[7];
  return op;
}

std::optional<IbsFetch> DecodeIbsFetch(std::span<const uint8_t> raw, ByteOrder order) {
  const RawRegisters registers(raw, order);
  if (registers.size() < kFetchRegisters) return std::nullopt;
  IbsFetch fetch;
  fetch.capabilities = registers.capabilities();
  const uint64_t control = registers[0];
  fetch.max_count = static_cast<uint32_t>(Bits(control, 0, 15) << 4);
  fetch.current_count = static_cast<uint32_t>(Bits(control, 16, 31) << 4);
  fetch.latency_cycles = static_cast<uint16_t>(Bits(control, 32, 47));
  fetch.is_valid = Bit(control, 49);
  fetch.is_complete = Bit(control, 50);
  fetch.missed_ic = Bit(control, 51);
  fetch.has_physical_address = Bit(control, 52);
  if (fetch.has_physical_address) fetch.page_bytes = PageBytes(Bits(control, 53, 54));
  fetch.missed_l1_itlb = Bit(control, 55);
  fetch.missed_l2_itlb = Bit(control, 56);
  fetch.is_randomized = Bit(control, 57);
  fetch.missed_l2 = Bit(control, 58);
  fetch.only_l3_misses = Bit(control, 59);
  fetch.missed_op_cache = Bit(control, 60);
  fetch.missed_l3 = Bit(control, 61);
  fetch.linear_address = registers[1];
  if (fetch.has_physical_address) fetch.physical_address = registers[2];
  fetch.itlb_refill_cycles = static_cast<uint16_t>(Bits(registers[3], 0, 15));
  return fetch;
}

}  // namespace hbbp
