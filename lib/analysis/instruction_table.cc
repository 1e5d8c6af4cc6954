#include "analysis/instruction_table.h"

#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "isa/control_flow.h"

namespace hbbp {
namespace {

struct HashedProperties {
  InstructionProperties properties;

  auto Fields() const {
    const InstructionProperties& p = properties;
    return std::tie(p.mnemonic, p.length, p.extension, p.category, p.encoding, p.packing,
                    p.element_type, p.element_bits, p.vector_bits, p.operands, p.operand_kinds,
                    p.operand_bits, p.memory, p.read_bytes, p.written_bytes, p.flops, p.addressing,
                    p.masking, p.immediate_bits, p.is_masked, p.is_zeroing, p.is_broadcast,
                    p.is_locked, p.is_repeated, p.has_immediate, p.needs_avx512vl);
  }
  bool operator==(const HashedProperties& other) const { return Fields() == other.Fields(); }
};

// Hashes the properties in which instructions of one mnemonic most often differ.
struct PropertiesHash {
  size_t operator()(const HashedProperties& hashed) const {
    const InstructionProperties& p = hashed.properties;
    const auto bits =
        uint64_t{p.operand_bits[0]} << 32 | p.operand_bits[1] << 16 | p.immediate_bits;
    return HashNumbers({static_cast<uint64_t>(p.mnemonic), p.length, bits,
                        static_cast<uint64_t>(p.memory), static_cast<uint64_t>(p.addressing),
                        static_cast<uint64_t>(p.operand_kinds[1])});
  }
};

class TableMaker {
 public:
  explicit TableMaker(const Analysis& analysis) : analysis_(analysis) {}

  InstructionTable Make(const Work& work) {
    WorkMeter meter(work, analysis_.blocks().size());
    for (const BlockRecord& record : analysis_.blocks()) {
      meter.AdvanceOrThrow();
      Add(record);
    }
    return std::move(table_);
  }

 private:
  uint32_t FindKind(const InstructionProperties& properties) {
    const auto [kind, is_new] =
        kinds_.try_emplace({properties}, static_cast<uint32_t>(table_.kinds.size()));
    if (is_new) table_.kinds.push_back(properties);
    return kind->second;
  }

  // A block may end within its last instruction, after a lock prefix that other code jumps over.
  void Add(const BlockRecord& record) {
    const std::vector<uint8_t> code = analysis_.modules().CodeAt(
        record.module, record.block.start,
        record.block.end - record.block.start + kMaxInstructionLength - 1);
    size_t offset = 0;
    for (uint32_t i = 0; i < record.block.instruction_count; ++i) {
      InstructionProperties properties;
      DescribeInstruction(std::span(code).subspan(offset), &properties);
      table_.instructions.push_back({FindKind(properties), static_cast<uint32_t>(offset)});
      offset += properties.length;
    }
  }

  const Analysis& analysis_;
  InstructionTable table_;
  std::unordered_map<HashedProperties, uint32_t, PropertiesHash> kinds_;
};

}  // namespace

InstructionTable MakeInstructionTable(const Analysis& analysis, const Work& work) {
  return TableMaker(analysis).Make(work);
}

}  // namespace hbbp
