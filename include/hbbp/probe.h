/* probe.h: productions (docs/guide/productions.md) on the whole bursts of a profile: rules that say
 * what is recorded of which executed instruction, and functions of the host that are called where
 * they hold.
 *
 *   HBBP_INIT(hbbp_probe_options, options);
 *   options.productions = "use call-pairs\n";
 *   hbbp_probe_create(&options, &probe, &error);
 *   hbbp_probe_run(probe, analysis, 0, NULL, NULL, &error);
 *   hbbp_probe_copy_rows(probe, 0, 0, 10, sizeof(*rows), rows, &copied, &error);
 *
 * The bursts are those that hbbp_session_options.kept_burst_bytes keeps, also of imports and feeds.
 * A program that runs takes a snapshot now and then, and runs the bursts that are new in it: what
 * several runs record is added up. Estimates are of executions in the whole run that was profiled.
 *
 * hbbp_probe_start does that in a worker, a thread of the library, until hbbp_probe_stop.
 *
 * Productions run in the thread that is in hbbp_probe_run, or in the worker of the probe, after the
 * program has executed the instructions: never in a signal handler, and not in the worker of a
 * session. No other thread may use the probe meanwhile.
 */
#ifndef HBBP_PROBE_H_
#define HBBP_PROBE_H_

#include "analysis.h"
#include "code.h"
#include "pivot.h"
#include "session.h"

HBBP_EXTERN_C_BEGIN

typedef struct hbbp_probe hbbp_probe;

/* The number of fields that an action may have, and so the values of a row. */
#define HBBP_MAX_PROBE_FIELDS 4

/* The handler ------------------------------------------------------------------------------- */

/* What a handler asks for. Other values are as HBBP_PROBE_STOP_BURST. */
typedef int32_t hbbp_probe_answer;
enum {
  HBBP_PROBE_GO_ON = 0,
  HBBP_PROBE_STOP_BURST = 1 /* as the step stop_burst does: burst_flag is set behind this
                               instruction. Without effect in an exhaustive probe */
};

/* An execution of an instruction for which a production with the action `call` fired. Addresses of
 * code are code numbers, which hbbp_probe_locate explains; those in one module differ as addresses
 * do. */
typedef struct hbbp_probe_call {
  uint32_t struct_size; /* set by the library */
  uint32_t production;  /* index of hbbp_probe_copy_productions */
  uint32_t table;       /* index of hbbp_probe_copy_tables: that of the action */
  uint32_t thread;      /* index in the profile */
  uint64_t pc;          /* code number of the instruction */
  uint64_t target;      /* of a branch: code number of where it goes, also if it is conditional and
                           not taken. 0: no branch, or to no known module */
  uint64_t next;        /* code number of what was executed next; 0: in no known module */
  hbbp_flow flow;       /* what kind of branch it is */
  uint32_t taken;       /* 1: a branch that went to its target */
  uint32_t value_count; /* as many as the fields of the action, in their order */
  uint32_t unknown;     /* bit i is set if value i is unknown, and 0 */
  uint64_t values[4];
  uint64_t burst;   /* its number in the profile */
  uint64_t time_ns; /* when the burst began, by the clock of the profile */
  double weight; /* how many executions in the run that was profiled one in this burst stands for,
                    if all of the burst is seen */
} hbbp_probe_call;

/* Called in the thread that is in hbbp_probe_run, or in the worker of the probe, with no lock of
 * the library held, by one thread at a time. `call` is valid during it. It may call
 * hbbp_probe_locate and _create of what it likes, but no other function with this probe, and must
 * not throw. To end the run, it sets the flag that hbbp_probe_run has as hbbp_work_options.cancel.
 */
typedef hbbp_probe_answer (*hbbp_probe_handler)(const hbbp_probe_call *call, void *user_data);

/* Probes ------------------------------------------------------------------------------------ */

typedef struct hbbp_probe_options {
  uint32_t struct_size;    /* set by the caller */
  uint32_t is_exhaustive;  /* 1: sample_flag is always set, and bursts are seen to their ends */
  const char *productions; /* the text; copied. "use NAME" has those that are built in */
  const hbbp_taxonomy *taxonomy; /* groups that conditions may name; copied. NULL: those of the
                                    library itself */
  uint64_t sample_freq;          /* instead of that of the text, at most HBBP_MAX_PROBE_COUNTER; 0:
                                    that of the text */
  uint64_t burst_length;         /* the same */
  uint64_t max_rows; /* that a table of counts may have; more are dropped, and counted. 0: 2^20 */
  uint64_t max_symbols; /* different combinations and elements of a trace, at most 2^30. 0: 2^24 */
  /* Which streams of a trace are hot: */
  uint64_t min_stream_length; /* in elements, at least 2; 0: 10 */
  uint64_t max_stream_length; /* 0: 100 */
  double min_stream_heat;     /* the share of the trace that one covers, at most 1; 0: 0.001 */
  hbbp_probe_handler handler; /* of the action `call`; NULL: nothing is called */
  void *user_data;            /* given to handler */
} hbbp_probe_options;

/* The maximum of sample_freq and burst_length. */
#define HBBP_MAX_PROBE_COUNTER 4611686018427387904u

/* The names that "use NAME" knows; an index that is too large gives NULL. Static storage. Any
 * thread. Since 0.1. */
HBBP_API size_t hbbp_probe_builtin_count(void);
HBBP_API const char *hbbp_probe_builtin_name(size_t index);

/* Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; the text cannot be read (the message has line and column,
 *                                and the nearest name where one is not known); an option out of
 *                                range
 *   HBBP_ERROR_VERSION           an option that this library does not know
 *   HBBP_ERROR_NO_MEMORY
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_probe_create(const hbbp_probe_options *options, hbbp_probe **probe,
                                       hbbp_error *error);

/* Not in its handler, but for that of a worker, which goes on for a moment then. A worker ends
 * without running what is left. NULL is allowed. Since 0.1. */
HBBP_API void hbbp_probe_destroy(hbbp_probe *probe);

/* Runs the productions on the whole bursts of the profile from number `first_burst` on, in the
 * order in which they are kept, and adds what they record to what is there. `next_burst`, which may
 * be NULL, gets the number of bursts that the profile has: first_burst of the next run, if that is
 * of a later snapshot of the same session; of any other profile, all bursts are new (0). The probe
 * does not need the analysis afterwards, but keeps the profile, of which it knows what code numbers
 * mean. `work` may be NULL; its progress is in bursts.
 * Errors:
 *   HBBP_ERROR_NOT_FOUND         first_burst is 0, and the profile has no bursts that count (yet)
 *   HBBP_ERROR_UNSUPPORTED       productions use what bursts do not know: `value`, registers of no
 *                                arguments, or, without hbbp_session_options.keep_accesses or
 *                                keep_values, addresses, divisors and arguments
 *   HBBP_ERROR_CANCELLED         between two bursts: the one before was run, and *next_burst is the
 *                                first that was not
 *   HBBP_ERROR_BAD_FORMAT        bursts are damaged; those before were run, and *next_burst is the
 *                                first that is
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; the profile has fewer bursts than first_burst
 *   HBBP_ERROR_INVALID_STATE     it is called by the handler; it has a worker; or a run had no
 *                                memory before
 *   HBBP_ERROR_NO_MEMORY         what was recorded can be read, but not added to
 * and those of hbbp_work_options. Since 0.1. */
HBBP_API hbbp_status hbbp_probe_run(hbbp_probe *probe, const hbbp_analysis *analysis,
                                    uint64_t first_burst, const hbbp_work_options *work,
                                    uint64_t *next_burst, hbbp_error *error);

/* Starts a worker: a thread of the library, without signals of the host, which takes a snapshot of
 * the session `interval_ms` (0: 1,000) after the last one, and runs the productions on the bursts
 * that are new in it. A round takes as long as an analysis of the whole profile, and longer the
 * more bursts are kept; sessions do not sample the worker. Until hbbp_probe_stop nothing else may
 * be done with the probe than that, hbbp_probe_destroy, and hbbp_probe_locate in its handler. The
 * session may be stopped meanwhile, but not destroyed, and the program must not end. All bursts of
 * the session are new, whatever the probe was run on before.
 * Errors:
 *   HBBP_ERROR_BUSY              no thread could be started
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL; an interval of more than an hour
 *   HBBP_ERROR_INVALID_STATE     it has a worker; it is called by the handler; a run had no memory
 *                                before
 *   HBBP_ERROR_NO_MEMORY
 * Since 0.1. */
HBBP_API hbbp_status hbbp_probe_start(hbbp_probe *probe, hbbp_session *session,
                                      uint32_t interval_ms, hbbp_error *error);

/* Runs what is new since the last round, and ends the worker. A child of fork has no worker; there
 * it allows other functions again, unless the worker was in a round when the process forked: the
 * child cannot use such a probe, of which hbbp_probe_destroy frees nothing.
 * Errors:
 *   HBBP_ERROR_NOT_FOUND         no round found bursts that count
 *   HBBP_ERROR_INVALID_STATE     it has no worker; it is called by the handler, and the worker goes
 *                                on; a child cannot use it
 *   HBBP_ERROR_INTERNAL          a handler threw an exception
 * and those of hbbp_session_snapshot, hbbp_analysis_create and hbbp_probe_run in a round, after
 * which there was no other one. Since 0.1. */
HBBP_API hbbp_status hbbp_probe_stop(hbbp_probe *probe, hbbp_error *error);

/* Results ----------------------------------------------------------------------------------- */

/* Numbers of all runs together. */
typedef struct hbbp_probe_info {
  uint32_t struct_size; /* set by the caller */
  uint32_t is_exhaustive;
  uint64_t sample_freq;
  uint64_t burst_length;
  uint64_t bursts;       /* of the profiles that were run */
  uint64_t begun_bursts; /* that productions began: each time that sample_flag was set */
  uint64_t instructions; /* in the bursts */
  uint64_t
      streams; /* of instructions between two taken branches, those included that were skipped */
  uint64_t skipped_streams;      /* which the code does not explain */
  uint64_t streams_without_code; /* those of them whose code is missing */
  uint64_t other_bursts;         /* left out, because blocks are counted by another event */
  uint64_t not_kept; /* bursts for which the profile of the last run had no room, later ones */
  uint32_t counts_executions; /* 1: estimates are numbers of executions; 0: they are proportional to
                                 these, as with a clock */
  uint32_t reserved;
} hbbp_probe_info;

/* Errors:
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_probe_get_info(const hbbp_probe *probe, hbbp_probe_info *info,
                                         hbbp_error *error);

typedef struct hbbp_probe_production {
  uint32_t struct_size; /* set by hbbp_probe_copy_productions */
  uint32_t reserved;
  const char *name;
  uint64_t firings; /* how often it fired */
} hbbp_probe_production;

/* Productions in the order of the text, read as api.h says. Since 0.1. */
HBBP_API size_t hbbp_probe_production_count(const hbbp_probe *probe);
HBBP_API hbbp_status hbbp_probe_copy_productions(const hbbp_probe *probe, size_t first,
                                                 size_t count, size_t size,
                                                 hbbp_probe_production *productions, size_t *copied,
                                                 hbbp_error *error);

/* What an action does. */
typedef int32_t hbbp_probe_table_kind;
enum {
  HBBP_PROBE_COUNTS = 0, /* `count`: it has rows */
  HBBP_PROBE_TRACE = 1,  /* `trace`: it has streams */
  HBBP_PROBE_CALLS = 2   /* `call`: it has neither */
};

typedef struct hbbp_probe_table {
  uint32_t struct_size; /* set by hbbp_probe_copy_tables */
  hbbp_probe_table_kind kind;
  const char *name;
  uint64_t records; /* counted, appended, or calls of the handler */
  uint64_t dropped; /* of them: the table was full */
  uint64_t
      unknown;     /* others, of which a field was unknown: not recorded, but called all the same */
  double estimate; /* of all records, dropped ones too; 0 of other kinds */
} hbbp_probe_table;

/* Tables in the order in which the text names them first, read as api.h says. Since 0.1. */
HBBP_API size_t hbbp_probe_table_count(const hbbp_probe *probe);
HBBP_API hbbp_status hbbp_probe_copy_tables(const hbbp_probe *probe, size_t first, size_t count,
                                            size_t size, hbbp_probe_table *tables, size_t *copied,
                                            hbbp_error *error);

/* How the number in a field is read. */
typedef int32_t hbbp_probe_field_kind;
enum {
  HBBP_PROBE_NUMBER = 0,
  HBBP_PROBE_CODE = 1,   /* a code number (hbbp_probe_locate); 0: an unknown function */
  HBBP_PROBE_SIGNED = 2, /* int64_t: strides and divisors */
  HBBP_PROBE_PATH = 3, /* the outcomes of conditional branches, the first one highest, 1 for taken,
                          behind a leading 1 */
  HBBP_PROBE_REUSE = 4 /* cache lines; UINT64_MAX: the first access */
};

typedef struct hbbp_probe_field {
  uint32_t struct_size; /* set by hbbp_probe_copy_fields */
  hbbp_probe_field_kind kind;
  const char *name; /* "pc", "target"; of several actions, that of the first one */
} hbbp_probe_field;

/* The fields of a table, read as api.h says. A table that is not there is
 * HBBP_ERROR_INVALID_ARGUMENT. Since 0.1. */
HBBP_API size_t hbbp_probe_field_count(const hbbp_probe *probe, size_t table);
HBBP_API hbbp_status hbbp_probe_copy_fields(const hbbp_probe *probe, size_t table, size_t first,
                                            size_t count, size_t size, hbbp_probe_field *fields,
                                            size_t *copied, hbbp_error *error);

typedef struct hbbp_probe_row {
  uint32_t struct_size; /* set by hbbp_probe_copy_rows */
  uint32_t reserved;
  uint64_t values[4]; /* of the fields, in their order; then 0 */
  double estimate;    /* of executions in the whole run */
  double share;       /* of the estimate of all records, dropped ones too */
  uint64_t records;   /* how many were recorded for it */
} hbbp_probe_row;

/* The rows of a table of counts, by falling estimates, equal ones by their values; read as api.h
 * says. A table that is not there is HBBP_ERROR_INVALID_ARGUMENT, one of another kind has none. The
 * first call after a run sorts them. Since 0.1. */
HBBP_API size_t hbbp_probe_row_count(const hbbp_probe *probe, size_t table);
HBBP_API hbbp_status hbbp_probe_copy_rows(const hbbp_probe *probe, size_t table, size_t first,
                                          size_t count, size_t size, hbbp_probe_row *rows,
                                          size_t *copied, hbbp_error *error);

/* A hot stream: a sequence that makes up much of a trace. */
typedef struct hbbp_probe_stream {
  uint32_t struct_size; /* set by hbbp_probe_copy_streams */
  uint32_t field_count;
  const uint64_t
      *values;        /* field_count for each element, one after the other; until the next run */
  uint64_t length;    /* in elements */
  uint64_t frequency; /* how often the bursts have it, apart from longer hot streams around it */
  double share;       /* of the elements of the trace; they add up to the coverage */
} hbbp_probe_stream;

/* The hot streams of a trace, by falling shares, read as api.h says. A table that is not there is
 * HBBP_ERROR_INVALID_ARGUMENT, one of another kind has none. hbbp_probe_run infers the grammar that
 * has them, burst by burst; the first call after a run reads them out of it, which takes as long as
 * the grammar is large. Since 0.1. */
HBBP_API size_t hbbp_probe_stream_count(const hbbp_probe *probe, size_t table);
HBBP_API hbbp_status hbbp_probe_copy_streams(const hbbp_probe *probe, size_t table, size_t first,
                                             size_t count, size_t size, hbbp_probe_stream *streams,
                                             size_t *copied, hbbp_error *error);

typedef struct hbbp_probe_location {
  uint32_t struct_size; /* set by the caller */
  uint32_t module;   /* index in the profile of the last run; HBBP_NO_INDEX: it is in one before */
  const char *path;  /* of the module */
  uint64_t address;  /* in the module; the offset in the file if that cannot be read any more */
  uint64_t function; /* its start; HBBP_NO_ADDRESS: unknown */
  const char *name;  /* of the function, as the symbol table has it (mangled); "": unknown */
} hbbp_probe_location;

/* What a code number stands for; it means the same in all runs of a probe. The texts live as long
 * as the probe. The handler may call it.
 * Errors:
 *   HBBP_ERROR_NOT_FOUND         not a code number of this probe; 0 is none
 *   HBBP_ERROR_INVALID_ARGUMENT  NULL
 *   HBBP_ERROR_NO_MEMORY
 * Any thread. Since 0.1. */
HBBP_API hbbp_status hbbp_probe_locate(const hbbp_probe *probe, uint64_t code,
                                       hbbp_probe_location *location, hbbp_error *error);

HBBP_EXTERN_C_END

#if defined(HBBP_DISABLE)
#define HBBP_DISABLE_PROBE
#include "disabled.inc"
#endif

#endif /* HBBP_PROBE_H_ */
