#include "pmu_model/trace_file.h"

#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/byte_cursor.h"

namespace hbbp::simulation {
namespace {

constexpr std::string_view kMagic = "hbbp simulation trace 1\n";

class Encoder {
 public:
  template <typename T>
  void Put(T value) {
    static_assert(std::is_integral_v<T>);
    PutBytes(&value, sizeof(value));
  }
  void PutBytes(const void* bytes, size_t size) {
    const auto* first = static_cast<const uint8_t*>(bytes);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  template <typename Bytes>
  void PutSized(const Bytes& bytes) {
    Put<uint64_t>(bytes.size());
    PutBytes(bytes.data(), bytes.size());
  }
  std::vector<uint8_t> Take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

class TraceDecoder {
 public:
  TraceDecoder(std::span<const uint8_t> bytes, const std::string& name)
      : cursor_(bytes), name_(name) {}

  StatusOr<Trace> Run() {
    std::span<const uint8_t> magic;
    if (!cursor_.ReadBytes(kMagic.size(), &magic) ||
        std::memcmp(magic.data(), kMagic.data(), kMagic.size()) != 0) {
      return Bad("is not a trace of hbbp_pmu_model; make one with --save-trace");
    }
    Trace trace;
    if (!Text(&trace.program) || !Modules(&trace.modules)) return Bad("module is cut off");
    if (!Instructions(&trace.instructions)) return Bad("instruction is not valid or cut off");
    if (!Blocks(trace.instructions.size(), &trace.blocks)) {
      return Bad("block is not valid or cut off");
    }
    if (!cursor_.Read(&trace.entry.from) || !cursor_.Read(&trace.entry.to) ||
        !cursor_.Read(&trace.exit) || !cursor_.Read(&trace.outside)) {
      return Bad("ends are cut off");
    }
    if (!Sequence(trace.blocks.size(), &trace.sequence)) return Bad("sequence is not valid");
    if (cursor_.remaining() != 0) return Bad("there is more than a trace");
    return trace;
  }

 private:
  Status Bad(const char* what) const {
    return MakeStatus(StatusCode::kBadFormat, "%s: byte %zu: %s", name_.c_str(), cursor_.position(),
                      what);
  }

  // Reads how many elements of at least `size` bytes follow.
  bool Count(size_t size, uint64_t* count) {
    return cursor_.Read(count) && *count <= cursor_.remaining() / size;
  }

  bool Text(std::string* text) {
    uint64_t size;
    std::span<const uint8_t> bytes;
    if (!Count(1, &size) || !cursor_.ReadBytes(size, &bytes)) return false;
    text->assign(bytes.begin(), bytes.end());
    return true;
  }

  bool Modules(std::vector<TraceModule>* modules) {
    uint64_t count;
    if (!Count(48, &count)) return false;
    for (uint64_t i = 0; i < count; ++i) {
      TraceModule& module = modules->emplace_back();
      uint64_t size;
      std::span<const uint8_t> build_id;
      if (!Text(&module.path) || !Count(1, &size) || !cursor_.ReadBytes(size, &build_id) ||
          !cursor_.Read(&module.start) || !cursor_.Read(&module.end) ||
          !cursor_.Read(&module.offset) || !cursor_.Read(&module.load_bias)) {
        return false;
      }
      module.build_id.assign(build_id.begin(), build_id.end());
    }
    return true;
  }

  bool Instructions(std::vector<TraceInstruction>* instructions) {
    uint64_t count;
    if (!Count(11, &count)) return false;
    instructions->resize(count);
    for (TraceInstruction& instruction : *instructions) {
      uint8_t branch, kind;
      if (!cursor_.Read(&instruction.address) || !cursor_.Read(&instruction.length) ||
          !cursor_.Read(&branch) || !cursor_.Read(&kind)) {
        return false;
      }
      instruction.branch = static_cast<BranchKind>(branch);
      instruction.kind = static_cast<InstructionClass>(kind);
      if (instruction.branch > BranchKind::kTrap || kind >= kInstructionClasses) return false;
    }
    return true;
  }

  bool Blocks(size_t instructions, std::vector<TraceBlock>* blocks) {
    uint64_t count;
    if (!Count(16, &count)) return false;
    blocks->resize(count);
    for (TraceBlock& block : *blocks) {
      if (!cursor_.Read(&block.start) || !cursor_.Read(&block.first) ||
          !cursor_.Read(&block.count) || block.first > instructions ||
          block.count > instructions - block.first) {
        return false;
      }
    }
    return true;
  }

  bool Sequence(size_t blocks, std::vector<uint32_t>* sequence) {
    uint64_t count;
    std::span<const uint8_t> bytes;
    if (!Count(sizeof(uint32_t), &count) || !cursor_.ReadBytes(count * sizeof(uint32_t), &bytes)) {
      return false;
    }
    sequence->resize(count);
    if (count != 0) std::memcpy(sequence->data(), bytes.data(), bytes.size());
    for (const uint32_t block : *sequence) {
      if (block >= blocks) return false;
    }
    return true;
  }

  ByteCursor cursor_;
  const std::string& name_;
};

}  // namespace

std::vector<uint8_t> EncodeTrace(const Trace& trace) {
  Encoder encoder;
  encoder.PutBytes(kMagic.data(), kMagic.size());
  encoder.PutSized(trace.program);
  encoder.Put<uint64_t>(trace.modules.size());
  for (const TraceModule& module : trace.modules) {
    encoder.PutSized(module.path);
    encoder.PutSized(module.build_id);
    for (const uint64_t number : {module.start, module.end, module.offset, module.load_bias}) {
      encoder.Put(number);
    }
  }
  encoder.Put<uint64_t>(trace.instructions.size());
  for (const TraceInstruction& instruction : trace.instructions) {
    encoder.Put(instruction.address);
    encoder.Put(instruction.length);
    encoder.Put(static_cast<uint8_t>(instruction.branch));
    encoder.Put(static_cast<uint8_t>(instruction.kind));
  }
  encoder.Put<uint64_t>(trace.blocks.size());
  for (const TraceBlock& block : trace.blocks) {
    encoder.Put(block.start);
    encoder.Put(block.first);
    encoder.Put(block.count);
  }
  for (const uint64_t number : {trace.entry.from, trace.entry.to, trace.exit, trace.outside}) {
    encoder.Put(number);
  }
  encoder.Put<uint64_t>(trace.sequence.size());
  encoder.PutBytes(trace.sequence.data(), trace.sequence.size() * sizeof(uint32_t));
  return encoder.Take();
}

StatusOr<Trace> DecodeTrace(std::span<const uint8_t> bytes, const std::string& name) {
  return TraceDecoder(bytes, name).Run();
}

}  // namespace hbbp::simulation
