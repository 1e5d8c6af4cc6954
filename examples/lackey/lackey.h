/* Runs a program under valgrind's lackey and adds every branch that it takes to a feed. */
#ifndef HBBP_EXAMPLES_LACKEY_LACKEY_H_
#define HBBP_EXAMPLES_LACKEY_LACKEY_H_

#include <hbbp/hbbp.h>

typedef struct lackey lackey;

/* `command` ends with NULL and must outlive the object. Returns NULL if there is no memory. */
lackey *lackey_create(char *const *command);
void lackey_destroy(lackey *self);

/* Start the program; read what it executed until *has_ended; end it. */
hbbp_status lackey_start(lackey *self, hbbp_feed *feed, hbbp_error *error);
hbbp_status lackey_read(lackey *self, hbbp_feed *feed, int *has_ended, hbbp_error *error);
hbbp_status lackey_stop(lackey *self, hbbp_feed *feed, hbbp_error *error);

#endif /* HBBP_EXAMPLES_LACKEY_LACKEY_H_ */
