// DecodeIbsOp and DecodeIbsFetch read the registers of a sample (ReadRegisters) and decode one
// after the other. Of ops, what means nothing on this processor is cleared.
#include "perf/ibs.h"

#include <array>
#include <cstddef>
#include <cstdio>

namespace hbbp {
namespace {

// These are bits of the word of capabilities (CPUID Fn8000_001B_EAX).
constexpr uint32_t kHasBranchTarget = 1u << 5;
constexpr uint32_t kHasZen4Extensions = 1u << 11;

constexpr size_t kOpRegisters = 7;     // of every family
constexpr size_t kFetchRegisters = 3;  // likewise

struct RawRegisters {
  size_t count = 0;
  uint32_t capabilities = 0;
  std::array<uint64_t, 8> values = {};  // 0 where there is none
};

RawRegisters ReadRegisters(std::span<const uint8_t> raw, ByteOrder order) {
  RawRegisters registers;
  if (raw.size() < sizeof(uint32_t)) return registers;
  registers.capabilities = LoadNative<uint32_t>(raw.data(), order);
  raw = raw.subspan(sizeof(uint32_t));
  for (uint64_t& value : registers.values) {
    if (raw.size() < sizeof(value)) break;
    value = LoadNative<uint64_t>(raw.data(), order);
    raw = raw.subspan(sizeof(value));
    ++registers.count;
  }
  return registers;
}

constexpr uint64_t Bits(uint64_t value, unsigned first, unsigned last) {
  return value >> first & ((uint64_t{1} << (last - first + 1)) - 1);
}
constexpr bool Bit(uint64_t value, unsigned bit) { return (value >> bit & 1) != 0; }

// Sets flags from consecutive bits, which takes less code than a statement for each.
template <typename Sample, size_t kCount>
void SetFlags(bool Sample::*const (&flags)[kCount], uint64_t value, Sample* sample) {
  for (bool Sample::*const flag : flags) {
    sample->*flag = (value & 1) != 0;
    value >>= 1;
  }
}

constexpr bool IbsOp::*kOpDataFlagsFrom34[] = {
    &IbsOp::is_return,     &IbsOp::is_taken,        &IbsOp::is_mispredicted, &IbsOp::is_branch,
    &IbsOp::ip_is_invalid, &IbsOp::is_fused_branch, &IbsOp::is_microcode,
};

constexpr bool IbsOp::*kOpData3Flags[] = {
    &IbsOp::is_load,
    &IbsOp::is_store,
    &IbsOp::missed_l1_dtlb,
    &IbsOp::missed_l2_dtlb,
    &IbsOp::hit_l1_dtlb_2m,
    &IbsOp::hit_l1_dtlb_1g,
    &IbsOp::hit_l2_dtlb_2m,
    &IbsOp::missed_dc,
    &IbsOp::is_misaligned,
    &IbsOp::has_load_bank_conflict,
    &IbsOp::has_store_bank_conflict,
    &IbsOp::is_forwarded,
    &IbsOp::is_forwarding_cancelled,
    &IbsOp::is_write_combining,
    &IbsOp::is_uncacheable,
    &IbsOp::is_locked,
    &IbsOp::found_miss_underway,
    &IbsOp::has_linear_address,
    &IbsOp::has_physical_address,
    &IbsOp::hit_l2_dtlb_1g,
    &IbsOp::missed_l2,
    &IbsOp::is_software_prefetch,
};

constexpr bool IbsFetch::*kFetchFlagsFrom49[] = {
    &IbsFetch::is_valid,
    &IbsFetch::is_complete,
    &IbsFetch::missed_ic,
    &IbsFetch::has_physical_address,
};
constexpr bool IbsFetch::*kFetchFlagsFrom55[] = {
    &IbsFetch::missed_l1_itlb, &IbsFetch::missed_l2_itlb, &IbsFetch::is_randomized,
    &IbsFetch::missed_l2,      &IbsFetch::only_l3_misses, &IbsFetch::missed_op_cache,
    &IbsFetch::missed_l3,
};

void DecodeOpControl(uint64_t control, IbsOp* op) {
  // The counter's low four bits are always 0 and are not stored.
  op->max_count = Bits(control, 0, 15) << 4 | Bits(control, 20, 26) << 20;
  op->only_l3_misses = Bit(control, 16);
  op->is_valid = Bit(control, 18);
  op->counts_uops = Bit(control, 19);
  op->current_count = Bits(control, 32, 58);
}

void DecodeOpData(uint64_t data, IbsOp* op) {
  op->is_resync = Bit(data, 32);
  SetFlags(kOpDataFlagsFrom34, data >> 34, op);
  op->completion_to_retire_cycles = static_cast<uint16_t>(Bits(data, 0, 15));
  op->tag_to_retire_cycles = static_cast<uint16_t>(Bits(data, 16, 31));
}

void DecodeOpData2(uint64_t data, IbsOp* op) {
  const bool is_extended = (op->capabilities & kHasZen4Extensions) != 0;
  const uint64_t high = is_extended ? Bits(data, 6, 7) << 3 : 0;
  op->data_source = static_cast<IbsDataSource>(Bits(data, 0, 2) | high);
  op->is_remote = Bit(data, 4);
  op->hit_owned_line = Bit(data, 5);
}

void DecodeOpData3(uint64_t data, IbsOp* op) {
  SetFlags(kOpData3Flags, data, op);
  const uint64_t width = Bits(data, 22, 25);
  op->width_bytes = width == 0 || width > 7 ? 0 : static_cast<uint8_t>(1u << (width - 1));
  op->open_requests = static_cast<uint8_t>(Bits(data, 26, 31));
  op->dc_miss_cycles = static_cast<uint16_t>(Bits(data, 32, 47));
  op->dtlb_refill_cycles = static_cast<uint16_t>(Bits(data, 48, 63));
}

void ClearBeyondL1(IbsOp* op) {
  op->is_unknown_beyond_l1 = true;
  op->missed_l2 = false;
  op->data_source = IbsDataSource::kNone;
  op->is_remote = false;
  op->hit_owned_line = false;
  op->open_requests = 0;
}

void ClearReserved(uint8_t family, IbsOp* op) {
  if (family == 0x10) op->ip_is_invalid = false;
  if (family == 0x12 || family == 0x14) op->is_remote = op->hit_owned_line = false;
  if (family == 0x14) {
    op->hit_l1_dtlb_1g = op->hit_l2_dtlb_1g = false;
    op->has_load_bank_conflict = op->has_store_bank_conflict = false;
    op->is_forwarding_cancelled = false;
  }
}

uint64_t PageBytes(uint64_t code) {
  constexpr uint64_t kPageBytes[] = {4 << 10, 2 << 20, 1 << 30, 0};
  return kPageBytes[code];
}

}  // namespace

IbsQuirks IbsQuirksOf(const std::string& cpu_id) {
  unsigned family = 0;
  unsigned model = 0;
  const int read = std::sscanf(cpu_id.c_str(), "AuthenticAMD,%2u,%3u", &family, &model);
  return read == 2 ? FindIbsQuirks(family, model) : IbsQuirks{};
}

std::optional<IbsOp> DecodeIbsOp(std::span<const uint8_t> raw, ByteOrder order, IbsQuirks quirks) {
  const RawRegisters registers = ReadRegisters(raw, order);
  if (registers.count < kOpRegisters) return std::nullopt;
  IbsOp op;
  op.capabilities = registers.capabilities;
  DecodeOpControl(registers.values[0], &op);
  op.ip = registers.values[1];
  DecodeOpData(registers.values[2], &op);
  DecodeOpData2(registers.values[3], &op);
  DecodeOpData3(registers.values[4], &op);
  ClearReserved(quirks.family, &op);
  if (quirks.has_1293 && (op.is_software_prefetch || op.found_miss_underway)) ClearBeyondL1(&op);
  if (op.has_linear_address) op.linear_address = registers.values[5];
  if (op.has_physical_address) op.physical_address = registers.values[6];
  // The register keeps what an earlier op has left.
  const bool has_target = (op.capabilities & kHasBranchTarget) != 0 && op.is_branch && op.is_taken;
  if (has_target) op.branch_target = registers.values[7];
  return op;
}

std::optional<IbsFetch> DecodeIbsFetch(std::span<const uint8_t> raw, ByteOrder order) {
  const RawRegisters registers = ReadRegisters(raw, order);
  if (registers.count < kFetchRegisters) return std::nullopt;
  IbsFetch fetch;
  fetch.capabilities = registers.capabilities;
  const uint64_t control = registers.values[0];
  SetFlags(kFetchFlagsFrom49, control >> 49, &fetch);
  SetFlags(kFetchFlagsFrom55, control >> 55, &fetch);
  fetch.max_count = static_cast<uint32_t>(Bits(control, 0, 15) << 4);
  fetch.current_count = static_cast<uint32_t>(Bits(control, 16, 31) << 4);
  fetch.latency_cycles = static_cast<uint16_t>(Bits(control, 32, 47));
  if (fetch.has_physical_address) fetch.page_bytes = PageBytes(Bits(control, 53, 54));
  fetch.linear_address = registers.values[1];
  if (fetch.has_physical_address) fetch.physical_address = registers.values[2];
  fetch.itlb_refill_cycles = static_cast<uint16_t>(Bits(registers.values[3], 0, 15));
  return fetch;
}

}  // namespace hbbp
