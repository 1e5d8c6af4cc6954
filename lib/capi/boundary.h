// What every function of the C ABI does at its edge: no exception leaves, errors are filled in,
// structs of other sizes are understood.
#ifndef HBBP_LIB_CAPI_BOUNDARY_H_
#define HBBP_LIB_CAPI_BOUNDARY_H_

#include <hbbp/hbbp.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <type_traits>

#include "base/status.h"
#include "base/work.h"

namespace hbbp::capi {

// Writes `status` into `error`, which may be NULL, unless it is kOk.
hbbp_status Report(const Status& status, hbbp_error* error);

Status NullArgument(const char* function, const char* argument);
// Of an input's field that has no meaning yet. `field` is called as "hbbp_import_options.reserved".
Status CheckReserved(const char* field, uint32_t value);
Status BadIndex(const char* function, size_t index, size_t count);

// Calls `body`, which returns a Status.
template <typename Body>
hbbp_status Guard(hbbp_error* error, Body&& body) {
  try {
    return Report(body(), error);
  } catch (const WorkCancelled&) {
    return Report(CancelledStatus(), error);
  } catch (const std::bad_alloc&) {
    return Report(MakeStatus(StatusCode::kNoMemory, "out of memory"), error);
  } catch (const std::exception& exception) {
    return Report(MakeStatus(StatusCode::kInternal, "%s; please report this", exception.what()),
                  error);
  } catch (...) {
    return Report(MakeStatus(StatusCode::kInternal, "unknown exception; please report this"),
                  error);
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

// The caller's struct as this library knows it: fields that the caller's version lacks are zero.
template <typename Struct>
Status ReadInput(const Struct* input, const char* name, Struct* full) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  *full = {};
  const size_t size = input->struct_size;
  if (size < sizeof(uint32_t) * 2 || size > 4096) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s.struct_size is %zu; set it to sizeof(%s), or use HBBP_INIT", name, size,
                      name);
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(input);
  for (size_t i = sizeof(Struct); i < size; ++i) {
    if (bytes[i] != 0) {
      return MakeStatus(StatusCode::kVersion,
                        "%s has a field at byte %zu that libhbbp %s does not know; use a newer "
                        "library or leave the field 0",
                        name, i, HBBP_VERSION_STRING);
    }
  }
  std::memcpy(full, input, std::min(size, sizeof(Struct)));
  return OkStatus();
}

// Fills as much as the caller's struct has; fields that this library lacks become zero.
template <typename Struct>
Status WriteOutput(const Struct& full, const char* name, Struct* output) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  const size_t size = output->struct_size;
  if (size < sizeof(uint32_t) * 2 || size > 4096) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "%s.struct_size is %zu; set it to sizeof(%s), or use HBBP_INIT", name, size,
                      name);
  }
  auto* bytes = reinterpret_cast<unsigned char*>(output);
  std::memcpy(bytes, &full, std::min(size, sizeof(Struct)));
  if (size > sizeof(Struct)) std::memset(bytes + sizeof(Struct), 0, size - sizeof(Struct));
  output->struct_size = static_cast<uint32_t>(size);
  return OkStatus();
}

// As much of the text as fits, with a final 0; nothing without a buffer.
inline void CopyText(std::string_view text, char* buffer, size_t size) {
  if (buffer == nullptr || size == 0) return;
  const size_t length = std::min(text.size(), size - 1);
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
}

// What messages call a function that copies a list, its struct, and the array.
struct ListNames {
  const char* function;
  const char* type;
  const char* output;
  const char* size = "size";
};

// Which part of a list is asked for, and the bytes of each of the caller's structs.
struct ListPart {
  size_t first;
  size_t count;
  size_t size;
};

// Elements [first, first + count) of a list into an array of the caller's. make(i) returns
// element i.
template <typename Struct, typename Make>
Status CopyList(const ListNames& names, size_t list_size, const ListPart& part, Struct* output,
                size_t* copied, Make&& make) {
  const auto [first, count, size] = part;
  if (output == nullptr && count > 0) return NullArgument(names.function, names.output);
  if (copied == nullptr) return NullArgument(names.function, "copied");
  constexpr size_t kLargestStruct = 4096;
  if (size < 2 * sizeof(uint32_t) || size > kLargestStruct || size % alignof(Struct) != 0) {
    return MakeStatus(StatusCode::kInvalidArgument, "%s: %s is %zu; pass sizeof(%s)",
                      names.function, names.size, size, names.type);
  }
  *copied = std::min(count, first < list_size ? list_size - first : 0);
  auto* position = reinterpret_cast<unsigned char*>(output);
  for (size_t i = 0; i < *copied; ++i, position += size) {
    const auto struct_size = static_cast<uint32_t>(size);
    std::memcpy(position, &struct_size, sizeof(struct_size));
    HBBP_RETURN_IF_ERROR(
        WriteOutput(make(first + i), names.type, reinterpret_cast<Struct*>(position)));
  }
  return OkStatus();
}

// The whole of a function that copies a list of `handle`. make(*handle, i) returns element i.
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

// Of the index of a source, for lists that each source has.
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
