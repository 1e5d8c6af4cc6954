# Stops where libhbbp cannot work, before anything else is looked for.
include(CheckCSourceCompiles)

check_c_source_compiles("
  #include <features.h>
  #if !defined(__linux__) || !defined(__x86_64__) || defined(__ILP32__) || !defined(__GLIBC__)
  #error not supported
  #endif
  int main(void) { return 0; }" HBBP_IS_SUPPORTED_PLATFORM)
if(NOT HBBP_IS_SUPPORTED_PLATFORM)
  # A second configuration, with another compiler, asks again.
  unset(HBBP_IS_SUPPORTED_PLATFORM CACHE)
  message(FATAL_ERROR "libhbbp needs 64-bit x86 Linux with the GNU C library, and ${CMAKE_C_COMPILER} builds for something else.")
endif()
