// Each key is a class: ProcessKey to LoopKey read records of the analysis by the indices in the
// context, and FileKey, LineKey and InlinedKey, which derive from DebugInfoKey, find lines by
// LineTableCache and keep the last line range, because instructions come in order of address. The
// table kKnown at the end makes them by name. QueryKeys calls it.
#include "mix/profile_keys.h"

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/linux_constants.h"
#include "mix/number_pairs.h"
#include "symbols/demangle.h"
#include "symbols/line_table.h"

namespace hbbp {
namespace {

class ProfileKey : public PivotKey {
 public:
  ProfileKey(std::string_view name, KeyLevel level, const PivotSubject& subject)
      : PivotKey(std::string(name), level), subject_(subject) {}

 protected:
  const PivotSubject& subject() const { return subject_; }
  const Analysis& analysis() const { return subject_.analysis; }
  const ProfileData& data() const { return analysis().data(); }

 private:
  const PivotSubject& subject_;
};

class ProcessKey : public ProfileKey {
 public:
  explicit ProcessKey(const PivotSubject& subject)
      : ProfileKey("process", KeyLevel::kObservation, subject) {
    for (const ThreadRecord& thread : data().threads) {
      const auto [number, is_new] =
          numbers_.try_emplace(thread.pid, static_cast<uint32_t>(pids_.size()));
      if (is_new) pids_.push_back(thread.pid);
      process_of_thread_.push_back(number->second);
    }
  }
  uint32_t ValueOf(const PivotContext& context) override {
    return process_of_thread_[context.observation->thread];
  }
  PivotLabel LabelOf(uint32_t value) const override { return NumberLabel(pids_[value]); }
  bool is_number() const override { return true; }

 private:
  std::map<uint32_t, uint32_t> numbers_;
  std::vector<uint32_t> pids_;
  std::vector<uint32_t> process_of_thread_;
};

class ThreadKey : public ProfileKey {
 public:
  explicit ThreadKey(const PivotSubject& subject)
      : ProfileKey("thread", KeyLevel::kObservation, subject) {}
  uint32_t ValueOf(const PivotContext& context) override { return context.observation->thread; }
  PivotLabel LabelOf(uint32_t value) const override {
    return NumberLabel(data().threads[value].tid, value);
  }
  std::vector<std::string> AliasesOf(uint32_t value) const override {
    return {data().threads[value].name};
  }
};

std::vector<std::string> LastPart(std::string_view path) {
  return {std::string(path.substr(path.rfind('/') + 1))};
}

class ModuleKey : public ProfileKey {
 public:
  explicit ModuleKey(const PivotSubject& subject)
      : ProfileKey("module", KeyLevel::kBlock, subject) {}
  bool DoesWithoutCode() const override { return true; }
  uint32_t ValueOf(const PivotContext& context) override { return context.block->module; }
  PivotLabel LabelOf(uint32_t value) const override {
    return TextLabel(data().modules[value].path, value);
  }
  std::vector<std::string> AliasesOf(uint32_t value) const override {
    return LastPart(WithoutDeletedSuffix(data().modules[value].path));
  }
};

// Returns "a::f(int)" and "a::f".
std::vector<std::string> NamesInConditions(std::string demangled) {
  std::string without(WithoutParameters(demangled));
  return {std::move(demangled), std::move(without)};
}

class FunctionKey : public ProfileKey {
 public:
  explicit FunctionKey(const PivotSubject& subject)
      : ProfileKey("function", KeyLevel::kBlock, subject) {}
  bool DoesWithoutCode() const override { return true; }
  uint32_t ValueOf(const PivotContext& context) override { return context.block->function; }
  PivotLabel LabelOf(uint32_t value) const override {
    return TextLabel(analysis().functions()[value].name, value);
  }
  std::string DisplayName(uint32_t value) const override {
    return Demangle(analysis().functions()[value].name);
  }
  std::vector<std::string> AliasesOf(uint32_t value) const override {
    return NamesInConditions(DisplayName(value));
  }
};

class BlockKey : public ProfileKey {
 public:
  explicit BlockKey(const PivotSubject& subject) : ProfileKey("block", KeyLevel::kBlock, subject) {}
  uint32_t ValueOf(const PivotContext& context) override { return context.block->block; }
  PivotLabel LabelOf(uint32_t value) const override {
    return AddressLabel(analysis().blocks()[value].block.start.value, value);
  }
  bool is_number() const override { return true; }
};

class AddressKey : public ProfileKey {
 public:
  explicit AddressKey(const PivotSubject& subject)
      : ProfileKey("address", KeyLevel::kInstruction, subject) {}
  uint32_t ValueOf(const PivotContext& context) override {
    return addresses_.Combine(context.block->block, context.instruction->offset);
  }
  PivotLabel LabelOf(uint32_t value) const override {
    const auto [block, offset] = addresses_.Parts(value);
    const BlockRecord& record = analysis().blocks()[block];
    return AddressLabel((record.block.start + offset).value, record.module);
  }
  bool is_number() const override { return true; }

 private:
  NumberPairs addresses_;  // block and offset
};

class SourceKey : public ProfileKey {
 public:
  explicit SourceKey(const PivotSubject& subject)
      : ProfileKey("source", KeyLevel::kBlock, subject) {}
  bool DoesWithoutCode() const override { return true; }
  uint32_t ValueOf(const PivotContext& context) override {
    return static_cast<uint32_t>(context.block->source);
  }
  PivotLabel LabelOf(uint32_t value) const override {
    return TextLabel(SourceName(static_cast<SourceKind>(value)));
  }
  std::vector<std::string_view> FixedLabels() const override {
    std::vector<std::string_view> words(static_cast<size_t>(SourceKind::kCombined) + 1);
    for (const SourceKind kind :
         {SourceKind::kNone, SourceKind::kEbs, SourceKind::kLbr, SourceKind::kIbs,
          SourceKind::kSwbt, SourceKind::kTruth, SourceKind::kCombined}) {
      words[static_cast<size_t>(kind)] = SourceName(kind);
    }
    return words;
  }
};

class SliceKey : public ProfileKey {
 public:
  explicit SliceKey(const PivotSubject& subject)
      : ProfileKey("slice", KeyLevel::kObservation, subject) {}
  uint32_t ValueOf(const PivotContext& context) override {
    return context.observation->slice == kNoSlice ? 0 : context.observation->slice + 1;
  }
  PivotLabel LabelOf(uint32_t value) const override {
    return value == 0 ? TextLabel("unknown") : NumberLabel(value - 1, value - 1);
  }
};

// The value is the innermost loop around a block, by the address of its header.
class LoopKey : public ProfileKey {
 public:
  explicit LoopKey(const PivotSubject& subject) : ProfileKey("loop", KeyLevel::kBlock, subject) {}
  uint32_t ValueOf(const PivotContext& context) override {
    const uint32_t loop = subject().loops->innermost[context.block->block];
    return loop == kNoIndex ? 0 : loop + 1;
  }
  PivotLabel LabelOf(uint32_t value) const override {
    if (value == 0) return TextLabel("none");
    return AddressLabel(subject().loops->loops[value - 1].header.value, value - 1);
  }
};

// The value is from the debug information of an instruction, or "unknown".
class DebugInfoKey : public ProfileKey {
 public:
  DebugInfoKey(std::string_view name, const PivotSubject& subject)
      : ProfileKey(name, KeyLevel::kInstruction, subject) {}
  uint32_t ValueOf(const PivotContext& context) override {
    const ModuleAddress address = context.block->start + context.instruction->offset;
    const bool is_known = context.block->module == module_ &&
                          context.block->function == function_ && range_.Contains(address);
    if (!is_known) FindValue(context.block->module, address, context.block->function);
    return value_;
  }
  PivotLabel LabelOf(uint32_t value) const override { return TextLabel(texts_[value]); }

 protected:
  // The innermost frame is the first; there are none if nothing is known.
  virtual std::string MakeText(std::span<const LineFrame> frames, uint32_t function) const = 0;

 private:
  // Returns null if the module has no lines.
  const LineTable* FindLines(uint32_t module) const {
    if (subject().lines == nullptr) return nullptr;
    const auto lines = subject().lines->Open(module);
    return lines.ok() ? *lines : nullptr;
  }

  void FindValue(uint32_t module, ModuleAddress address, uint32_t function) {
    if (module != module_) {
      lines_ = FindLines(module);
      module_ = module;
    }
    function_ = function;
    LineRange found;
    if (lines_ != nullptr) found = lines_->Find(address);
    // An unknown range may span several functions.
    const bool is_known = !found.frames.empty() && !found.frames.front().function.empty();
    range_ = is_known ? found.range : AddressRange();
    std::string text = MakeText(found.frames, function);
    const auto [number, is_new] =
        numbers_.try_emplace(std::move(text), static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(number->first);
    value_ = number->second;
  }

  uint32_t module_ = kNoIndex;
  uint32_t function_ = kNoIndex;
  const LineTable* lines_ = nullptr;
  AddressRange range_;  // where value_ holds, within the function
  uint32_t value_ = 0;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> texts_;
};

class FileKey : public DebugInfoKey {
 public:
  explicit FileKey(const PivotSubject& subject) : DebugInfoKey("file", subject) {}
  std::vector<std::string> AliasesOf(uint32_t value) const override {
    return LastPart(LabelOf(value).text);
  }

 private:
  std::string MakeText(std::span<const LineFrame> frames, uint32_t) const override {
    return frames.empty() || frames.front().file.empty() ? "unknown"
                                                         : std::string(frames.front().file);
  }
};

class LineKey : public DebugInfoKey {
 public:
  explicit LineKey(const PivotSubject& subject) : DebugInfoKey("line", subject) {}
  std::vector<std::string> AliasesOf(uint32_t value) const override {
    return LastPart(LabelOf(value).text);
  }

 private:
  std::string MakeText(std::span<const LineFrame> frames, uint32_t) const override {
    if (frames.empty() || frames.front().file.empty() || frames.front().line == 0) return "unknown";
    return std::string(frames.front().file) + ":" + std::to_string(frames.front().line);
  }
};

// The value is the innermost function. One that is not inlined has the name of its symbol, as in
// exports: debug information calls the destructors of a class all the same.
class InlinedKey : public DebugInfoKey {
 public:
  explicit InlinedKey(const PivotSubject& subject) : DebugInfoKey("inlined", subject) {}
  std::string DisplayName(uint32_t value) const override { return Demangle(LabelOf(value).text); }
  std::vector<std::string> AliasesOf(uint32_t value) const override {
    return NamesInConditions(DisplayName(value));
  }

 private:
  std::string MakeText(std::span<const LineFrame> frames, uint32_t function) const override {
    if (frames.size() > 1 && !frames.front().function.empty()) {
      return std::string(frames.front().function);
    }
    return analysis().functions()[function].name;
  }
};

template <typename Key>
std::unique_ptr<PivotKey> Make(const PivotSubject& subject) {
  return std::make_unique<Key>(subject);
}

struct Known {
  std::string_view name;
  std::unique_ptr<PivotKey> (*make)(const PivotSubject&);
};

constexpr Known kKnown[] = {
    {"process", Make<ProcessKey>},   {"thread", Make<ThreadKey>}, {"module", Make<ModuleKey>},
    {"function", Make<FunctionKey>}, {"block", Make<BlockKey>},   {"address", Make<AddressKey>},
    {"source", Make<SourceKey>},     {"slice", Make<SliceKey>},   {"loop", Make<LoopKey>},
    {"file", Make<FileKey>},         {"line", Make<LineKey>},     {"inlined", Make<InlinedKey>},
};

}  // namespace

const std::vector<std::string_view>& ProfileKeyNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Known& known : kKnown) all.push_back(known.name);
    return all;
  }();
  return names;
}

std::unique_ptr<PivotKey> MakeProfileKey(std::string_view name, const PivotSubject& subject) {
  for (const Known& known : kKnown) {
    if (known.name == name) return known.make(subject);
  }
  return nullptr;
}

}  // namespace hbbp
