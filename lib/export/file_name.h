// FileName is the last part of a path.
#ifndef HBBP_LIB_EXPORT_FILE_NAME_H_
#define HBBP_LIB_EXPORT_FILE_NAME_H_

#include <string_view>

namespace hbbp {

inline std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace hbbp

#endif  // HBBP_LIB_EXPORT_FILE_NAME_H_
