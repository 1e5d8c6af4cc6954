// A Scanner sweeps once over the code of a part: Sweep decodes instruction after instruction, skips
// what cannot be decoded, and collects leaders, exits and indirect jumps; SplitPrefixes then adds
// the instructions that branches reach inside others. BlockMap calls ScanFunction for every part
// that it is asked about, and again where a run disproves the decoding.
#include "blocks/function_scan.h"

#include <algorithm>
#include <utility>

#include "blocks/unknown_encoding.h"
#include "isa/control_flow.h"

namespace hbbp {
namespace {

bool IsEndbr64(std::span<const uint8_t> instruction) {
  return instruction.size() == 4 && instruction[0] == 0xf3 && instruction[1] == 0x0f &&
         instruction[2] == 0x1e && instruction[3] == 0xfa;
}

// Zeros between functions would decode as "add %al,(%rax)" and desynchronize the next function.
constexpr uint32_t kMinZeroRun = 4;

uint32_t LeadingZeros(std::span<const uint8_t> code) {
  const auto end = std::find_if(code.begin(), code.end(), [](uint8_t byte) { return byte != 0; });
  return static_cast<uint32_t>(end - code.begin());
}

class Scanner {
 public:
  explicit Scanner(const ScanInput& input) : input_(input) {
    scan_.starts = Bitmap(input.size);
    scan_.leaders = Bitmap(input.size);
  }

  FunctionScan Run() {
    Sweep(FirstOffset());
    SplitPrefixes();
    scan_.leaders.And(scan_.starts);
    for (const uint32_t gap : gaps_) scan_.leaders.Set(gap);
    std::sort(scan_.indirect_jumps.begin(), scan_.indirect_jumps.end());
    std::sort(scan_.exits.begin(), scan_.exits.end());
    scan_.exits.erase(std::unique(scan_.exits.begin(), scan_.exits.end()), scan_.exits.end());
    scan_.exits.shrink_to_fit();
    scan_.indirect_jumps.shrink_to_fit();
    return std::move(scan_);
  }

 private:
  bool Decode(uint32_t offset, ControlFlow* flow) const {
    return DecodeControlFlow(input_.code.subspan(input_.lead_in + offset), input_.start + offset,
                             flow);
  }

  std::span<const uint8_t> Bytes(uint32_t offset, uint32_t size) const {
    return input_.code.subspan(input_.lead_in + offset, size);
  }

  // Returns where an instruction that began in the lead-in ends.
  uint32_t FirstOffset() const {
    uint32_t position = 0;
    while (position < input_.lead_in && position < input_.code.size()) {
      ControlFlow flow;
      const uint64_t address = input_.start - input_.lead_in + position;
      position +=
          DecodeControlFlow(input_.code.subspan(position), address, &flow) ? flow.length : 1;
    }
    const uint32_t offset = position > input_.lead_in ? position - input_.lead_in : 0;
    return input_.known_starts.empty() ? offset : std::min(offset, input_.known_starts.front());
  }

  void Sweep(uint32_t offset) {
    const uint32_t available = input_.code.size() > input_.lead_in
                                   ? static_cast<uint32_t>(std::min<uint64_t>(
                                         input_.size, input_.code.size() - input_.lead_in))
                                   : 0;
    if (offset > 0) gaps_.push_back(0);
    scan_.leaders.Set(offset);
    auto known = input_.known_starts.begin();
    bool in_gap = false;
    bool unreachable = false;  // no instruction since a jump or return but padding
    bool padded = false;
    while (offset < available) {
      while (known != input_.known_starts.end() && *known < offset) ++known;
      const bool is_known = known != input_.known_starts.end() && *known == offset;
      const auto next_known = is_known ? known + 1 : known;

      ControlFlow flow;
      bool decoded = Decode(offset, &flow);
      uint32_t next = decoded ? offset + flow.length : EndOfUndecodable(offset, available);
      const uint32_t zeros = is_known ? 0 : LeadingZeros(Bytes(offset, available - offset));
      if (zeros >= kMinZeroRun) {
        decoded = false;
        next = offset + zeros;
        if (next_known != input_.known_starts.end()) next = std::min(next, *next_known);
      }
      if (decoded && next_known != input_.known_starts.end() && *next_known < next) {
        const uint32_t inside = *next_known;
        if (is_known || SkipsPrefixes(offset, inside, next)) {
          // The code runs both from here and from the middle of this instruction.
          scan_.leaders.Set(inside);
          scan_.leaders.Set(next);
        } else {
          decoded = false;
        }
        next = inside;
      }
      if (!decoded) {
        if (next_known != input_.known_starts.end()) next = std::min(next, *next_known);
        if (!in_gap) gaps_.push_back(offset);
        in_gap = true;
        unreachable = padded = false;
        scan_.undecodable_bytes += next - offset;
        offset = next;
        continue;
      }

      if (in_gap) scan_.leaders.Set(offset);
      in_gap = false;
      const auto bytes = Bytes(offset, flow.length);
      if (IsEndbr64(bytes)) scan_.leaders.Set(offset);
      if (unreachable) {
        if (IsPadding(bytes)) {
          padded = true;
        } else {
          if (padded) scan_.leaders.Set(offset);
          unreachable = padded = false;
        }
      }
      scan_.starts.Set(offset);
      ++scan_.instruction_count;
      if (EndsBlock(flow.kind)) {
        scan_.leaders.Set(next);
        if (!FallsThrough(flow.kind)) {
          unreachable = true;
          padded = false;
        }
        AddBranch(offset, flow);
      }
      offset = next;
    }
    if (offset < input_.size) gaps_.push_back(offset);
    scan_.code_end = offset;
  }

  // Skips instructions of unknown extensions as a whole, but nothing that a branch leads to.
  uint32_t EndOfUndecodable(uint32_t offset, uint32_t available) const {
    const size_t length = LengthOfUnknown(Bytes(offset, available - offset));
    if (length == 0) return offset + 1;
    const uint32_t end = offset + static_cast<uint32_t>(length);
    return std::min(end, scan_.leaders.FindAtOrAfter(offset + 1));
  }

  void AddBranch(uint32_t offset, const ControlFlow& flow) {
    if (flow.kind == BranchKind::kIndirectJump) scan_.indirect_jumps.push_back(offset);
    if (!flow.has_target) return;
    const uint64_t target_offset = flow.target - input_.start;
    if (target_offset < input_.size) {
      scan_.leaders.Set(target_offset);
    } else if (flow.kind != BranchKind::kCall) {
      scan_.exits.push_back(flow.target);
    }
  }

  // Returns whether the instruction at `inside` is the instruction [start, end) without some of its
  // prefixes, such as the "lock" that code jumps over when there is only one thread.
  bool SkipsPrefixes(uint32_t start, uint32_t inside, uint32_t end) const {
    const auto skipped = Bytes(start, inside - start);
    ControlFlow flow;
    return std::all_of(skipped.begin(), skipped.end(), IsLegacyPrefix) && Decode(inside, &flow) &&
           inside + flow.length == end;
  }

  // A branch to the middle of an instruction counts only if it skips prefixes: any other probably
  // comes from data that was decoded as code.
  void SplitPrefixes() {
    for (uint32_t target = scan_.leaders.FindAtOrAfter(0); target != Bitmap::kNone;
         target = scan_.leaders.FindAtOrAfter(target + 1)) {
      if (target == 0 || scan_.starts.Test(target)) continue;
      const uint32_t start = scan_.starts.FindAtOrBefore(target);
      ControlFlow flow;
      if (start == Bitmap::kNone || target - start >= kMaxInstructionLength ||
          !Decode(start, &flow) || start + flow.length <= target ||
          !SkipsPrefixes(start, target, start + flow.length)) {
        continue;
      }
      scan_.starts.Set(target);
      ++scan_.instruction_count;
      scan_.leaders.Set(start + flow.length);
      if (Decode(target, &flow)) AddBranch(target, flow);
    }
  }

  const ScanInput& input_;
  FunctionScan scan_;
  std::vector<uint32_t> gaps_;
};

}  // namespace

bool IsPadding(std::span<const uint8_t> instruction) {
  size_t i = 0;
  while (i < instruction.size() && (instruction[i] == 0x66 || instruction[i] == 0x2e)) ++i;
  const auto opcode = instruction.subspan(i);
  if (opcode.size() == 1) return opcode[0] == 0x90;
  return opcode.size() >= 2 && opcode[0] == 0x0f && opcode[1] == 0x1f;
}

FunctionScan ScanFunction(const ScanInput& input) { return Scanner(input).Run(); }

}  // namespace hbbp
