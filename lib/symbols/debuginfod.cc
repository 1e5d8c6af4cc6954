#include "symbols/debuginfod.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "base/shared_library.h"

namespace hbbp {
namespace {

// These are the functions of <elfutils/debuginfod.h>. The library is loaded for the reasons in
// libdw.h.
struct Libdebuginfod {
  void* (*begin)() = nullptr;
  int (*find_debuginfo)(void* client, const unsigned char* build_id, int size,
                        char** path) = nullptr;
  void (*set_progressfn)(void* client, int (*progress)(void* client, long, long)) = nullptr;
  void (*end)(void* client) = nullptr;
};

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  return *function != nullptr;
}

StatusOr<Libdebuginfod> Load() {
  Libdebuginfod functions;
  const StatusOr<void*> library = LoadSharedLibrary("libdebuginfod.so.1");
  if (!library.ok() || !Find(*library, "debuginfod_begin", &functions.begin) ||
      !Find(*library, "debuginfod_find_debuginfo", &functions.find_debuginfo) ||
      !Find(*library, "debuginfod_set_progressfn", &functions.set_progressfn) ||
      !Find(*library, "debuginfod_end", &functions.end)) {
    return MakeStatus(StatusCode::kUnsupported,
                      "libdebuginfod cannot be loaded; install it (Debian: libdebuginfod1)");
  }
  return functions;
}

// This is the flag of the request that this thread waits for.
thread_local const CancelFlag* cancel_of_request = nullptr;

// A result other than 0 ends the request.
int IsCancelled(void*, long, long) {
  return cancel_of_request != nullptr && cancel_of_request->is_set() ? 1 : 0;
}

}  // namespace

StatusOr<FetchedFile> FetchDebugFile(std::span<const uint8_t> build_id, const CancelFlag* cancel) {
  CancelCheck(cancel).CheckNow();
  const char* const servers = std::getenv("DEBUGINFOD_URLS");
  if (servers == nullptr || *servers == '\0') {
    return MakeStatus(StatusCode::kUnsupported,
                      "DEBUGINFOD_URLS names no server; set it to the one of your distribution");
  }
  HBBP_ASSIGN_OR_RETURN(const Libdebuginfod functions, Load());
  const std::unique_ptr<void, void (*)(void*)> client(functions.begin(), functions.end);
  if (client == nullptr) return MakeStatus(StatusCode::kNoMemory, "libdebuginfod does not start");
  functions.set_progressfn(client.get(), IsCancelled);
  cancel_of_request = cancel;
  char* path = nullptr;
  const int found = functions.find_debuginfo(client.get(), build_id.data(),
                                             static_cast<int>(build_id.size()), &path);
  const std::unique_ptr<char, void (*)(void*)> owned_path(path, &std::free);
  cancel_of_request = nullptr;
  UniqueFd fd(found < 0 ? -1 : found);
  CancelCheck(cancel).CheckNow();
  if (!fd.valid()) {
    return MakeStatus(StatusCode::kNotFound, "debuginfod (%s): %s", servers, std::strerror(-found));
  }
  return FetchedFile{std::move(fd), path == nullptr ? std::string() : path};
}

}  // namespace hbbp
