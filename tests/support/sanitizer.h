// Defines whether the test is built with a sanitizer, with which some things cannot be tested.
#ifndef HBBP_TESTS_SUPPORT_SANITIZER_H_
#define HBBP_TESTS_SUPPORT_SANITIZER_H_

namespace hbbp {

#if defined(__has_feature)
#define HBBP_HAS_FEATURE(feature) __has_feature(feature)
#else
#define HBBP_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_THREAD__) || HBBP_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kHasThreadSanitizer = true;
#else
inline constexpr bool kHasThreadSanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || HBBP_HAS_FEATURE(address_sanitizer)
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = kHasThreadSanitizer;
#endif

#undef HBBP_HAS_FEATURE

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_SANITIZER_H_
