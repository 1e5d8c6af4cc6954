/* status.h: how failure is reported. */
#ifndef HBBP_STATUS_H_
#define HBBP_STATUS_H_

#include "api.h"

HBBP_EXTERN_C_BEGIN

/* Values are pinned; new ones get new numbers. */
typedef int32_t hbbp_status;
enum {
  HBBP_OK = 0,
  HBBP_ERROR_INVALID_ARGUMENT = -1, /* the caller's mistake */
  HBBP_ERROR_INVALID_STATE = -2,    /* right call, wrong time: start of a started session */
  HBBP_ERROR_NO_MEMORY = -3,
  HBBP_ERROR_NOT_FOUND = -4,   /* no such file, block, thread */
  HBBP_ERROR_IO = -5,          /* reading or writing failed */
  HBBP_ERROR_BAD_FORMAT = -6,  /* a file is damaged or is something else */
  HBBP_ERROR_UNSUPPORTED = -7, /* this machine or kernel cannot do it */
  HBBP_ERROR_PERMISSION = -8,  /* it can, but not for this user */
  HBBP_ERROR_BUSY = -9,        /* a resource is taken or used up */
  HBBP_ERROR_VERSION = -10,    /* made for a newer library */
  HBBP_ERROR_MISMATCH = -11,   /* a file's build ID is not the one that ran */
  HBBP_ERROR_INTERNAL = -12,   /* our bug; please report it */
  HBBP_ERROR_CANCELLED = -13   /* cancelled by its hbbp_cancel */
};

/* Filled by a failing function when the caller passes one; left alone on success. */
typedef struct hbbp_error {
  uint32_t struct_size; /* set by the caller */
  hbbp_status status;
  char message[1024]; /* one line: what failed, where, and what to do next; NUL-terminated */
} hbbp_error;

/* "HBBP_ERROR_IO" for HBBP_ERROR_IO; "unknown status" for a number that this library does not
 * know. Never fails; any thread; async-signal-safe; static storage. Since 0.1. */
HBBP_API const char *hbbp_status_name(hbbp_status status);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_STATUS
#include "disabled.inc"
#endif

#endif /* HBBP_STATUS_H_ */
