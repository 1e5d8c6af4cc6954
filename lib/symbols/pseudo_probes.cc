// PseudoProbes::Read reads the descriptions, and then the trees by TreeReader: it keeps the tree
// that is open as a stack of its functions, and the address of the last probe, as far as it is
// known. Every claimed number is bounded by the bytes that follow. OpenPseudoProbes calls Read.
#include "symbols/pseudo_probes.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/byte_cursor.h"
#include "base/leb128.h"

namespace hbbp {
namespace {

constexpr uint8_t kKindMask = 0x0f, kIndirectCall = 1, kDirectCall = 2;
constexpr uint8_t kSentinel = 0x20, kHasDiscriminator = 0x40, kIsDistance = 0x80;
// LLVM's profiles have 16 bits for an index; clang gives no probes to functions that need more.
constexpr uint64_t kMaxIndex = 0xffff;
constexpr uint32_t kMergedCalls = 0;
// Users walk the callers of a function recursively. Inliners stop far below this depth.
constexpr size_t kMaxDepth = 1000;

Status Damaged(const char* section, size_t offset, const char* what) {
  return MakeStatus(StatusCode::kBadFormat, "%s is damaged at byte %zu: %s", section, offset, what);
}

bool ReadIndex(ByteCursor* cursor, uint32_t* index) {
  uint64_t value;
  if (!ReadUleb128(cursor, &value) || value > kMaxIndex) return false;
  *index = static_cast<uint32_t>(value);
  return true;
}

auto ByGuid(const FunctionStart& start) { return std::tuple(start.guid, start.range.start); }

}  // namespace

class PseudoProbes::TreeReader {
 public:
  TreeReader(std::span<const uint8_t> bytes, PseudoProbes* read) : cursor_(bytes), read_(*read) {}

  Status Run() {
    for (;;) {
      while (!open_.empty() && open_.back().unread == 0) open_.pop_back();
      if (open_.empty()) {
        CountTree();
        if (cursor_.remaining() == 0) return OkStatus();
      }
      HBBP_RETURN_IF_ERROR(ReadFunction());
    }
  }

 private:
  struct OpenFunction {
    uint32_t function;
    uint64_t unread;  // inlined functions
  };
  enum class Omission { kNone, kNoSymbol, kSeveralSymbols };

  Status DamagedHere(const char* what) const {
    return Damaged(".pseudo_probe", cursor_.position(), what);
  }

  // Counts the tree that ended, if a probe of it was left out.
  void CountTree() {
    read_.trees_without_symbol_ += omission_ == Omission::kNoSymbol;
    read_.trees_of_several_symbols_ += omission_ == Omission::kSeveralSymbols;
    omission_ = Omission::kNone;
  }

  Status ReadFunction() {
    ProbedFunction function;
    const bool is_tree = open_.empty();
    if (!is_tree) {
      if (open_.size() > kMaxDepth) return DamagedHere("functions are inlined too deeply");
      --open_.back().unread;
      if (!ReadIndex(&cursor_, &function.call_probe)) {
        return DamagedHere("the probe of an inlined call cannot be read");
      }
      if (function.call_probe != kMergedCalls) function.caller = open_.back().function;
    }
    uint64_t probes, inlined;
    if (!cursor_.Read(&function.guid) || !ReadUleb128(&cursor_, &probes) ||
        !ReadUleb128(&cursor_, &inlined)) {
      return DamagedHere("a function is cut off");
    }
    if (is_tree && !has_addresses_) MoveTo(function.guid);
    const auto number = static_cast<uint32_t>(read_.functions_.size());
    read_.functions_.push_back(function);
    open_.push_back({number, inlined});
    for (uint64_t i = 0; i < probes; ++i) HBBP_RETURN_IF_ERROR(ReadProbe(number));
    return OkStatus();
  }

  Status ReadProbe(uint32_t function) {
    PseudoProbe probe;
    probe.function = function;
    uint8_t flags;
    uint64_t address;
    if (!ReadIndex(&cursor_, &probe.index)) return DamagedHere("the index of a probe is wrong");
    if (!cursor_.Read(&flags) ||
        !((flags & kIsDistance) != 0 ? ReadSleb128(&cursor_, &address) : cursor_.Read(&address))) {
      return DamagedHere("a probe is cut off");
    }
    uint64_t discriminator = 0;
    if ((flags & kHasDiscriminator) != 0 &&
        (!ReadUleb128(&cursor_, &discriminator) || discriminator > UINT32_MAX)) {
      return DamagedHere("the discriminator of a probe cannot be read");
    }
    probe.discriminator = static_cast<uint32_t>(discriminator);
    const uint8_t kind = flags & kKindMask;
    probe.is_call = kind == kIndirectCall || kind == kDirectCall;
    if ((flags & kIsDistance) != 0) {
      if (last_) last_ = *last_ + address;
    } else if ((flags & kSentinel) != 0) {
      has_addresses_ = false;
      MoveTo(address);
    } else {
      has_addresses_ = true;
      last_ = ModuleAddress{address};
      end_.reset();
    }
    if ((flags & kSentinel) != 0) return OkStatus();
    if (!last_) {
      omission_ = unknown_;
    } else if (last_ != end_) {
      probe.address = *last_;
      read_.probes_.push_back(probe);
    }
    return OkStatus();
  }

  // Continues at the start of a function, as far as it is known. A probe at its end is left out: it
  // stood in code that is gone, and the address is that of something else.
  void MoveTo(uint64_t guid) {
    last_.reset();
    end_.reset();
    const auto first = std::ranges::lower_bound(read_.starts_, guid, {}, &FunctionStart::guid);
    const auto end = std::ranges::upper_bound(read_.starts_, guid, {}, &FunctionStart::guid);
    unknown_ = first == end ? Omission::kNoSymbol : Omission::kSeveralSymbols;
    if (end - first != 1) return;
    const AddressRange& range = first->range;
    last_ = range.start;
    if (range.end > range.start) end_ = range.end;
  }

  ByteCursor cursor_;
  PseudoProbes& read_;
  std::vector<OpenFunction> open_;
  std::optional<ModuleAddress> last_;       // of the last probe
  std::optional<ModuleAddress> end_;        // of the function that the tree belongs to
  bool has_addresses_ = false;              // the object file is one of LLVM 15 or older
  Omission unknown_ = Omission::kNoSymbol;  // why last_ is unknown
  Omission omission_ = Omission::kNone;     // of the open tree
};

StatusOr<PseudoProbes> PseudoProbes::Read(std::span<const uint8_t> descriptions,
                                          std::span<const uint8_t> trees,
                                          std::vector<FunctionStart> starts) {
  PseudoProbes read;
  read.starts_ = std::move(starts);
  std::ranges::sort(read.starts_, {}, &ByGuid);
  const auto is_same = [](const FunctionStart& a, const FunctionStart& b) {
    return ByGuid(a) == ByGuid(b);
  };
  read.starts_.erase(std::unique(read.starts_.begin(), read.starts_.end(), is_same),
                     read.starts_.end());
  HBBP_RETURN_IF_ERROR(read.ReadDescriptions(descriptions));
  HBBP_RETURN_IF_ERROR(TreeReader(trees, &read).Run());
  std::ranges::stable_sort(read.probes_, {}, &PseudoProbe::address);
  for (const FunctionStart& start : read.starts_) {
    if (read.Describe(start.guid) != nullptr) read.described_starts_.push_back(start);
  }
  std::ranges::sort(read.described_starts_, {},
                    [](const FunctionStart& start) { return start.range.start; });
  return read;
}

Status PseudoProbes::ReadDescriptions(std::span<const uint8_t> bytes) {
  ByteCursor cursor(bytes);
  while (cursor.remaining() != 0) {
    const size_t offset = cursor.position();
    uint64_t guid, checksum, size;
    std::span<const uint8_t> name;
    if (!cursor.Read(&guid) || !cursor.Read(&checksum) || !ReadUleb128(&cursor, &size) ||
        !cursor.ReadBytes(size, &name)) {
      return Damaged(".pseudo_probe_desc", offset, "a description is cut off");
    }
    const auto [known, is_new] = descriptions_.try_emplace(guid);
    ProbeDescription& description = known->second.description;
    if (is_new) {
      description = {{name.begin(), name.end()}, checksum};
    } else if (description.checksum != checksum) {
      known->second.is_ambiguous = true;
    }
  }
  return OkStatus();
}

std::span<const PseudoProbe> PseudoProbes::At(ModuleAddress address) const {
  return {std::ranges::lower_bound(probes_, address, {}, &PseudoProbe::address),
          std::ranges::upper_bound(probes_, address, {}, &PseudoProbe::address)};
}

const ProbeDescription* PseudoProbes::Describe(uint64_t guid) const {
  const auto found = descriptions_.find(guid);
  if (found == descriptions_.end() || found->second.is_ambiguous) return nullptr;
  return &found->second.description;
}

const ProbeDescription* PseudoProbes::DescribeStart(ModuleAddress address) const {
  const auto found = std::ranges::lower_bound(
      described_starts_, address, {}, [](const FunctionStart& start) { return start.range.start; });
  if (found == described_starts_.end() || found->range.start != address) return nullptr;
  return Describe(found->guid);
}

}  // namespace hbbp
