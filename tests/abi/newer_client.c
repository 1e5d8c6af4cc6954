/* A program that was compiled for a later version and loads this library, with its guarantees.
 * The later version is this one, with a field more in some structs and one more ABI version.
 * usage: newer_client PROFILE */
#include <hbbp/hbbp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/require.h"

#define LATER_ABI_VERSION (HBBP_ABI_VERSION + 1)

typedef struct later_session_options {
  hbbp_session_options known;
  uint64_t added;
} later_session_options;

typedef struct later_mix_row {
  hbbp_mix_row known;
  double added;
} later_mix_row;

static hbbp_error error;

int main(int argc, char **argv) {
  error.struct_size = sizeof(error);
  REQUIRE(argc == 2);
  /* It checks the version before it uses additions. */
  REQUIRE(hbbp_abi_version() < LATER_ABI_VERSION);

  /* An option that stays 0 is accepted; one that is set is refused, by name and offset. */
  later_session_options options = {.known = {.struct_size = sizeof(options)}};
  hbbp_session *session = NULL;
  REQUIRE(hbbp_session_create(&options.known, &session, &error) == HBBP_OK);
  hbbp_session_destroy(session);
  session = NULL;
  options.added = 1;
  REQUIRE(hbbp_session_create(&options.known, &session, &error) == HBBP_ERROR_VERSION);
  REQUIRE(session == NULL);
  char field[64];
  snprintf(field, sizeof(field), "hbbp_session_options has a field at byte %zu ",
           sizeof(hbbp_session_options));
  REQUIRE(strncmp(error.message, field, strlen(field)) == 0);

  /* A result that this library does not know is 0. */
  hbbp_profile *profile = NULL;
  hbbp_analysis *analysis = NULL;
  hbbp_mix *mix = NULL;
  REQUIRE(hbbp_profile_load(argv[1], NULL, &profile, &error) == HBBP_OK);
  REQUIRE(hbbp_analysis_create(profile, NULL, NULL, &analysis, &error) == HBBP_OK);
  REQUIRE(hbbp_mix_create(analysis, 0, NULL, &mix, &error) == HBBP_OK);
  later_mix_row row = {.added = 1};
  size_t copied = 0;
  REQUIRE(hbbp_mix_copy_rows(mix, 0, 1, sizeof(row), &row.known, &copied, &error) == HBBP_OK);
  REQUIRE(copied == 1);
  REQUIRE(row.known.instructions > 0 && row.known.struct_size == sizeof(row));
  REQUIRE(row.added == 0);
  hbbp_mix_destroy(mix);
  hbbp_analysis_destroy(analysis);
  hbbp_profile_destroy(profile);

  /* An enumerator that this library does not know is refused. */
  later_session_options with_source = {
      .known = {.struct_size = sizeof(with_source), .source = 1000}};
  REQUIRE(hbbp_session_create(&with_source.known, &session, &error) == HBBP_ERROR_INVALID_ARGUMENT);
  REQUIRE(strstr(error.message, "source") != NULL);
  REQUIRE(strcmp(hbbp_status_name(-1000), "unknown status") == 0);
  return 0;
}
