#include "sqlite_file.h"

#include <dlfcn.h>

#include <cstdint>
#include <memory>

#include "base/shared_library.h"

namespace hbbp::tools {
namespace {

constexpr char kLibrary[] = "libsqlite3.so.0";
constexpr char kWithoutIt[] =
    "install it (Debian: libsqlite3-0), or write --format sql, which sqlite3 FILE.db < FILE.sql "
    "reads on any machine";

struct Database;

// Is loaded because no other format needs it. These are a part of its interface that does not
// change between its versions 3, so that its header is not needed either.
struct Sqlite {
  int (*open)(const char* file, Database** database) = nullptr;
  int (*exec)(Database* database, const char* statements,
              int (*row)(void* user, int columns, char** values, char** names), void* user,
              char** message) = nullptr;
  const char* (*message)(Database* database) = nullptr;
  unsigned char* (*serialize)(Database* database, const char* schema, int64_t* size,
                              unsigned flags) = nullptr;
  void (*free)(void* memory) = nullptr;
  int (*close)(Database* database) = nullptr;
};

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  return *function != nullptr;
}

StatusOr<Sqlite> LoadSqlite() {
  const StatusOr<void*> library = LoadSharedLibrary(kLibrary);
  if (!library.ok()) {
    return MakeStatus(StatusCode::kUnsupported, "%s; %s", library.status().message().c_str(),
                      kWithoutIt);
  }
  Sqlite sqlite;
  const bool has_all = Find(*library, "sqlite3_open", &sqlite.open) &&
                       Find(*library, "sqlite3_exec", &sqlite.exec) &&
                       Find(*library, "sqlite3_errmsg", &sqlite.message) &&
                       Find(*library, "sqlite3_serialize", &sqlite.serialize) &&
                       Find(*library, "sqlite3_free", &sqlite.free) &&
                       Find(*library, "sqlite3_close", &sqlite.close);
  if (!has_all) {
    return MakeStatus(StatusCode::kUnsupported,
                      "%s has no sqlite3_serialize (SQLite 3.36 and later have it); %s", kLibrary,
                      kWithoutIt);
  }
  return sqlite;
}

}  // namespace

StatusOr<std::string> MakeSqliteFile(const std::string& statements) {
  HBBP_ASSIGN_OR_RETURN(const Sqlite sqlite, LoadSqlite());
  Database* opened = nullptr;
  const int status = sqlite.open(":memory:", &opened);
  const std::unique_ptr<Database, int (*)(Database*)> database(opened, sqlite.close);
  const auto failed = [&](const char* what) {
    return MakeStatus(StatusCode::kInternal, "SQLite could not %s: %s", what,
                      sqlite.message(database.get()));
  };
  if (status != 0) return failed("open a database in memory");
  if (sqlite.exec(database.get(), statements.c_str(), nullptr, nullptr, nullptr) != 0) {
    return failed("make the tables");
  }
  int64_t size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes(
      sqlite.serialize(database.get(), "main", &size, 0), sqlite.free);
  if (bytes == nullptr) return failed("write the database");
  return std::string(reinterpret_cast<const char*>(bytes.get()), static_cast<size_t>(size));
}

}  // namespace hbbp::tools
