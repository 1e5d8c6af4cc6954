// ExportSubject is what an export format is written of: an analysis, and how.
#ifndef HBBP_LIB_EXPORT_EXPORT_SUBJECT_H_
#define HBBP_LIB_EXPORT_EXPORT_SUBJECT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "analysis/analysis.h"
#include "analysis/line_table_cache.h"
#include "base/work.h"

namespace hbbp {

struct ExportSubject {
  const Analysis& analysis;
  const LineTableCache& lines;
  uint32_t module = kNoIndex;  // the only one to write; kNoIndex: all
  Work work = {};
  // Gets a line for all that is left out, which says why.
  std::function<void(const std::string& note)> note = {};

  bool Wants(uint32_t other) const { return module == kNoIndex || module == other; }
  void Note(const std::string& text) const {
    if (note) note(text);
  }
};

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_EXPORT_SUBJECT_H_
