// Reads options of a session from text, as HBBP_OPTIONS has them.
#ifndef HBBP_LIB_CAPI_OPTION_TEXT_H_
#define HBBP_LIB_CAPI_OPTION_TEXT_H_

#include <hbbp/session.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace hbbp::capi {

// Reads "source=swbt,period=2000000,max_overhead=0.01": names are those of hbbp_session_options,
// and enumerators are given by the end of their names, with "-" for "_". `event_name` is what the
// options point to.
// Errors: kInvalidArgument, with the part of the text that is wrong.
Status ReadOptionText(std::string_view text, hbbp_session_options* options,
                      std::string* event_name);

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_OPTION_TEXT_H_
