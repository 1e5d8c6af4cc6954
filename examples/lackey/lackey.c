/* valgrind's lackey prints a line for each executed instruction, "I  04001090,3": its address and
 * its size. A branch was taken where the next instruction does not follow. All branches are added
 * to a feed, so that counts are exact, for programs with one thread; child processes are not
 * traced. A stream that a signal cuts, or that contains a jump to the next instruction, is not
 * explained; the profile says how many.
 *
 * Chasing must be off: otherwise lackey also prints instructions after a taken branch, which did
 * not run.
 *
 * The program lies in valgrind's own process at the addresses that it sees, so /proc has its
 * mappings, wherever it was loaded. They are read again when an address is in none. A process that
 * has ended has none; the pipe holds one page until they were read, so that a program ends only
 * after some 500 of its instructions were read here. */
#define _GNU_SOURCE /* for pipe2, F_SETPIPE_SZ */
#include "lackey.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16, STACK = 4096, LOG_FD = 9, VALGRIND_WORDS = 8, PAGE_BYTES = 4096 };

typedef struct range {
  uint64_t start, end;
} range;

struct lackey {
  char *const *command;
  pid_t pid; /* 0: none runs */
  int trace; /* -1: closed */
  uint32_t source;
  int has_source;
  char text[BUFFER_BYTES];
  size_t text_bytes; /* of a line that is not complete yet */
  int has_mappings;
  uint64_t line;
  uint64_t last, next;            /* addresses: of the last instruction, and behind it */
  hbbp_branch_entry stack[STACK]; /* filled from its end: the newest branch comes first */
  size_t branches;
  range *known; /* what is mapped, and pages that are not */
  size_t known_count;
};

static hbbp_status fail(hbbp_error *error, hbbp_status status, const char *what, int number) {
  if (error == NULL) return status;
  snprintf(error->message, sizeof(error->message), "%s%s%s", what, number != 0 ? ": " : "",
           number != 0 ? strerror(number) : "");
  return status;
}

static int is_known(const lackey *self, uint64_t address) {
  for (size_t i = self->known_count; i-- > 0;) {
    if (address >= self->known[i].start && address < self->known[i].end) return 1;
  }
  return 0;
}

static hbbp_status know(lackey *self, range added, hbbp_error *error) {
  range *const more = realloc(self->known, (self->known_count + 1) * sizeof(range));
  if (more == NULL) return fail(error, HBBP_ERROR_NO_MEMORY, "out of memory", 0);
  self->known = more;
  self->known[self->known_count++] = added;
  return HBBP_OK;
}

static hbbp_status add_maps(lackey *self, hbbp_feed *feed, hbbp_error *error) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/maps", (int)self->pid);
  FILE *maps = fopen(path, "r");
  char line[4352];
  hbbp_status status = HBBP_OK;
  while (status == HBBP_OK && maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
    unsigned long start, end, offset;
    char mode[5], file[4097] = "";
    if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %4096[^\n]", &start, &end, mode, &offset, file) < 4 ||
        mode[2] != 'x' || file[0] != '/' || is_known(self, start)) {
      continue;
    }
    const hbbp_feed_event mapping = {.kind = HBBP_FEED_MAPPING,
                                     .pid = (uint32_t)self->pid,
                                     .address = start,
                                     .size = end - start,
                                     .file_offset = offset,
                                     .name = file};
    status = hbbp_feed_add_events(feed, &mapping, 1, sizeof(mapping), error);
    if (status == HBBP_OK) status = know(self, (range){start, end}, error);
  }
  if (maps != NULL) fclose(maps);
  if (status == HBBP_OK && !self->has_mappings) {
    if (self->known_count == 0) {
      return fail(error, HBBP_ERROR_NOT_FOUND,
                  "the program ended before its mappings could be read", 0);
    }
    self->has_mappings = 1;
    fcntl(self->trace, F_SETPIPE_SZ, BUFFER_BYTES); /* faster, but not needed */
  }
  return status;
}

/* Adds the branches so far; the last one is kept, because a stream starts at its target. */
static hbbp_status add_branches(lackey *self, hbbp_feed *feed, hbbp_error *error) {
  if (self->branches < 2) return HBBP_OK;
  const hbbp_feed_sample sample = {.period = self->branches - 1,
                                   .pid = (uint32_t)self->pid,
                                   .tid = (uint32_t)self->pid,
                                   .branches = self->stack + STACK - self->branches,
                                   .branch_count = (uint32_t)self->branches};
  const hbbp_status status =
      hbbp_feed_add_samples(feed, self->source, &sample, 1, sizeof(sample), error);
  self->stack[STACK - 1] = *sample.branches;
  self->branches = 1;
  return status;
}

static hbbp_status take_branch(lackey *self, hbbp_feed *feed, uint64_t from, uint64_t to,
                               hbbp_error *error) {
  if (!is_known(self, to)) {
    const hbbp_status status = add_maps(self, feed, error);
    if (status != HBBP_OK) return status;
    const uint64_t page = to & ~(uint64_t)(PAGE_BYTES - 1);
    if (!is_known(self, to) && know(self, (range){page, page + PAGE_BYTES}, error) != HBBP_OK) {
      return HBBP_ERROR_NO_MEMORY;
    }
  }
  ++self->branches;
  hbbp_branch_entry *const entry = self->stack + STACK - self->branches;
  *entry = (hbbp_branch_entry){.from = from, .to = to};
  return self->branches == STACK ? add_branches(self, feed, error) : HBBP_OK;
}

static hbbp_status take_line(lackey *self, hbbp_feed *feed, const char *line, hbbp_error *error) {
  ++self->line;
  if (line[0] != 'I') return HBBP_OK; /* loads, stores, statistics */
  char *rest;
  const uint64_t address = strtoull(line + 1, &rest, 16);
  const uint64_t size = *rest == ',' ? strtoull(rest + 1, &rest, 10) : 0;
  if (size == 0 || *rest != '\0') {
    snprintf(error->message, sizeof(error->message),
             "line %llu of lackey's trace is not \"I  ADDRESS,SIZE\": %.80s",
             (unsigned long long)self->line, line);
    return HBBP_ERROR_BAD_FORMAT;
  }
  hbbp_status status = HBBP_OK;
  /* The kernel jumped to the first instruction. A repeated one is a string instruction. */
  const int is_first = self->next == 0;
  if (is_first || (address != self->next && address != self->last)) {
    status = take_branch(self, feed, is_first ? address : self->last, address, error);
  }
  self->last = address;
  self->next = address + size;
  return status;
}

hbbp_status lackey_start(lackey *self, hbbp_feed *feed, hbbp_error *error) {
  if (!self->has_source) {
    HBBP_INIT(hbbp_feed_source, source);
    source.kind = HBBP_SOURCE_LBR;
    source.event = HBBP_EVENT_TAKEN_BRANCHES;
    source.event_name = "lackey";
    const hbbp_status status = hbbp_feed_add_source(feed, &source, &self->source, error);
    if (status != HBBP_OK) return status;
    self->has_source = 1;
  }
  size_t words = 0;
  while (self->command[words] != NULL) ++words;
  char log_option[32];
  snprintf(log_option, sizeof(log_option), "--log-fd=%d", LOG_FD);
  char **const all = calloc(VALGRIND_WORDS + words + 1, sizeof(char *));
  int ends[2];
  if (all == NULL) return fail(error, HBBP_ERROR_NO_MEMORY, "out of memory", 0);
  if (pipe2(ends, O_CLOEXEC) != 0) {
    const int number = errno;
    free(all);
    return fail(error, HBBP_ERROR_IO, "pipe", number);
  }
  if (fcntl(ends[1], F_SETPIPE_SZ, PAGE_BYTES) < 0) {
    const int number = errno;
    free(all);
    close(ends[0]);
    close(ends[1]);
    return fail(error, HBBP_ERROR_IO, "size of a pipe", number);
  }
  const char *const valgrind[VALGRIND_WORDS] = {"valgrind",
                                                "-q",
                                                "--tool=lackey",
                                                "--trace-mem=yes",
                                                "--vex-guest-chase=no",
                                                "--child-silent-after-fork=yes",
                                                log_option,
                                                "--"};
  memcpy(all, valgrind, sizeof(valgrind));
  memcpy(all + VALGRIND_WORDS, self->command, words * sizeof(char *));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], LOG_FD);
  extern char **environ;
  const int number = posix_spawnp(&self->pid, valgrind[0], &actions, NULL, all, environ);
  posix_spawn_file_actions_destroy(&actions);
  free(all);
  close(ends[1]);
  if (number != 0) {
    close(ends[0]);
    self->pid = 0;
    return fail(error, HBBP_ERROR_NOT_FOUND, "valgrind, which has lackey", number);
  }
  self->trace = ends[0];
  self->text_bytes = self->branches = self->known_count = 0;
  self->line = self->last = self->next = 0;
  self->has_mappings = 0;
  return HBBP_OK;
}

hbbp_status lackey_read(lackey *self, hbbp_feed *feed, int *has_ended, hbbp_error *error) {
  const ssize_t bytes =
      read(self->trace, self->text + self->text_bytes, BUFFER_BYTES - self->text_bytes);
  if (bytes < 0) return errno == EINTR ? HBBP_OK : fail(error, HBBP_ERROR_IO, "read", errno);
  if (bytes == 0) {
    *has_ended = 1;
    return HBBP_OK;
  }
  self->text_bytes += (size_t)bytes;
  char *line = self->text;
  char *const end = self->text + self->text_bytes;
  hbbp_status status = HBBP_OK;
  for (char *stop; status == HBBP_OK && (stop = memchr(line, '\n', (size_t)(end - line))) != NULL;
       line = stop + 1) {
    *stop = '\0';
    status = take_line(self, feed, line, error);
  }
  self->text_bytes = (size_t)(end - line);
  memmove(self->text, line, self->text_bytes);
  if (status == HBBP_OK && self->text_bytes == BUFFER_BYTES) {
    self->text_bytes = 0;
    return fail(error, HBBP_ERROR_BAD_FORMAT, "a line of lackey's trace does not end", 0);
  }
  return status;
}

hbbp_status lackey_stop(lackey *self, hbbp_feed *feed, hbbp_error *error) {
  hbbp_status status;
  if (self->next == 0) {
    status = fail(error, HBBP_ERROR_NOT_FOUND, "nothing was executed; valgrind has said why", 0);
  } else { /* The last stream ends where the program did, as if by a branch. */
    status = take_branch(self, feed, self->last, self->next, error);
  }
  if (status == HBBP_OK) status = add_branches(self, feed, error);
  close(self->trace);
  kill(self->pid, SIGTERM); /* if it still runs */
  waitpid(self->pid, NULL, 0);
  self->pid = 0;
  return status;
}

lackey *lackey_create(char *const *command) {
  lackey *const self = calloc(1, sizeof(lackey));
  if (self != NULL) self->command = command;
  return self;
}

void lackey_destroy(lackey *self) {
  if (self != NULL) free(self->known);
  free(self);
}
