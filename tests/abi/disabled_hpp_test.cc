// Tests hbbp.hpp with -DHBBP_DISABLE in one program with a file that has the library.
#include <cstring>
#include <hbbp/hbbp.hpp>

#include "checks.h"

#if !defined(HBBP_DISABLE)
#error "it is to be compiled with HBBP_DISABLE"
#endif

// By disabled_hpp_other.cc.
const char* SourceOfTheLibrary();

int main() {
  int calls = 0;
  const hbbp::profile profile = hbbp::profile_call([&calls] { ++calls; });
  CHECK(calls == 1);
  CHECK(profile.info().samples == 0 && profile.sources().empty());
  const hbbp::analysis analysis(profile);
  CHECK(analysis.blocks().empty() && analysis.hottest_functions(10).empty());
  CHECK(analysis.instruction_mix().rows().empty());
  CHECK(hbbp::capabilities().list().empty());
  hbbp::session session;
  session.start();
  session.stop();
  hbbp::feed feed;
  feed.process(0);
  feed.flush();
  CHECK(session.info().duration_ns == 0 && feed.snapshot().get() == nullptr);
  CHECK(std::strcmp(SourceOfTheLibrary(), "external") == 0);
  return end_of_checks();
}
