// StreamsNs executes the first streams of a burst, one instruction after another, on a Processor.
// FindCode describes the blocks of the interpreter's cache for it, each once.
#include "backends/burst_time.h"

#include <emmintrin.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <memory_resource>
#include <string_view>
#include <utility>

#include "backends/instruction_latency.h"
#include "trace/interpreter/execution_width.h"
#include "trace/interpreter/micro_op.h"

namespace hbbp {
namespace {

using trace::InstructionInfo;

constexpr unsigned kRegisters = 64;
constexpr unsigned kWindow = 512;
constexpr double kMispredictionCycles = 20;
// Of branches that the predictor knows nothing of, this share is mispredicted.
constexpr double kMispredictedOfUnknown = 0.05;
// A division occupies the divider for this share of its latency.
constexpr double kDividerShare = 0.4;
// A taken branch ends the group of instructions that flow in together.
constexpr double kTakenBranchCycles = 0.5;
// Calls and returns follow each other at this distance, on an AMD EPYC of family 26 and on an Intel
// processor with AMX. It cannot be measured at the start: on the one it is twice as much for the
// first 0.1 ms behind a system call, on the other a quarter in a loop of few calls.
constexpr double kCallCycles = 2;
// A line that a burst uses for the first time is often not in the first cache but in the next one,
// which costs so much in the mean. Only longer misses are measured.
constexpr double kFirstUseCycles = 2;
// A line that a prefetcher loads from memory takes so long: 64 bytes at 25 GB/s.
constexpr double kStreamedLineNs = 2.5;
// A processor goes on while a store waits for its line, until its buffer of stores is full.
constexpr double kWaitedForStores = 0.5;
// The first cache takes one more for an address with an index, or five for any.
constexpr double kLoadWithIndexCycles = 5;
// A load of a part of what a store has waiting takes so long, and one of more than that waits until
// the store is in the cache.
constexpr double kNarrowForwardCycles = 6;
constexpr double kFailedForwardCycles = 14;
constexpr double kStoreWaitsCycles = 50;
// So many stores wait for the cache while others go on.
constexpr double kStoresAhead = 40;
// The speed where a burst begins is that of so many instructions, or streams with up to so many
// instructions.
constexpr uint64_t kMaxInstructions = 1024;
constexpr size_t kMaxStreams = 64;
constexpr uint64_t kMaxOfStreams = 4096;
constexpr unsigned kMaxOfStream = 4096;
constexpr double kDefaultCyclesPerInstruction = 0.5;
constexpr uint8_t kDefaultLatency = 1;

// An operation of floating point reads and writes these, but does not wait for them.
constexpr uint64_t kNotWaitedFor = trace::kMxcsrBit | trace::kX87Bit;
constexpr uint64_t kGeneralRegisters = 0xffff;

bool CallsOrReturns(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_CALL || mnemonic == ZYDIS_MNEMONIC_RET;
}

bool MovesStackPointer(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_PUSH || mnemonic == ZYDIS_MNEMONIC_POP ||
         CallsOrReturns(mnemonic);
}

// Returns whether both operands that ModRM names are the same register.
bool HasSameRegisters(const ZydisDecodedInstruction& decoded) {
  const auto& modrm = decoded.raw.modrm;
  // Then a part of the opcode is where the other register would be.
  if (decoded.raw.imm[0].size != 0) return false;
  const bool has_prefix_bits = decoded.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;
  if ((decoded.attributes & ZYDIS_ATTRIB_HAS_MODRM) == 0 || modrm.mod != 3) return false;
  // Operations with three operands name the third one elsewhere; the interpreter knows their zeros.
  return !has_prefix_bits && modrm.reg == modrm.rm && decoded.raw.rex.R == decoded.raw.rex.B;
}

// Returns whether a conditional branch behind the instruction executes with it, in no time of its
// own.
bool FusesWithBranch(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_CMP || mnemonic == ZYDIS_MNEMONIC_TEST;
}

bool IsIndirect(const ZydisDecodedInstruction& decoded) {
  const bool jumps =
      decoded.mnemonic == ZYDIS_MNEMONIC_JMP || decoded.mnemonic == ZYDIS_MNEMONIC_CALL;
  return jumps && (decoded.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0;
}

// Returns whether it has one of these prefixes.
bool HasPrefix(const ZydisDecodedInstruction& decoded, std::initializer_list<uint8_t> values) {
  const auto prefixes = std::span(decoded.raw.prefixes).first(decoded.raw.prefix_count);
  return std::ranges::any_of(prefixes, [values](const auto& prefix) {
    return std::ranges::find(values, prefix.value) != values.end();
  });
}

bool IsRepeated(const ZydisDecodedInstruction& decoded) {
  const uint8_t opcode = decoded.opcode;
  const bool is_string = decoded.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
                         ((opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf));
  return is_string && HasPrefix(decoded, {0xf2, 0xf3});
}

// Returns whether others see the load and the store of the instruction as one.
bool IsLocked(const ZydisDecodedInstruction& decoded) {
  const bool is_exchange = decoded.mnemonic == ZYDIS_MNEMONIC_XCHG &&
                           (decoded.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 &&
                           decoded.raw.modrm.mod != 3;
  return is_exchange || HasPrefix(decoded, {0xf0});
}

// Returns how many bytes the instruction loads, or 0 if that is not known.
uint8_t LoadedBytes(const ZydisDecodedInstruction& decoded, bool uses_vectors) {
  switch (decoded.mnemonic) {
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
      return decoded.opcode % 2 == 0 ? 1 : 2;
    case ZYDIS_MNEMONIC_MOVSXD:
      return 4;
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVAPD:
    case ZYDIS_MNEMONIC_MOVUPS:
    case ZYDIS_MNEMONIC_MOVUPD:
    case ZYDIS_MNEMONIC_MOVDQA:
    case ZYDIS_MNEMONIC_MOVDQU:
      return 16;
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVAPD:
    case ZYDIS_MNEMONIC_VMOVUPS:
    case ZYDIS_MNEMONIC_VMOVUPD:
    case ZYDIS_MNEMONIC_VMOVDQA:
    case ZYDIS_MNEMONIC_VMOVDQU:
      return static_cast<uint8_t>(decoded.avx.vector_length / 8);
    default:
      return uses_vectors ? 0 : static_cast<uint8_t>(decoded.operand_width / 8);
  }
}

bool IsScalarMove(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_MOVSD || mnemonic == ZYDIS_MNEMONIC_MOVSS ||
         mnemonic == ZYDIS_MNEMONIC_VMOVSD || mnemonic == ZYDIS_MNEMONIC_VMOVSS;
}

}  // namespace

class BurstTime::Processor {
 public:
  Processor(const ProcessorTiming& timing, double width)
      : timing_(timing), entry_cycles_(1 / width) {}

  uint64_t instructions() const { return instructions_; }
  double cycles() const { return std::max(entry_, finished_); }

  void Execute(const Instruction& instruction) {
    // The window is full until the instruction that was so many before it has finished.
    const double entry_cycles = instruction.is_fused ? 0 : entry_cycles_;
    entry_ = std::max(entry_ + entry_cycles, window_[instructions_ % kWindow]);
    if (instruction.waits) entry_ = std::max(entry_, finished_);
    entry_ += instruction.blocking;
    if (instruction.calls) {
      entry_ = std::max(entry_, call_free_);
      call_free_ = entry_ + kCallCycles;
    }
    double begin = std::max(entry_, ReadyAt(instruction.inputs));
    Stored& stored = FindStored(instruction);
    if (instruction.loads) {
      const bool is_forwarded = stored.key == key_;
      begin = std::max(
          begin, is_forwarded
                     ? std::max(entry_, stored.ready) + ForwardCycles(instruction, stored)
                     : std::max(entry_, ReadyAt(instruction.address)) + LoadCycles(instruction));
    }
    if (instruction.x87.is_any) begin = std::max(begin, x87_.ReadyAt(instruction.x87));
    if (instruction.is_locked) begin = std::max(begin, locked_done_);
    if (instruction.divides) {
      begin = std::max(begin, divider_free_);
      divider_free_ = begin + kDividerShare * instruction.latency;
    }
    done_ = begin + instruction.latency;
    if (instruction.is_locked) locked_done_ = done_;
    if (instruction.stores) {
      stored = {key_, done_, instruction.stored_bytes};
      stores_free_ = std::max(stores_free_, entry_) + timing_.store;
      entry_ = std::max(entry_, stores_free_ - kStoresAhead * timing_.store);
    }
    if (instruction.x87.is_any) x87_.Apply(instruction.x87, done_);
    for (uint64_t outputs = instruction.outputs; outputs != 0; outputs &= outputs - 1) {
      const auto number = static_cast<unsigned>(__builtin_ctzll(outputs));
      if (number < kGprs) ++version_[number];
      if (number != trace::kRsp || !instruction.moves_stack) ready_[number] = done_;
    }
    finished_ = std::max(finished_, done_);
    window_[instructions_++ % kWindow] = finished_;
  }

  // Resolves the branch that was executed last.
  void Resolve(BranchPredictor::Outcome outcome) {
    if (outcome == BranchPredictor::Outcome::kMispredicted) {
      entry_ = std::max(entry_, done_ + kMispredictionCycles);
    } else if (outcome == BranchPredictor::Outcome::kUnknown) {
      entry_ += kMispredictedOfUnknown * kMispredictionCycles;
    }
  }

  void TakeBranch() { entry_ += kTakenBranchCycles; }

 private:
  static constexpr unsigned kGprs = 16;
  static constexpr unsigned kStoredBits = 8;

  struct Stored {
    uint64_t key = 0;
    double ready = 0;
    uint8_t bytes = 0;
  };

  double ReadyAt(uint64_t registers) const {
    double latest = 0;
    for (; registers != 0; registers &= registers - 1) {
      latest = std::max(latest, ready_[__builtin_ctzll(registers)]);
    }
    return latest;
  }

  double LoadCycles(const Instruction& instruction) const {
    return instruction.index == trace::kNoGpr ? timing_.load
                                              : std::max(timing_.load, kLoadWithIndexCycles);
  }

  double ForwardCycles(const Instruction& instruction, const Stored& stored) const {
    const double cycles = instruction.uses_vectors ? timing_.forward_vector : timing_.forward;
    const unsigned loaded = instruction.loaded_bytes;
    const bool is_known = loaded != 0 && stored.bytes != 0 && loaded != stored.bytes;
    if (!is_known || entry_ - stored.ready > kStoreWaitsCycles) return cycles;
    return std::max(cycles, loaded > stored.bytes ? kFailedForwardCycles : kNarrowForwardCycles);
  }

  // Two accesses with the same key are to the same location. Others may be, too.
  Stored& FindStored(const Instruction& instruction) {
    key_ = instruction.location + (uint64_t{version_[instruction.base]} << 16) +
           (uint64_t{version_[instruction.index]} << 40);
    key_ *= 0x9e3779b97f4a7c15;
    return stored_[key_ >> (64 - kStoredBits)];
  }

  const ProcessorTiming& timing_;
  const double entry_cycles_;
  uint64_t instructions_ = 0;
  double entry_ = 0;     // when the newest instruction entered
  double done_ = 0;      // when it was done
  double finished_ = 0;  // when all were
  double divider_free_ = 0;
  double call_free_ = 0;  // when the next call or return may enter
  double locked_done_ = 0;
  double stores_free_ = 0;  // when the next store may go to the cache
  double ready_[kRegisters] = {};
  uint32_t version_[kGprs + 1] = {};  // of no register, too
  uint64_t key_ = 0;
  Stored stored_[size_t{1} << kStoredBits];
  X87Stack x87_;
  double window_[kWindow] = {};
};

const BurstTime::Mnemonic& BurstTime::Find(ZydisMnemonic mnemonic) {
  if (mnemonics_.empty()) mnemonics_.resize(ZYDIS_MNEMONIC_MAX_VALUE + 1);
  Mnemonic& found = mnemonics_[mnemonic];
  if (!found.is_known) {
    found = {.is_known = true,
             .latency = FindLatency(mnemonic, processor_),
             .blocking = FindBlockingCycles(mnemonic, processor_),
             .waits = WaitsForOthers(mnemonic),
             .divides = UsesDivider(mnemonic),
             .makes_zero = MakesZero(mnemonic),
             .is_move = IsMove(mnemonic),
             .is_extension = IsExtension(mnemonic),
             .is_transfer = IsTransfer(mnemonic)};
  }
  return found;
}

BurstTime::Instruction BurstTime::Describe(const trace::Block& block, unsigned number) {
  const InstructionInfo& info = block.infos()[number];
  const bool is_last = number + 1u == block.instruction_count;
  const unsigned end = is_last ? block.code_bytes : block.infos()[number + 1].offset;
  Instruction instruction;
  instruction.length = static_cast<uint8_t>(end - info.offset);
  instruction.base = instruction.index = trace::kNoGpr;
  instruction.outputs = info.writes & ~kNotWaitedFor;
  instruction.inputs = info.reads & ~kNotWaitedFor;
  ZydisDecodedInstruction decoded;
  if (!DecodeWithZydis({block.code() + info.offset, instruction.length}, &decoded)) {
    instruction.latency = 1;
    return instruction;
  }
  const ZydisMnemonic mnemonic = decoded.mnemonic;
  instruction.moves_stack = MovesStackPointer(mnemonic);
  instruction.calls = CallsOrReturns(mnemonic);
  const bool has_operand = (decoded.attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0 &&
                           decoded.raw.modrm.mod != 3 && mnemonic != ZYDIS_MNEMONIC_LEA &&
                           mnemonic != ZYDIS_MNEMONIC_NOP;
  const bool pops = mnemonic == ZYDIS_MNEMONIC_POP || mnemonic == ZYDIS_MNEMONIC_RET;
  const bool pushes = mnemonic == ZYDIS_MNEMONIC_PUSH || mnemonic == ZYDIS_MNEMONIC_CALL;
  instruction.stores = pushes || info.store_bytes != 0;
  // What stores and changes flags has loaded the operand before.
  const bool only_stores = info.store_bytes != 0 && (info.writes & trace::kFlagBits) == 0;
  instruction.loads = pops || (has_operand && !only_stores);
  const Mnemonic& properties = Find(mnemonic);
  instruction.latency = properties.latency;
  instruction.divides = properties.divides;
  instruction.waits = properties.waits;
  instruction.blocking = properties.blocking;
  if (IsRepeated(decoded)) instruction.blocking = static_cast<uint16_t>(processor_.repeat + 0.5);
  instruction.is_locked = IsLocked(decoded);
  if (instruction.is_locked) {
    instruction.loads = true;
    instruction.latency = static_cast<uint8_t>(processor_.locked + 0.5);
  }
  instruction.x87 = EffectOnX87(decoded);
  instruction.uses_vectors = ((info.reads | info.writes) & trace::kVectorStateBits) != 0;
  instruction.loaded_bytes = pops ? 8 : LoadedBytes(decoded, instruction.uses_vectors);
  instruction.stored_bytes = info.store_bytes;
  instruction.may_fuse = FusesWithBranch(mnemonic);
  instruction.is_conditional =
      info.effect == trace::Effect::kBranch && (info.reads & trace::kFlagBits) != 0;
  instruction.is_indirect = IsIndirect(decoded);
  if (properties.makes_zero && HasSameRegisters(decoded))
    instruction.inputs = instruction.latency = 0;
  if (properties.is_transfer && has_operand) instruction.latency = 0;
  const bool is_of_vectors = instruction.uses_vectors && !instruction.x87.is_any;
  if (is_of_vectors && instruction.latency == kDefaultLatency) {
    instruction.latency = static_cast<uint8_t>(processor_.vector + 0.5);
  }
  if (properties.is_move) {
    instruction.latency = properties.is_extension && !has_operand ? kDefaultLatency : 0;
    const bool merges = IsScalarMove(mnemonic) && !has_operand;
    // The interpreter takes the upper part of the destination for an input.
    if (!merges && !instruction.stores) {
      instruction.inputs &= ~instruction.outputs | kGeneralRegisters;
    }
  }
  if (!instruction.loads && !instruction.stores) return instruction;
  instruction.address = info.address;
  instruction.inputs &= ~info.address;
  const trace::MicroOp& op = block.ops()[info.first_op + info.memory_op];
  if (op.base < trace::kNoGpr) instruction.base = op.base;
  if (op.index < trace::kNoGpr) instruction.index = op.index;
  instruction.location = static_cast<uint64_t>(op.displacement) << 12 | uint64_t{op.base} << 6 |
                         uint64_t{op.index} << 2 | op.scale;
  return instruction;
}

void BurstTime::Reset() {
  code_.emplace();
  code_bytes_ = 0;
}

uint64_t BurstTime::Bytes() const {
  const uint64_t table_bytes = code_bytes_ + code_->blocks.bucket_count() * sizeof(void*);
  // Each block of memory is half as large again as the one before, and buckets are not reused.
  return BranchPredictor::Bytes() + mnemonics_.capacity() * sizeof(Mnemonic) + table_bytes +
         table_bytes / 2;
}

BurstTime::Code BurstTime::DescribeAll(const trace::Block& block) {
  const size_t count = block.instruction_count;
  Instruction* const all =
      std::pmr::polymorphic_allocator<>(&code_->memory).allocate_object<Instruction>(count);
  for (unsigned i = 0; i < count; ++i) {
    Instruction* const instruction = std::construct_at(all + i, Describe(block, i));
    instruction->is_fused = instruction->is_conditional && i != 0 && all[i - 1].may_fuse;
  }
  return {all, count};
}

// Returns nothing if the cache does not have the code.
BurstTime::Code BurstTime::FindCode(uint64_t ip) {
  if (const auto found = code_->blocks.find(ip); found != code_->blocks.end()) return found->second;
  const trace::BlockRef ref = code_cache_.Find(ip);
  if (ref == trace::kNoBlock) return {};
  const trace::Block& block = *code_cache_.At(ref);
  constexpr uint64_t kPointerBytes = sizeof(void*);  // of a node of the table
  constexpr uint64_t kNodeBytes = sizeof(std::pair<const uint64_t, Code>) + kPointerBytes;
  const uint64_t block_bytes = kNodeBytes + block.instruction_count * sizeof(Instruction);
  // The table may double its buckets for the new one.
  const uint64_t bytes = Bytes() + block_bytes + code_->blocks.bucket_count() * sizeof(void*);
  if (bytes > max_bytes_) Reset();
  code_bytes_ += block_bytes;
  return code_->blocks[ip] = DescribeAll(block);
}

// Executes the stream between two branches, or as much of it as is known. Returns whether that is
// all.
bool BurstTime::Execute(const TakenBranch& first, const TakenBranch& last, Processor* processor) {
  const uint64_t limit = processor->instructions() + kMaxOfStream;
  uint64_t ip = first.to;
  while (processor->instructions() < limit) {
    const Code code = FindCode(ip);
    if (code.empty()) return false;
    for (const Instruction& instruction : code) {
      processor->Execute(instruction);
      const bool is_last = ip == last.from;
      if (instruction.is_conditional) {
        processor->Resolve(predictor_.AddConditional(ip, is_last));
      } else if (instruction.is_indirect && is_last) {
        processor->Resolve(predictor_.AddIndirect(ip, last.to));
      }
      if (is_last) return true;
      ip += instruction.length;
    }
  }
  return false;
}

// Returns how many instructions a cycle the processor executed at most.
double BurstTime::WidthFrom(uint16_t width_ticks) const {
  const uint16_t of_reading = processor_.accesses.hit;
  if (width_ticks <= of_reading) return processor_.instructions_per_cycle;
  const double cycles =
      (width_ticks - of_reading) * processor_.ns_per_tick / processor_.ns_per_cycle;
  return std::clamp(trace::kInstructionsOfWidth / cycles, kMinWidth, kMaxWidth);
}

double BurstTime::StreamsNs(std::span<const TakenBranch> branches, uint64_t instructions,
                            LengthUnit unit, uint16_t width_ticks) {
  const bool is_of_streams = unit == LengthUnit::kStreams;
  const size_t end = is_of_streams ? std::min(branches.size(), kMaxStreams + 1) : branches.size();
  const uint64_t max_instructions = is_of_streams ? kMaxOfStreams : kMaxInstructions;
  Processor processor(processor_, WidthFrom(width_ticks));
  predictor_.StartBurst();
  size_t streams = 0;  // that are known
  for (size_t i = 1; i < end && processor.instructions() < max_instructions; ++i) {
    predictor_.AddToHistory(branches[i - 1]);
    streams += Execute(branches[i - 1], branches[i], &processor);
    processor.TakeBranch();
  }
  const size_t known = is_of_streams ? streams : processor.instructions();
  const size_t all = is_of_streams ? branches.size() - 1 : instructions;
  const double cycles =
      known == 0 ? kDefaultCyclesPerInstruction * static_cast<double>(instructions)
                 : processor.cycles() / static_cast<double>(known) * static_cast<double>(all);
  return cycles * processor_.ns_per_cycle;
}

double BurstTime::WithMissesNs(double streams_ns, const trace::MemoryUse& use, double share) const {
  const double miss_ticks = static_cast<double>(use.miss_ticks) +
                            kWaitedForStores * static_cast<double>(use.store_miss_ticks);
  const double streamed_ns = kStreamedLineNs * static_cast<double>(use.streamed_lines);
  const double misses_ns = share * (miss_ticks * processor_.ns_per_tick + streamed_ns);
  // The streams have them as if they moved words.
  const double empty_repeat_cycles = std::max(0.0, processor_.empty_repeat - processor_.repeat);
  const double cycles = kFirstUseCycles * static_cast<double>(use.lines) +
                        empty_repeat_cycles * static_cast<double>(use.empty_repeats);
  const double computing_ns = streams_ns + share * cycles * processor_.ns_per_cycle;
  // libm would do it, which a preload library must not bring along.
  const __m128d sum = _mm_set_sd(computing_ns * computing_ns + misses_ns * misses_ns);
  const double of_faults = share * static_cast<double>(use.page_faults);
  return _mm_cvtsd_f64(_mm_sqrt_sd(sum, sum)) + of_faults * processor_.page_fault_ns;
}

}  // namespace hbbp
