// JoinedKey wraps another key, and gives values with the same name one value.
//
// Functions, modules and threads that the profile lists separately may have the same name: static
// functions, builds of one file, threads of several runs. The errors of their sums cannot be added
// up afterwards, because streams make them depend on each other; a pivot by a joined key sums them
// itself.
#ifndef HBBP_LIB_MIX_JOINED_KEY_H_
#define HBBP_LIB_MIX_JOINED_KEY_H_

#include <string>
#include <unordered_map>
#include <vector>

#include "mix/pivot_key.h"

namespace hbbp {

class JoinedKey : public PivotKey {
 public:
  // The key must outlive this one.
  explicit JoinedKey(PivotKey* key) : PivotKey(key->name(), key->level()), key_(*key) {}

  bool DoesWithoutCode() const override { return key_.DoesWithoutCode(); }
  uint32_t ValueOf(const PivotContext& context) override;
  // Returns the label of the first value with this name.
  PivotLabel LabelOf(uint32_t value) const override { return key_.LabelOf(firsts_[value]); }

 private:
  PivotKey& key_;
  std::vector<uint32_t> values_;  // by value of the key; kNoIndex: not requested yet
  std::vector<uint32_t> firsts_;  // values of the key
  std::unordered_map<std::string, uint32_t> value_of_name_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_JOINED_KEY_H_
