// Every function of the C ABI does this at its edge: no exception leaves, errors are filled in,
// structs of other sizes are understood.
#ifndef HBBP_LIB_CAPI_BOUNDARY_H_
#define HBBP_LIB_CAPI_BOUNDARY_H_

#include <hbbp/hbbp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace hbbp::capi {

inline constexpr size_t kMaxStructBytes = 4096;

// Writes `status` into `error`, which may be NULL, unless it is kOk.
hbbp_status Report(const Status& status, hbbp_error* error);

Status NullArgument(const char* function, const char* argument);
// Checks an input's field that has no meaning yet. `field` is "hbbp_import_options.reserved" or so.
Status CheckReserved(const char* field, uint32_t value);
Status BadIndex(const char* function, size_t index, size_t count);

// Reports the exception that a handler has caught, without allocating.
hbbp_status ReportException(hbbp_error* error) noexcept;

// Calls `body`, which returns a Status.
template <typename Body>
hbbp_status Guard(hbbp_error* error, Body&& body) {
  try {
    return Report(body(), error);
  } catch (...) {
    return ReportException(error);
  }
}

// Every list of the ABI can be asked for its length, which cannot fail.
template <typename Body>
size_t GuardCount(Body&& body) {
  try {
    return body();
  } catch (...) {
    return 0;
  }
}

// Do what ReadInput and WriteOutput do, with `size` bytes of a struct as this library knows it.
Status ReadStruct(const void* input, const char* name, void* full, size_t size);
Status WriteStruct(const void* full, const char* name, void* output, size_t size);

// Copies the caller's struct into one as this library knows it; fields that the caller's version
// lacks become zero.
template <typename Struct>
Status ReadInput(const Struct* input, const char* name, Struct* full) {
  static_assert(std::is_trivially_copyable_v<Struct> && offsetof(Struct, struct_size) == 0);
  return ReadStruct(input, name, full, sizeof(Struct));
}

// Fills as much as the caller's struct has; fields that this library lacks become zero.
template <typename Struct>
Status WriteOutput(const Struct& full, const char* name, Struct* output) {
  static_assert(std::is_trivially_copyable_v<Struct> && offsetof(Struct, struct_size) == 0);
  return WriteStruct(&full, name, output, sizeof(Struct));
}

// Copies as much of the text as fits, with a final 0; nothing without a buffer.
inline void CopyText(std::string_view text, char* buffer, size_t size) {
  if (buffer == nullptr || size == 0) return;
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
}

// The names that messages have for a function that copies a list, its struct, and the array.
struct ListNames {
  const char* function;
  const char* type;
  const char* output;
  const char* size = "size";
};

// The part of a list that is asked for, and the bytes of each of the caller's structs.
struct ListPart {
  size_t first;
  size_t count;
  size_t size;
};

// Says how the elements of a list are made: write(make, i, element) writes element i, a struct as
// this library knows it.
struct ListElements {
  size_t size;
  size_t alignment;
  void (*write)(const void* make, size_t index, void* element);
  const void* make;
};

Status CopyElements(const ListNames& names, size_t list_size, const ListPart& part,
                    const ListElements& elements, void* output, size_t* copied);

// Copies elements [first, first + count) of a list into an array of the caller's. make(i) returns
// element i.
template <typename Struct, typename Make>
Status CopyList(const ListNames& names, size_t list_size, const ListPart& part, Struct* output,
                size_t* copied, const Make& make) {
  static_assert(std::is_trivially_copyable_v<Struct> && sizeof(Struct) <= kMaxStructBytes);
  const auto write = [](const void* maker, size_t index, void* element) {
    const Struct made = (*static_cast<const Make*>(maker))(index);
    std::memcpy(element, &made, sizeof(made));
  };
  return CopyElements(names, list_size, part, {sizeof(Struct), alignof(Struct), write, &make},
                      output, copied);
}

// Is the whole of a function that copies a list of `handle`. make(*handle, i) returns element i.
template <typename Handle, typename Struct, typename Make>
hbbp_status CopyHandleList(const ListNames& names, const char* handle_name, const Handle* handle,
                           size_t list_size, const ListPart& part, Struct* output, size_t* copied,
                           hbbp_error* error, Make&& make) {
  return Guard(error, [&]() -> Status {
    if (handle == nullptr) return NullArgument(names.function, handle_name);
    return CopyList(names, list_size, part, output, copied,
                    [&](size_t index) { return make(*handle, index); });
  });
}

// Checks the index of a source, for lists that each source has.
inline Status CheckSource(const char* function, size_t source, size_t count) {
  if (source < count) return OkStatus();
  return MakeStatus(StatusCode::kInvalidArgument, "%s: source %zu of %zu", function, source, count);
}

inline hbbp_counter MakeCounter(const char* name, uint64_t value) {
  HBBP_INIT(hbbp_counter, counter);
  counter.name = name;
  counter.value = value;
  return counter;
}

}  // namespace hbbp::capi

#endif  // HBBP_LIB_CAPI_BOUNDARY_H_
