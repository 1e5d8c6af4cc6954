/* A backend that runs a program under valgrind's lackey and feeds every branch that it takes. */
#ifndef HBBP_EXAMPLES_LACKEY_LACKEY_H_
#define HBBP_EXAMPLES_LACKEY_LACKEY_H_

#include <hbbp/experimental/backend.h>

extern const hbbp_experimental_backend_ops lackey_ops;

/* The context of lackey_ops. `command` ends with NULL and must outlive it. NULL: out of memory. */
void *lackey_create(char *const *command);

#endif /* HBBP_EXAMPLES_LACKEY_LACKEY_H_ */
