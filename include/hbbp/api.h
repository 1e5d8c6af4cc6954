/* api.h: what every public header needs, and the conventions of the whole C ABI.
 * docs/reference/abi.md says more.
 *
 * 1. Objects are opaque handles, made by _create, _probe, _load, _import, _merge, _select or
 *    _snapshot and freed by the _destroy of the same object. A handle written through a `T **`
 *    belongs to the caller; a function that fails leaves it as it was. A pointer that is returned,
 *    and every string inside a struct, is borrowed from the object it was asked of and lives as
 *    long as that object.
 * 2. The handle comes first, then inputs, then `hbbp_work_options` (host.h) where work may be long,
 *    then outputs, then an optional `hbbp_error *`.
 * 3. Transparent structs start with `struct_size`, which the caller sets to sizeof(the struct);
 *    HBBP_INIT does that and zeroes the rest. Structs grow only at their end. An input whose
 *    unknown tail is not zero is refused (HBBP_ERROR_VERSION); an output is cut or zero-filled.
 *    Structs that only come in arrays have no struct_size: an argument says it for all of them.
 * 4. Functions that can fail return hbbp_status. No C++ exception ever leaves the library.
 * 5. A `const` handle may be used by any number of threads at once. Other handles by one thread
 *    at a time unless a function says otherwise.
 * 6. No function is async-signal-safe unless it says so.
 * 7. _destroy accepts NULL. No other handle may be NULL unless a function says so; NULL gives
 *    HBBP_ERROR_INVALID_ARGUMENT.
 * 8. Limits are called HBBP_MIN_... and HBBP_MAX_....
 * 9. With -DHBBP_DISABLE every function is an inline one that succeeds and gives nothing (handles
 *    are NULL, lists empty), and a program links without the library. hbbp_profile_call calls.
 *
 * Lists. A list of a handle is read by two functions. _count gives its length, 0 for NULL.
 * _copy_... copies elements [first, first + count) into an array of the caller's, whose elements
 * are `size` = sizeof(the struct) bytes apart as the caller knows it, and sets the struct_size of
 * each. *copied gets how many there were: fewer than `count` at the end of the list, none beyond
 * it. Both may be called by any thread. Errors of _copy_...:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL, but the array may be NULL if `count` is 0; a `size` that no
 *                                version of the struct has; no such source
 *   HBBP_ERROR_NO_MEMORY
 */
#ifndef HBBP_API_H_
#define HBBP_API_H_

#include <stddef.h>
#include <stdint.h>

#if defined(HBBP_BUILDING_LIBRARY)
#define HBBP_API __attribute__((visibility("default")))
#elif defined(HBBP_DISABLE) && defined(__cplusplus)
#define HBBP_API inline
#elif defined(HBBP_DISABLE)
#define HBBP_API static inline __attribute__((unused))
#else
#define HBBP_API
#endif

/* Files that are compiled with and without HBBP_DISABLE may be in one program. */
#if defined(__cplusplus) && defined(HBBP_DISABLE)
#define HBBP_EXTERN_C_BEGIN inline namespace hbbp_disabled {
#define HBBP_EXTERN_C_END }
#elif defined(__cplusplus)
#define HBBP_EXTERN_C_BEGIN extern "C" {
#define HBBP_EXTERN_C_END }
#else
#define HBBP_EXTERN_C_BEGIN
#define HBBP_EXTERN_C_END
#endif

/* HBBP_INIT(hbbp_session_options, options); declares a zeroed struct with its size set. */
#if defined(__cplusplus)
#define HBBP_INIT(type, name) \
  type name = {};             \
  name.struct_size = (uint32_t)sizeof(name)
#else
#define HBBP_INIT(type, name) type name = {.struct_size = (uint32_t)sizeof(type)}
#endif

#endif /* HBBP_API_H_ */
