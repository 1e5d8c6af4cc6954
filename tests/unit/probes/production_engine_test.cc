// Tests that productions fire as the flags say, that bursts have the length that was asked for, and
// what tables hold.
#include "probes/production_engine.h"

#include "support/allocation_count.h"
#include "unit/probes/probe_stream.h"

namespace hbbp {
namespace {

constexpr char kBursts[] = "sample_freq = 5\nburst_length = 3\nuse framework\n";

TEST_CASE("engine: a cycle has sample_freq + burst_length + 1 boundaries") {
  const ProductionSet set =
      ParseProductions(kBursts + std::string("p: proc_call && sample_flag => null, null\n"));
  ProbeStream stream(&set);
  constexpr uint64_t kCycles = 4;
  for (uint64_t i = 0; i < kCycles * 9; ++i) {
    CHECK(stream.engine().bursts() == i / 9 + (i % 9 >= 5 ? 1 : 0));
    stream.Execute(kCallForward, 0x1000, 0x1105);
  }
  CHECK(stream.Firings("P1") == kCycles * 5);
  CHECK(stream.Firings("P3") == kCycles * 3);
  CHECK(stream.Firings("P5") == kCycles);
  // The call that resets is seen as well: the flags change after it.
  CHECK(stream.Firings("p") == kCycles * 4);
  CHECK(stream.state().sample_counter == 0);
  CHECK_FALSE(stream.state().sample_flag);
}

TEST_CASE("engine: calls and backward branches are boundaries, other instructions are not") {
  const ProductionSet set = ParseProductions(kBursts);
  ProbeStream stream(&set);
  stream.Execute(kCallRax, 0x1000, 0x5000);
  stream.Execute(kJneBack, 0x2000, 0x2002);  // executed, not taken
  stream.Execute(kJumpBack, 0x3000, 0x2ff2);
  for (const Code& other : {kReturn, kJneForward, kNop, kLoad}) stream.Execute(other, 0x4000);
  CHECK(stream.state().sample_counter == 3);
  stream.Execute(kCallRax, 0x1000, 0x5000);
  CHECK_FALSE(stream.state().sample_flag);
  stream.Execute(kCallRax, 0x1000, 0x5000);
  CHECK(stream.state().sample_flag);
  CHECK(stream.Firings("P1") == 3);
  CHECK(stream.Firings("P2") == 2);
}

TEST_CASE("engine: threads have counters and flags of their own") {
  const ProductionSet set = ParseProductions(kBursts);
  ProbeStream stream(&set);
  for (int i = 0; i < 5; ++i) stream.Execute(kCallForward, 0x1000, 0x1105, {}, 1);
  for (int i = 0; i < 4; ++i) stream.Execute(kCallForward, 0x1000, 0x1105, {}, 2);
  CHECK(stream.state(1).sample_flag);
  CHECK_FALSE(stream.state(2).sample_flag);
  CHECK(stream.state(2).sample_counter == 4);
}

TEST_CASE("engine: several productions fire on one instruction") {
  const ProductionSet set = ParseProductions(
      "a: proc_call => count calls(pc), null\nb: indirect => count calls(pc), null\n"
      "c: proc_call && direct => null, null\n");
  ProbeStream stream(&set);
  stream.Execute(kCallRax, 0x1000, 0x5000);
  CHECK(stream.Firings("a") == 1);
  CHECK(stream.Firings("b") == 1);
  CHECK(stream.Firings("c") == 0);
  CHECK(stream.engine().counts(0).total() == 2);
  CHECK(stream.engine().counts(0).rows() == 1);
}

TEST_CASE("engine: exhaustive profiles are always in a burst, with the same productions") {
  const ProductionSet set = ParseProductions(
      kBursts + std::string("pairs: proc_call && sample_flag => count(function, target), null\n"));
  ProbeStream stream(&set, {.is_exhaustive = true});
  for (int i = 0; i < 100; ++i) stream.Execute(kCallForward, 0x1000, 0x1105);
  for (int i = 0; i < 7; ++i) stream.Execute(kCallRax, 0x2010, 0x9000);
  const auto rows = stream.engine().counts(0).Sorted();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].row == ProbeRow{0x1000, 0x1105});
  CHECK(rows[0].count == 100);
  CHECK(rows[1].row == ProbeRow{0x2000, 0x9000});
  CHECK(rows[1].count == 7);
  CHECK(stream.engine().bursts() == 0);
}

TEST_CASE("engine: options overwrite the lengths of the set") {
  const ProductionSet set = ParseProductions(kBursts);
  ProbeStream stream(&set, {.sample_freq = 2, .burst_length = 1});
  for (int i = 0; i < 8; ++i) stream.Execute(kCallForward, 0x1000, 0x1105);
  CHECK(stream.engine().bursts() == 2);
  CHECK(stream.Firings("P5") == 2);
}

TEST_CASE("engine: productions extend and stop a burst") {
  const ProductionSet set = ParseProductions(
      kBursts +
      std::string("more: mnemonic = div && sample_flag => null, extend_burst 2\n"
                  "enough: store && addressing = base && sample_flag => null, stop_burst\n"));
  ProbeStream stream(&set);
  const auto call = [&stream](int times) {
    for (int i = 0; i < times; ++i) stream.Execute(kCallForward, 0x1000, 0x1105);
  };
  call(5);
  stream.Execute(kDiv, 0x2000);
  call(4);
  CHECK_FALSE(stream.state().burst_flag);
  call(1);
  CHECK(stream.state().burst_flag);
  call(1 + 5);  // the burst ends, the next one starts
  CHECK(stream.engine().bursts() == 2);
  stream.Execute(kStore, 0x2000);
  CHECK(stream.state().burst_flag);
}

TEST_CASE("engine: extensions of a burst add up to no less than the maximum") {
  const ProductionSet set = ParseProductions(
      kBursts + std::string("more: mnemonic = div && sample_flag => null, extend_burst " +
                            std::to_string(kMaxCounter) + "\n"));
  ProbeStream stream(&set);
  for (int i = 0; i < 5; ++i) stream.Execute(kCallForward, 0x1000, 0x1105);
  REQUIRE(stream.state().sample_flag);
  for (int i = 0; i < 4; ++i) stream.Execute(kDiv, 0x2000);
  for (int i = 0; i < 10; ++i) stream.Execute(kCallForward, 0x1000, 0x1105);
  CHECK_FALSE(stream.state().burst_flag);
}

TEST_CASE("engine: traces hold no more symbols than Sequitur takes") {
  CHECK(TraceBuffer(SIZE_MAX).max_symbols() == Sequitur::kMaxSymbol);
  CHECK(TraceBuffer(7).max_symbols() == 7);
}

TEST_CASE("engine: traces are sequences by thread and burst") {
  const ProductionSet set = ParseProductions(
      "sample_freq = 1\nburst_length = 1\nuse framework\n"
      "d: load && sample_flag && !burst_flag && addressing = base => trace(pc, address), null\n");
  ProbeStream stream(&set);
  for (int burst = 0; burst < 2; ++burst) {
    stream.Execute(kLoad, 0x2000, 0, {0x90, 4, 0}, 1);  // between bursts
    stream.Execute(kCallForward, 0x1000, 0x1105, {}, 1);
    stream.Execute(kLoad, 0x2000, 0, {0x80, 4, 0}, 1);
    stream.Execute(kLoad, 0x2000, 0, {0x88, 4, 0}, 1);
    stream.Execute(kCallForward, 0x1000, 0x1105, {}, 1);
    stream.Execute(kCallForward, 0x1000, 0x1105, {}, 1);
  }
  stream.Execute(kCallForward, 0x1000, 0x1105, {}, 2);
  stream.Execute(kLoad, 0x2000, 0, {0x80, 4, 0}, 2);
  const TraceBuffer& trace = stream.engine().trace(0);
  CHECK(trace.rows() == std::vector<ProbeRow>{{0x2000, 0x80}, {0x2000, 0x88}});
  CHECK(trace.sequences() == std::vector<std::vector<uint32_t>>{{0, 1}, {0, 1}, {0}});
}

// An engine that traces the addresses of loads, and a load.
struct TracedLoads {
  TracedLoads() : engine(&set, {.is_exhaustive = true}) {
    REQUIRE(set.Prepare(kLoad, {0x1000}, &load));
    event.instruction = &load;
  }

  const ProductionSet set = ParseProductions("d: load => trace(address), null\n");
  ProductionEngine engine;
  ProbedInstruction load;
  InstructionEvent event;
};

TEST_CASE("engine: a thread with the number of one that ended has a sequence of its own") {
  TracedLoads loads;
  ProductionEngine& engine = loads.engine;
  InstructionEvent& event = loads.event;
  for (int threads = 0; threads < 2; ++threads) {
    BurstState state = engine.StartThread();
    for (event.address = 0; event.address < 3; ++event.address) engine.Run(event, 7, &state);
    engine.EndThread(7);
  }
  REQUIRE(engine.trace(0).sequences().size() == 2);
  CHECK(engine.trace(0).sequences()[0] == engine.trace(0).sequences()[1]);
}

TEST_CASE("engine: tables that are full drop and count") {
  const ProductionSet set =
      ParseProductions("c: load => count(address), null\nt: load => trace(address), null\n");
  ProbeStream stream(&set, {.max_rows = 100, .max_symbols = 150});
  for (uint64_t i = 0; i < 250; ++i) stream.Execute(kLoad, 0x1000, 0, {i % 125, 4, 0});
  const CountTable& counts = stream.engine().counts(0);
  CHECK(counts.rows() == 100);
  CHECK(counts.total() == 250);
  CHECK(counts.dropped() == 50);
  CHECK(counts.Sorted().front().count == 2);
  CHECK(stream.engine().trace(1).dropped() == 100);
}

TEST_CASE("engine: an instruction whose rows are known allocates nothing") {
  const ProductionSet set =
      ParseProductions("use hot-methods\nuse edges\nv: load && value > 3 => count(value), null\n");
  ProductionEngine engine(&set, {.is_exhaustive = true});
  BurstState state = engine.StartThread();
  ProbedInstruction call;
  ProbedInstruction load;
  REQUIRE(set.Prepare(kCallForward, {0x1000, 0x1000}, &call));
  REQUIRE(set.Prepare(kLoad, {0x1005, 0x1000}, &load));
  const auto run = [&] {
    engine.Run({.instruction = &call, .next = 0x1105}, 1, &state);
    engine.Run({.instruction = &load, .next = 0x1007, .value = 9}, 1, &state);
  };
  run();
  const int before = AllocationCount();
  for (int i = 0; i < 1000; ++i) run();
  CHECK(AllocationCount() == before);
}

TEST_CASE("engine: bytes that are not an instruction are not prepared") {
  const ProductionSet set = ParseProductions("p: return => null, null\n");
  ProbedInstruction instruction;
  CHECK_FALSE(set.Prepare(Code{0x06}, {0x1000}, &instruction));
  CHECK_FALSE(set.Prepare(Code{0xe8, 0x00}, {0x1000}, &instruction));
}

TEST_CASE("engine: records of a sampled burst get their weights at its end") {
  const ProductionSet set =
      ParseProductions(kBursts + std::string("in: return && sample_flag => count(pc), null\n"
                                             "always: return => count any(pc), null\n"
                                             "order: return => trace(pc), null\n"));
  ProductionEngine engine(&set, {});
  ProbedInstruction instruction;
  REQUIRE(set.Prepare(kReturn, {0x1000}, &instruction));
  InstructionEvent event;
  event.instruction = &instruction;
  for (const double weight : {10, 20}) {
    BurstState state = engine.BeginBurst();
    CHECK(state.sample_flag);
    engine.Run(event, 0, &state);
    engine.Run(event, 0, &state);
    engine.EndBurst({.always = weight, .in_burst = 3 * weight});
  }
  CHECK(engine.bursts() == 2);
  CHECK(engine.counts(0).total() == 4);
  CHECK(engine.counts(0).total_estimate() == 2 * 3 * 30);
  CHECK(engine.counts(1).total_estimate() == 2 * 30);
  CHECK(engine.trace(2).sequences().size() == 2);
}

TEST_CASE("engine: what is unknown is not recorded, and decides no condition") {
  const ProductionSet set = ParseProductions(
      "all: load => count(pc), null\nstrides: load => count(pc, stride), null\n"
      "small: load && stride < 8 => null, null\nnot-small: load && !(stride < 8) => null, null\n"
      "any: load && (stride < 8 || size = 4) => null, null\n");
  ProductionEngine engine(&set, {});
  ProbedInstruction instruction;
  REQUIRE(set.Prepare(kLoad, {0x1000}, &instruction));
  InstructionEvent event;
  event.instruction = &instruction;
  event.size = 4;
  event.unknown = SetOf(ProbeKey::kStride);
  BurstState state = engine.StartThread();
  engine.Run(event, 0, &state);
  CHECK(engine.counts(0).total() == 1);
  CHECK(engine.unknown_records(0) == 0);
  CHECK(engine.counts(1).total() == 0);
  CHECK(engine.unknown_records(1) == 1);
  CHECK(engine.unknown_fields(1) == SetOf(ProbeKey::kStride));
  CHECK(engine.firings(1) == 1);
  CHECK(engine.firings(2) == 0);
  CHECK(engine.firings(3) == 0);
  CHECK(engine.firings(4) == 1);
}

TEST_CASE("engine: where an element of a trace is unknown, another sequence begins") {
  TracedLoads loads;
  ProductionEngine& engine = loads.engine;
  InstructionEvent& event = loads.event;
  BurstState state = engine.StartThread();
  for (event.address = 0; event.address < 5; ++event.address) {
    event.unknown = event.address == 2 ? SetOf(ProbeKey::kAddress) : 0;
    engine.Run(event, 7, &state);
  }
  CHECK(engine.unknown_records(0) == 1);
  CHECK(engine.trace(0).sequences() == std::vector<std::vector<uint32_t>>{{0, 1}, {2, 3}});
}

TEST_CASE("engine: what an unknown reuse distance is at least decides conditions") {
  const ProductionSet set = ParseProductions(
      "far: load && reuse >= 512 => count(pc), null\nnear: load && reuse < 512 => null, null\n"
      "not-near: load && !(reuse < 512) => null, null\n"
      "farther: load && reuse > 512 => null, null\ndistances: load => count(reuse), null\n");
  ProductionEngine engine(&set, {});
  ProbedInstruction instruction;
  REQUIRE(set.Prepare(kLoad, {0x1000}, &instruction));
  InstructionEvent event;
  event.instruction = &instruction;
  event.unknown = SetOf(ProbeKey::kReuse);
  BurstState state = engine.StartThread();
  for (const uint64_t minimum : {0, 256, 512}) {
    event.reuse = minimum;
    engine.Run(event, 0, &state);
  }
  CHECK(engine.firings(0) == 1);
  CHECK(engine.counts(0).total() == 1);
  CHECK(engine.firings(1) == 0);
  CHECK(engine.firings(2) == 1);
  CHECK(engine.firings(3) == 0);
  CHECK(engine.counts(1).total() == 0);
  CHECK(engine.unknown_records(1) == 3);
}

TEST_CASE("engine: a call has the fields, also where one is unknown") {
  const ProductionSet set = ParseProductions(
      "none: store => null, null\nloads: load => call(pc, stride); call other, null\n");
  std::vector<std::string> calls;
  const ProbeHandler handler = [&](const ProbeCall& call) {
    calls.push_back(std::to_string(call.production) + " " + std::to_string(call.table) + " " +
                    std::to_string(call.values[0]) + " " + std::to_string(call.values[1]) + " " +
                    std::to_string(call.unknown) + " " + std::to_string(call.event.next));
    return true;
  };
  ProductionEngine engine(&set, {.is_exhaustive = true, .handler = handler});
  ProbedInstruction instruction;
  REQUIRE(set.Prepare(kLoad, {0x1000}, &instruction));
  InstructionEvent event;
  event.instruction = &instruction;
  event.next = 4098;
  event.stride = 8;
  BurstState state = engine.StartThread();
  engine.Run(event, 0, &state);
  CHECK_FALSE(state.burst_flag);  // exhaustive profiles have no bursts
  event.unknown = SetOf(ProbeKey::kStride);
  engine.Run(event, 0, &state);
  CHECK(calls == std::vector<std::string>{"1 0 4096 8 0 4098", "1 1 0 0 0 4098",
                                          "1 0 4096 0 2 4098", "1 1 0 0 0 4098"});
  CHECK(engine.calls(0) == 2);
  CHECK(engine.unknown_records(0) == 1);
  CHECK(engine.calls(1) == 2);
  CHECK(engine.unknown_records(1) == 0);

  ProductionEngine without(&set, {});
  state = without.StartThread();
  without.Run(event, 0, &state);
  CHECK(without.firings(1) == 1);
  CHECK(without.calls(0) == 0);
}

TEST_CASE("engine: a handler stops the burst") {
  const ProductionSet set = ParseProductions(
      "burst_length = 10\nuse framework\n"
      "calls: return && sample_flag => call, null\n"
      "seen: sample_flag && !burst_flag => count(pc), null\n");
  bool stops = false;
  ProductionEngine engine(&set, {.handler = [&](const ProbeCall&) { return stops; }});
  ProbedInstruction instruction;
  REQUIRE(set.Prepare(kReturn, {0x1000}, &instruction));
  InstructionEvent event;
  event.instruction = &instruction;
  BurstState state = engine.BeginBurst();
  engine.Run(event, 0, &state);
  CHECK_FALSE(state.burst_flag);
  stops = true;
  engine.Run(event, 0, &state);
  CHECK(state.burst_flag);
  engine.Run(event, 0, &state);
  engine.EndBurst({});
  CHECK(engine.calls(0) == 3);
  CHECK(engine.counts(1).total() == 2);
}

}  // namespace
}  // namespace hbbp
