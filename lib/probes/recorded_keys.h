// The numbers of productions that bursts have only if they were recorded as values.
#ifndef HBBP_LIB_PROBES_RECORDED_KEYS_H_
#define HBBP_LIB_PROBES_RECORDED_KEYS_H_

#include "base/recorded_access.h"
#include "probes/production_keys.h"

namespace hbbp {

struct RecordedKey {
  ProbeKey key;
  RecordedKind kind;
};
inline constexpr RecordedKey kRecordedKeys[] = {{ProbeKey::kDivisor, RecordedKind::kDivisor},
                                                {ProbeKey::kRdi, RecordedKind::kRdi},
                                                {ProbeKey::kRsi, RecordedKind::kRsi},
                                                {ProbeKey::kRdx, RecordedKind::kRdx},
                                                {ProbeKey::kRcx, RecordedKind::kRcx},
                                                {ProbeKey::kR8, RecordedKind::kR8},
                                                {ProbeKey::kR9, RecordedKind::kR9}};

// Returns the keys that are values of these kinds.
constexpr ProbeKeySet KeysOf(RecordedKinds kinds) {
  ProbeKeySet keys = 0;
  for (const RecordedKey& recorded : kRecordedKeys) {
    if ((kinds & SetOf(recorded.kind)) != 0) keys |= SetOf(recorded.key);
  }
  return keys;
}

}  // namespace hbbp

#endif  // HBBP_LIB_PROBES_RECORDED_KEYS_H_
