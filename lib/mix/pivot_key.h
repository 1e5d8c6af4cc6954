// What rows and columns of a pivot can stand for, and what its filter can ask for.
//
// A key gives every place of a PivotInput a number, its value there, and every value a label. The
// pivot calls ValueOf as seldom as `level` allows, and LabelOf for what it shows only.
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

// What a value depends on.
enum class KeyLevel : uint8_t { kObservation, kBlock, kKind, kInstruction };

// Of its pointers, those are set that the level of a key speaks of: of kObservation `observation`,
// of kBlock `block`, and of the others all but `observation`. What a key of kKind says depends on
// the kind alone.
struct PivotPlace {
  const PivotObservation* observation = nullptr;
  const PivotBlock* block = nullptr;
  const InstructionProperties* kind = nullptr;
  const DescribedInstruction* instruction = nullptr;
};

enum class LabelKind : uint8_t { kText, kNumber, kAddress };

struct PivotLabel {
  LabelKind kind = LabelKind::kText;
  std::string text;           // of numbers and addresses too
  uint64_t number = 0;        // of the other kinds; of a word of a fixed list, its number there
  uint32_t index = kNoIndex;  // in the list of the profile that the key speaks of, if there is one
};

// Numbers before texts, each in their order; the index decides between equal ones.
bool IsBefore(const PivotLabel& a, const PivotLabel& b);

PivotLabel TextLabel(std::string text, uint32_t index = kNoIndex);
PivotLabel NumberLabel(uint64_t number, uint32_t index = kNoIndex);
PivotLabel AddressLabel(uint64_t address, uint32_t index = kNoIndex);

// What a key that looks at code says of code that is missing, in place of its values.
inline constexpr uint32_t kNoCode = kNoIndex;
PivotLabel NoCodeLabel();

class PivotKey {
 public:
  PivotKey(std::string name, KeyLevel level) : name_(std::move(name)), level_(level) {}
  virtual ~PivotKey() = default;

  const std::string& name() const { return name_; }
  KeyLevel level() const { return level_; }
  // Does it have values where code is missing (PivotBlock::block is kNoIndex)? Others are not asked
  // there.
  virtual bool DoesWithoutCode() const { return level_ == KeyLevel::kObservation; }

  // Do filters compare its values as numbers?
  virtual bool is_number() const { return false; }
  // All labels that there can be, by value, if that is known. Filters then refuse other ones.
  virtual std::vector<std::string_view> Words() const { return {}; }

  // The number of a value: small, because there are tables by it.
  virtual uint32_t ValueOf(const PivotPlace& place) = 0;
  virtual PivotLabel LabelOf(uint32_t value) const = 0;
  // Values of one such name are one where names are joined (joined_key.h).
  virtual std::string NameForPeople(uint32_t value) const { return LabelOf(value).text; }
  // What else a filter may call the value.
  virtual std::vector<std::string> AliasesOf(uint32_t /*value*/) const { return {}; }

 private:
  const std::string name_;
  const KeyLevel level_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_PIVOT_KEY_H_
