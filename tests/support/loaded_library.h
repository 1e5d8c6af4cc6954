// LoadedLibrary calls dlopen, and dlclose when it is destroyed.
#ifndef HBBP_TESTS_SUPPORT_LOADED_LIBRARY_H_
#define HBBP_TESTS_SUPPORT_LOADED_LIBRARY_H_

#include <dlfcn.h>

#include <cstdint>
#include <string>

namespace hbbp {

class LoadedLibrary {
 public:
  explicit LoadedLibrary(const std::string& path) : handle_(::dlopen(path.c_str(), RTLD_NOW)) {}
  LoadedLibrary(const LoadedLibrary&) = delete;
  LoadedLibrary& operator=(const LoadedLibrary&) = delete;
  ~LoadedLibrary() { Close(); }

  bool ok() const { return handle_ != nullptr; }
  uint64_t AddressOf(const char* name) const {
    return reinterpret_cast<uint64_t>(::dlsym(handle_, name));
  }
  template <typename Function>
  Function* As(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }
  void Close() {
    if (handle_ != nullptr) ::dlclose(handle_);
    handle_ = nullptr;
  }

 private:
  void* handle_;
};

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_LOADED_LIBRARY_H_
