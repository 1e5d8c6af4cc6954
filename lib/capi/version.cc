#include <hbbp/version.h>

extern "C" {

HBBP_API const char* hbbp_version_string(void) { return HBBP_VERSION_STRING; }

HBBP_API uint32_t hbbp_version_number(void) {
  return HBBP_VERSION_MAJOR * 1'000'000 + HBBP_VERSION_MINOR * 1'000 + HBBP_VERSION_PATCH;
}

HBBP_API uint32_t hbbp_abi_version(void) { return HBBP_ABI_VERSION; }

}  // extern "C"
