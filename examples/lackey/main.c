/* Counts the basic blocks of a program exactly, by the instructions that valgrind's lackey lists.
 *
 *   lackey_blocks FILE PROGRAM ARG...
 *
 * prints the ten blocks with most executions and writes the profile to FILE, for the hbbp command.
 */
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

static void print_blocks(const hbbp_analysis *analysis) {
  enum { SHOWN = 10 };
  hbbp_block shown[SHOWN + 1];
  size_t count = 0;
  size_t copied;
  for (size_t i = 0; i < hbbp_analysis_block_count(analysis); ++i) {
    hbbp_block block;
    hbbp_analysis_copy_blocks(analysis, i, 1, sizeof(block), &block, &copied, NULL);
    size_t rank = count;
    for (; rank > 0 && executed(&shown[rank - 1]) < executed(&block); --rank) {
      shown[rank] = shown[rank - 1];
    }
    shown[rank] = block;
    if (count < SHOWN) ++count;
  }
  for (size_t i = 0; i < count; ++i) {
    hbbp_module module;
    hbbp_function function;
    hbbp_profile_copy_modules(hbbp_analysis_profile(analysis), shown[i].module, 1, sizeof(module),
                              &module, &copied, NULL);
    hbbp_analysis_copy_functions(analysis, shown[i].function, 1, sizeof(function), &function,
                                 &copied, NULL);
    printf("%12.0f times %u instructions at 0x%llx of %s, %s\n", shown[i].count,
           shown[i].instruction_count, (unsigned long long)shown[i].start, module.path,
           function.name);
  }
}

static hbbp_status run(lackey *program, hbbp_feed *feed, hbbp_error *error) {
  hbbp_status status = lackey_start(program, feed, error);
  if (status != HBBP_OK) return status;
  for (int has_ended = 0; status == HBBP_OK && !has_ended;) {
    status = lackey_read(program, feed, &has_ended, error);
  }
  const hbbp_status stopped = lackey_stop(program, feed, status == HBBP_OK ? error : NULL);
  return status == HBBP_OK ? stopped : status;
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: lackey_blocks FILE PROGRAM ARG...\n");
    return 2;
  }
  /* Lazy binding calls a function by a jump to the next instruction, which looks like no branch. */
  setenv("LD_BIND_NOW", "1", 1);
  hbbp_feed *feed = NULL;
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  HBBP_INIT(hbbp_error, error);
  HBBP_INIT(hbbp_feed_options, options);
  options.order = HBBP_FEED_AS_ADDED;
  options.command = argv[2];
  lackey *const program = lackey_create(argv + 2);
  if (program == NULL || hbbp_feed_create(&options, &feed, &error) || run(program, feed, &error) ||
      hbbp_feed_snapshot(feed, NULL, &profile, &error) ||
      hbbp_analysis_create(profile, NULL, NULL, &analysis, &error)) {
    return fail(&error);
  }
  lackey_destroy(program);
  print_blocks(analysis);
  const hbbp_status saved = hbbp_profile_save(profile, argv[1], NULL, &error);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);
  hbbp_feed_destroy(feed);
  return saved == HBBP_OK ? 0 : fail(&error);
}
