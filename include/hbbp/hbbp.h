/* hbbp.h: counts, inside a running program, how often each basic block executes, and from that
 * gives instruction mixes and profiles. This is the umbrella of the stable C ABI; api.h states
 * the conventions that hold for all of it.
 */
#ifndef HBBP_HBBP_H_
#define HBBP_HBBP_H_

#include "api.h"
#include "capabilities.h"
#include "estimator.h"
#include "feed.h"
#include "host.h"
#include "ibs.h"
#include "import.h"
#include "jit.h"
#include "loops.h"
#include "mix.h"
#include "pivot.h"
#include "profile.h"
#include "samples.h"
#include "session.h"
#include "slices.h"
#include "source.h"
#include "status.h"
#include "version.h"

#endif /* HBBP_HBBP_H_ */
