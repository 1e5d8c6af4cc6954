// Writes values of JSON.
#ifndef HBBP_LIB_EXPORT_JSON_TEXT_H_
#define HBBP_LIB_EXPORT_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace hbbp {

// Returns a string of JSON. Bytes that are not UTF-8 become U+FFFD.
std::string Quoted(std::string_view text);

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_JSON_TEXT_H_
