// Reads text line by line from a source that may be a pipe.
#ifndef HBBP_LIB_PERF_DATA_TEXT_LINES_H_
#define HBBP_LIB_PERF_DATA_TEXT_LINES_H_

#include <functional>
#include <string_view>

#include "base/status.h"
#include "base/work.h"
#include "perf_data/byte_source.h"

namespace hbbp {

// Calls visit(line) for each line, without its end. Lines of more than 16 MiB are cut. Reports the
// work in bytes.
Status ReadLines(ByteSource* source, const Work& work,
                 const std::function<void(std::string_view line)>& visit);

}  // namespace hbbp

#endif  // HBBP_LIB_PERF_DATA_TEXT_LINES_H_
