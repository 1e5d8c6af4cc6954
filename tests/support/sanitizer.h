// Is the test built with a sanitizer? Some things cannot be tested then.
#ifndef HBBP_TESTS_SUPPORT_SANITIZER_H_
#define HBBP_TESTS_SUPPORT_SANITIZER_H_

namespace hbbp {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kHasSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = false;
#endif
#else
inline constexpr bool kHasSanitizer = false;
#endif

}  // namespace hbbp

#endif  // HBBP_TESTS_SUPPORT_SANITIZER_H_
