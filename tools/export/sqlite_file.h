// MakeSqliteFile makes a database of statements of SQL.
#ifndef HBBP_TOOLS_EXPORT_SQLITE_FILE_H_
#define HBBP_TOOLS_EXPORT_SQLITE_FILE_H_

#include <string>

#include "base/status.h"

namespace hbbp::tools {

// Returns the bytes of the file. Loads SQLite's library; returns kUnsupported where it cannot be
// loaded, and kInternal for what SQLite refuses.
StatusOr<std::string> MakeSqliteFile(const std::string& statements);

}  // namespace hbbp::tools

#endif  // HBBP_TOOLS_EXPORT_SQLITE_FILE_H_
