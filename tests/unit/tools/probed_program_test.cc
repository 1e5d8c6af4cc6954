// Tests the state of threads, with the code of this process.
#include "probe/probed_program.h"

#include <unistd.h>

#include "support/catch.h"

namespace hbbp::tools {
namespace {

void Code() {}

TEST_CASE("probed program: a thread with the number of one that ended starts anew") {
  const StatusOr<ProductionSet> set = ProductionSet::Parse(
      "sample_freq = 2\np: pc > 0 => null, count_sample\nq: sample_flag => null, null\n", {});
  REQUIRE(set.ok());
  ProbedProgram program(&*set, {{}});
  program.Start(::getpid());
  const auto pc = reinterpret_cast<uint64_t>(&Code);
  const ProductionEngine& engine = program.engines()[0];
  program.Execute(7, pc, {});
  program.EndThread(7);
  program.Execute(7, pc, {});
  CHECK(engine.bursts() == 0);
  program.Execute(8, pc, {});
  CHECK(engine.bursts() == 0);
  program.Execute(7, pc, {});
  CHECK(engine.bursts() == 1);
  CHECK(program.instructions() == 4);
}

}  // namespace
}  // namespace hbbp::tools
