/* Counts the basic blocks of a program exactly, by what valgrind's lackey sees it execute.
 *
 *   lackey_blocks FILE PROGRAM ARG...
 *
 * prints the ten blocks that executed most and writes the profile to FILE, for the hbbp command. */
#define _GNU_SOURCE /* for setenv */
#include <hbbp/hbbp.h>
#include <stdio.h>
#include <stdlib.h>

#include "lackey.h"

static int fail(const hbbp_error *error) {
  fprintf(stderr, "%s\n", error->message);
  return 1;
}

static double executed(const hbbp_block *block) { return block->count * block->instruction_count; }

static void print_blocks(const hbbp_profile *profile) {
  enum { SHOWN = 10 };
  hbbp_block shown[SHOWN + 1];
  size_t count = 0;
  for (size_t i = 0; i < hbbp_profile_block_count(profile); ++i) {
    HBBP_INIT(hbbp_block, block);
    hbbp_profile_block_at(profile, i, &block, NULL);
    size_t place = count;
    for (; place > 0 && executed(&shown[place - 1]) < executed(&block); --place) {
      shown[place] = shown[place - 1];
    }
    shown[place] = block;
    if (count < SHOWN) ++count;
  }
  for (size_t i = 0; i < count; ++i) {
    HBBP_INIT(hbbp_module, module);
    HBBP_INIT(hbbp_function, function);
    hbbp_profile_module_at(profile, shown[i].module, &module, NULL);
    hbbp_profile_function_at(profile, shown[i].function, &function, NULL);
    printf("%12.0f times %u instructions at 0x%llx of %s, %s\n", shown[i].count,
           shown[i].instruction_count, (unsigned long long)shown[i].start, module.path,
           function.name);
  }
}

static hbbp_status run(hbbp_experimental_backend *backend, hbbp_error *error) {
  hbbp_status status = hbbp_experimental_backend_start(backend, error);
  for (uint32_t has_ended = 0; status == HBBP_OK && !has_ended;) {
    status = hbbp_experimental_backend_drain(backend, &has_ended, error);
  }
  return status == HBBP_OK ? hbbp_experimental_backend_stop(backend, error) : status;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: lackey_blocks FILE PROGRAM ARG...\n");
    return 2;
  }
  /* A function that is not bound yet is called by a jump to the next instruction: like no branch.
   */
  setenv("LD_BIND_NOW", "1", 1);
  hbbp_session *session = NULL;
  hbbp_experimental_backend *backend = NULL;
  hbbp_profile *profile = NULL;
  HBBP_INIT(hbbp_error, error);
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_FED;
  options.command = argv[2];
  if (hbbp_session_create_fed(&options, &session, &error)) return fail(&error);
  void *context = lackey_create(argv + 2);
  if (context == NULL ||
      hbbp_experimental_backend_create(session, &lackey_ops, context, &backend, &error)) {
    return fail(&error);
  }
  const hbbp_status status = run(backend, &error);
  hbbp_experimental_backend_destroy(backend);
  if (status != HBBP_OK || hbbp_session_snapshot(session, &profile, &error)) return fail(&error);
  print_blocks(profile);
  const hbbp_status saved = hbbp_profile_save(profile, argv[1], &error);
  hbbp_profile_destroy(profile);
  hbbp_session_destroy(session);
  return saved == HBBP_OK ? 0 : fail(&error);
}
