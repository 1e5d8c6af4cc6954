/* version.h: which library is this? Compile time and run time. */
#ifndef HBBP_VERSION_H_
#define HBBP_VERSION_H_

#include "api.h"

#define HBBP_VERSION_MAJOR 0
#define HBBP_VERSION_MINOR 1
#define HBBP_VERSION_PATCH 0
#define HBBP_VERSION_STRING "0.1.0"

/* Grows by one whenever a function or a struct field is added; never otherwise. */
#define HBBP_ABI_VERSION 1

HBBP_EXTERN_C_BEGIN

/* "0.1.0": the version of the library that is running. Never fails; any thread; static storage.
 * Since 0.1. */
HBBP_API const char *hbbp_version_string(void);

/* major * 1000000 + minor * 1000 + patch of the running library. Never fails; any thread.
 * Since 0.1. */
HBBP_API uint32_t hbbp_version_number(void);

/* HBBP_ABI_VERSION of the running library. A program that needs a function added in ABI version
 * n works with every library whose number is at least n and whose SONAME is the same.
 * Never fails; any thread. Since 0.1. */
HBBP_API uint32_t hbbp_abi_version(void);

/* 1 if the running library was built with the feature called `name`, 0 if not, or if the name is
 * not known, or NULL:
 *   "ebs", "lbr", "ibs", "swbt"  live sources
 *   "import"             hbbp_profile_import
 *   "analysis"           analysis.h and what needs it; not in libhbbp-collect
 *   "debug-information"  lines.h
 *   "probes"             probe.h, and what whole bursts keep for it (hbbp_session_options)
 * Never fails; any thread. Since 0.1. */
HBBP_API int32_t hbbp_feature(const char *name);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_VERSION
#include "disabled.inc"
#endif

#endif /* HBBP_VERSION_H_ */
