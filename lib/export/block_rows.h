// BlockRows lists the blocks of a subject with all that is known of each, as a table has them: csv
// and json are written from it.
#ifndef HBBP_LIB_EXPORT_BLOCK_ROWS_H_
#define HBBP_LIB_EXPORT_BLOCK_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/address.h"
#include "export/export_subject.h"
#include "export/frame_finder.h"

namespace hbbp {

inline constexpr std::array<std::string_view, 15> kBlockColumns = {
    "module",         "build_id", "function", "symbol", "start",   "end",  "instructions", "count",
    "standard_error", "low",      "high",     "source", "samples", "file", "line"};

// Nothing stands for what is unknown.
using BlockCell = std::variant<std::monostate, std::string_view, uint64_t, double, ModuleAddress>;
using BlockRow = std::array<BlockCell, kBlockColumns.size()>;

class BlockRows {
 public:
  explicit BlockRows(const ExportSubject& subject)
      : subject_(subject), check_(subject.work.cancel) {}

  // Returns the next block by module and address, whose texts are valid until the next call, or
  // null after the last one. Throws WorkCancelled.
  const BlockRow* Next();

 private:
  void BeginModule(uint32_t module);
  void BeginFunction(uint32_t function);

  const ExportSubject& subject_;
  CancelCheck check_;
  size_t next_ = 0;
  uint32_t module_ = kNoIndex;
  uint32_t function_ = kNoIndex;
  std::string build_id_;
  std::string_view symbol_;
  std::string name_;                   // the symbol, demangled
  std::optional<FrameFinder> finder_;  // of module_, if it has lines
  BlockRow row_;
};

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_BLOCK_ROWS_H_
