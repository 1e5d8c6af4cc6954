// JoinedKey: another key, whose values of one name are one value.
//
// Functions, modules and threads that the profile lists for themselves may have the same name:
// static functions, builds of one file, threads of several runs. The errors of their sums cannot
// be added up afterwards, because streams make them depend on each other; a pivot by a joined key
// sums them itself.
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
  uint32_t ValueOf(const PivotPlace& place) override;
  // That of the first of them that came up.
  PivotLabel LabelOf(uint32_t value) const override { return key_.LabelOf(firsts_[value]); }

 private:
  PivotKey& key_;
  std::vector<uint32_t> values_;  // by value of the key; kNoIndex: not yet asked for
  std::vector<uint32_t> firsts_;  // values of the key
  std::unordered_map<std::string, uint32_t> value_of_name_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_MIX_JOINED_KEY_H_
