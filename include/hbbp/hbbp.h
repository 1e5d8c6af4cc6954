/* hbbp.h: counts, inside a running program, how often each basic block executes, and from that
 * gives instruction mixes and profiles. This header includes the whole of the stable C ABI.
 *
 *   what there is            how it comes about             what is asked of it
 *   ---------------------    --------------------------     ---------------------------------------
 *   hbbp_session (live)  \
 *     session.h, source.h,  \
 *     jit.h, data.h          |
 *   hbbp_feed (pumped by     +--> hbbp_profile (data) ----> sources, threads, modules, slices,
 *     the host) feed.h       |      profile.h, slices.h,      losses, load, save, merge, select
 *   recordings of perf      /       ibs.h
 *     import.h             /          |
 *                                     v
 *                              hbbp_analysis ------------> blocks, functions, branches, their code
 *                                analysis.h, estimator.h     code.h, lines.h, ibs.h
 *                                     |
 *                                     v
 *                              hbbp_mix, hbbp_pivot,       rows, cells, ratios, loops
 *                              hbbp_ratios, hbbp_loops       mix.h, pivot.h, loops.h
 *                              hbbp_probe                  rules on executed instructions: probe.h
 *                              hbbp_export                 the formats of other tools: formats.h
 *
 * api.h states the conventions that hold for all of it, status.h how failure is reported, host.h
 * what a host gives (log, progress, cancellation, memory), samples.h the kinds of observation,
 * capabilities.h what this machine can do, version.h which library this is.
 */
#ifndef HBBP_HBBP_H_
#define HBBP_HBBP_H_

#include "analysis.h"
#include "api.h"
#include "capabilities.h"
#include "code.h"
#include "data.h"
#include "estimator.h"
#include "feed.h"
#include "formats.h"
#include "host.h"
#include "ibs.h"
#include "import.h"
#include "jit.h"
#include "lines.h"
#include "loops.h"
#include "mix.h"
#include "pivot.h"
#include "probe.h"
#include "profile.h"
#include "samples.h"
#include "session.h"
#include "slices.h"
#include "source.h"
#include "status.h"
#include "version.h"

#endif /* HBBP_HBBP_H_ */
