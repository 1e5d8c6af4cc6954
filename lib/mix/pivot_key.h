// PivotKey is what rows and columns of a pivot can stand for, and what its filter can refer to.
//
// A key maps every context of a PivotInput to a number, its value there, and every value to a
// label. The pivot calls ValueOf as rarely as `level` allows, and LabelOf only for what it shows.
#ifndef HBBP_LIB_MIX_PIVOT_KEY_H_
#define HBBP_LIB_MIX_PIVOT_KEY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mix/pivot_input.h"

namespace hbbp {

// The level of a key says what its value depends on.
enum class KeyLevel : uint8_t { kObservation, kBlock, kKind, kInstruction };

// A PivotContext is what a key computes its value from. The level of the key says which pointers
// are set: at kObservation `observation`, at kBlock `block`, and otherwise all but `observation`.
// At kKind the value depends on the kind alone.
struct PivotContext {
  const PivotObservation* observation = nullptr;
  const PivotBlock* block = nullptr;
  const InstructionProperties* kind = nullptr;
  const InstructionEntry* instruction = nullptr;
};

enum class LabelKind : uint8_t { kText, kNumber, kAddress };

struct PivotLabel {
  LabelKind kind = LabelKind::kText;
  std::string text;           // set for numbers and addresses too
  uint64_t number = 0;        // the number or address; for a name of a fixed list, its number there
  uint32_t index = kNoIndex;  // in the profile's list that the key refers to, if there is one
};

// Orders numbers before texts, each in their order, and equal ones by index.
bool IsBefore(const PivotLabel& a, const PivotLabel& b);

PivotLabel TextLabel(std::string text, uint32_t index = kNoIndex);
PivotLabel NumberLabel(uint64_t number, uint32_t index = kNoIndex);
PivotLabel AddressLabel(uint64_t address, uint32_t index = kNoIndex);

// This value stands for code that is missing, in keys that depend on code.
inline constexpr uint32_t kNoCode = kNoIndex;
PivotLabel NoCodeLabel();

class PivotKey {
 public:
  PivotKey(std::string name, KeyLevel level) : name_(std::move(name)), level_(level) {}
  virtual ~PivotKey() = default;

  const std::string& name() const { return name_; }
  KeyLevel level() const { return level_; }
  // Returns whether it has values where code is missing (PivotBlock::block is kNoIndex). Otherwise
  // ValueOf is not called there.
  virtual bool DoesWithoutCode() const { return level_ == KeyLevel::kObservation; }

  // Returns whether filters compare its values as numbers.
  virtual bool is_number() const { return false; }
  // Returns all labels that are possible, by value, if they are known. Filters then refuse others.
  virtual std::vector<std::string_view> FixedLabels() const { return {}; }

  // Returns the number of a value, which must be small because it is the index of tables.
  virtual uint32_t ValueOf(const PivotContext& context) = 0;
  virtual PivotLabel LabelOf(uint32_t value) const = 0;
  // Returns the name by which values are joined (joined_key.h).
  virtual std::string DisplayName(uint32_t value) const { return LabelOf(value).text; }
  // Returns other names by which filters may refer to the value.
  virtual std::vector<std::string> AliasesOf(uint32_t /*value*/) const { return {}; }

 private:
  const std::string name_;
  const KeyLevel level_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_KEY_H_
