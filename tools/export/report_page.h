// Declares the page that shows reports, which web/build.mjs makes of web/src.
#ifndef HBBP_TOOLS_EXPORT_REPORT_PAGE_H_
#define HBBP_TOOLS_EXPORT_REPORT_PAGE_H_

#include <string_view>

namespace hbbp::tools {

inline constexpr std::string_view kPageBeforeData =
#include "page/before_data.inc"
    ;
inline constexpr std::string_view kPageAfterData =
#include "page/after_data.inc"
    ;

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_REPORT_PAGE_H_
