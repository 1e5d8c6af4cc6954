// Tests the language of productions: which instructions conditions match, what is refused, where.
#include "probes/production_set.h"

#include "probes/builtin_productions.h"
#include "unit/probes/probe_stream.h"

namespace hbbp {
namespace {

// Returns whether a condition holds for one execution.
bool Holds(const std::string& condition, const Code& code, uint64_t next = 0,
           const std::array<uint64_t, 3>& data = {}) {
  const ProductionSet set = ParseProductions("p: " + condition + " => null, null\n");
  ProbeStream stream(&set);
  stream.Execute(code, 0x1000, next, data);
  return stream.Firings("p") == 1;
}

TEST_CASE("productions: classes of control flow") {
  for (const Code& call : {kCallForward, kCallRax}) CHECK(Holds("proc_call", call));
  for (const Code& other : {kReturn, kJumpBack, kJneBack, kLoad, kNop}) {
    CHECK_FALSE(Holds("proc_call", other));
  }
  CHECK(Holds("proc_call && direct", kCallForward));
  CHECK_FALSE(Holds("proc_call && direct", kCallRax));
  CHECK(Holds("proc_call && indirect", kCallRax));
  CHECK(Holds("return", kReturn));
  CHECK_FALSE(Holds("return || indirect", kCallForward));
  for (const Code& branch : {kJumpBack, kJneBack, kJneForward, kJumpRax}) {
    CHECK(Holds("branch", branch));
  }
  for (const Code& other : {kCallForward, kReturn, kNop}) CHECK_FALSE(Holds("branch", other));
  CHECK(Holds("branch && conditional", kJneForward));
  CHECK_FALSE(Holds("conditional", kJumpBack));
  CHECK(Holds("branch && indirect", kJumpRax));
}

TEST_CASE("productions: a backward branch has a target at or before its own address") {
  CHECK(Holds("branch && backward", kJumpBack));
  CHECK(Holds("backward", kJumpToItself));
  CHECK_FALSE(Holds("backward", kJneForward));
  // The direction is in the code, whether the branch is taken or not.
  CHECK(Holds("backward && taken", kJneBack, 0xff2));
  CHECK(Holds("backward && !taken", kJneBack, 0x1002));
  CHECK(Holds("backward", kJumpRax, 0x1000));
  CHECK_FALSE(Holds("backward", kJumpRax, 0x1001));
  CHECK(Holds("taken", kReturn, 0x5000));
  CHECK_FALSE(Holds("taken || backward", kNop));
}

TEST_CASE("productions: where a path ends, as far as the instruction says") {
  for (const Code& end : {kReturn, kJumpBack, kJumpRax}) CHECK(Holds("path_end", end));
  for (const Code& other : {kNop, kCallForward, kCallRax, kJneForward}) {
    CHECK_FALSE(Holds("path_end", other));
  }
}

TEST_CASE("productions: classes of memory") {
  CHECK(Holds("mem_op && load && !store", kLoad));
  CHECK(Holds("mem_op && store && !load", kStore));
  CHECK(Holds("load && store", kAddToMemory));
  CHECK_FALSE(Holds("mem_op", kDiv));
  CHECK(Holds("mem_op && addressing = stack", kReturn));
}

TEST_CASE("productions: properties and groups of taxonomies") {
  CHECK(Holds("category = divide", kDiv));
  CHECK(Holds("mnemonic = div,idiv and not mem_op", kDiv));
  CHECK(Holds("mnemonic ~ j* && mnemonic = jnz", kJneBack));
  CHECK(Holds("groups = long-latency", kDiv));
  CHECK(Holds("groups = other,control-flow", kJneBack));
  CHECK_FALSE(Holds("groups = crypto", kDiv));
}

TEST_CASE("productions: operands") {
  CHECK(Holds("pc = 0x1000", kNop));
  CHECK(Holds("T.PC = 4096 && T.Target = 0x1105 && T.INSN = e800010000", kCallForward, 0x1105));
  CHECK(Holds("insn ~ eb*", kJumpBack));
  CHECK(Holds("target = 0xff2 && next = 0x1002", kJneBack));
  CHECK(Holds("target = 0x7000", kCallRax, 0x7000));
  CHECK(Holds("function = 0x1000", kNop));
  CHECK(Holds("address >= 0x80 && size = 4 && value = 7", kLoad, 0, {0x80, 4, 7}));
  CHECK_FALSE(Holds("address >= 0x80 && size = 4 && value = 7", kLoad, 0, {0x80, 4, 8}));
}

TEST_CASE("productions: where the instruction is, who called, and registers") {
  CHECK(Holds("entry", kNop));
  CHECK(Holds("name ~ 'f(*' && module = libf.so", kNop));
  CHECK_FALSE(Holds("name = g || module ~ g*", kNop));
  CHECK(Holds("caller = 0x77 && stride = 0x20", kLoad, 0, {0x30, 4, 0}));
  CHECK(Holds("rax = 100 && rsp = 104 && rdi = 107 && r8 = 108 && r15 = 115", kNop));
  CHECK_FALSE(Holds("rcx != 101", kNop));
  CHECK(Holds("divisor = 101", kDiv));
  CHECK(Holds("divisor = 0x34", {0xf6, 0x31}, 0, {0x80, 1, 0x1234}));  // div byte [rcx]
  CHECK(Holds("divisor = 0", kLoad, 0, {0x80, 4, 7}));
}

TEST_CASE("productions: settings, comments, continuation lines, tables") {
  const ProductionSet set = ParseProductions(
      "# bursts\r\nsample_freq = 50\nburst_length =\n  7\n\nuse framework\n"
      "p: proc_call\n    && sample_flag  \n# in between\n => count calls(pc, target);\n"
      "   trace seq(address), extend_burst 3; stop_burst\n"
      "q: return => count calls(next, caller), null");
  CHECK(set.settings().sample_freq == 50);
  CHECK(set.settings().burst_length == 7);
  REQUIRE(set.productions().size() == 8);
  CHECK(set.productions()[0].name == "P1");
  const Production& p = set.productions()[6];
  CHECK(p.name == "p");
  REQUIRE(p.actions.size() == 2);
  CHECK(p.actions[0].fields == std::vector{ProbeKey::kPc, ProbeKey::kTarget});
  CHECK(p.burst_extension == 3);
  CHECK(p.stops_burst);
  REQUIRE(set.tables().size() == 2);
  CHECK(set.tables()[0].name == "calls");
  CHECK(set.tables()[1].kind == TableKind::kTrace);
  CHECK((set.keys() & SetOf(ProbeKey::kCaller)) != 0);
  CHECK((set.keys() & SetOf(ProbeKey::kValue)) == 0);
}

TEST_CASE("productions: a call needs neither a name nor fields") {
  const ProductionSet set = ParseProductions(
      "bare: return => call, null\n"
      "named: return => call all; count(pc), stop_burst\n"
      "fields: return => call(pc, target), null\n"
      "both: return => call all2(pc); call, null\n");
  REQUIRE(set.tables().size() == 6);
  const auto is_call = [&](size_t table, std::string_view name, size_t fields) {
    return set.tables()[table].kind == TableKind::kCall && set.tables()[table].name == name &&
           set.tables()[table].fields.size() == fields;
  };
  CHECK(is_call(0, "bare", 0));
  CHECK(is_call(1, "all", 0));
  CHECK(set.tables()[2].kind == TableKind::kCount);
  CHECK(is_call(3, "fields", 2));
  CHECK(is_call(4, "all2", 1));
  CHECK(is_call(5, "both", 0));
}

TEST_CASE("productions: every built-in profile can be used, alone and with the others") {
  std::string all;
  for (const BuiltinProductions& builtin : AllBuiltinProductions()) {
    ParseProductions("use " + std::string(builtin.name));
    all += "use " + std::string(builtin.name) + "\n";
  }
  const ProductionSet set = ParseProductions(all);
  CHECK(set.productions().size() <= 32);
  CHECK(set.productions()[5].resets);
  CHECK(FindBuiltinProductions("hot-method") == nullptr);
}

TEST_CASE("productions: errors have line and column") {
  const struct {
    const char* text;
    const char* message;
  } kCases[] = {
      {"p: proc_cal => null, null",
       "line 1, column 4: no key 'proc_cal'; did you mean 'proc_call'?"},
      {"\np:\n  return &&\n   mem_opp => null, null", "line 4, column 4: no key 'mem_opp'"},
      {"p: proc_call = 3 => null, null", "line 1, column 14: 'and', 'or' or the end must follow"},
      {"p: size ~ 3 => null, null", "line 1, column 9: 'size' is a number, which has no pattern"},
      {"p: groups = fast => null, null", "line 1, column 13: no groups 'fast'"},
      {"p: return => nil, null",
       "line 1, column 14: 'null', 'count', 'trace' or 'call' must follow '=>'"},
      {"p: return => call(, null", "line 1, column 19: no field ','"},
      {"p: return => call(pc), null\nq: return => call p(pc, next), null",
       "line 2, column 19: table 'p' has another kind, or another number of fields"},
      {"p: return => count(pcc), null", "line 1, column 20: no field 'pcc'; did you mean 'pc'?"},
      {"p: return => count(pc,pc,pc,pc,pc), null", "line 1, column 32: more than 4 fields"},
      {"p: return => null", "line 1, column 18: ',' must stand here, not the end"},
      {"p: return => null, rest", "line 1, column 20: no control 'rest'; did you mean 'reset'?"},
      {"p: return => null, extend_burst", "column 32: a number must stand here, not the end"},
      {"p: return => null, null null", "line 1, column 25: 'null' after the end of the statement"},
      {"p: return, null", "line 1, column 1: no '=>' between the condition of 'p'"},
      {"p: => null, null", "line 1, column 4: a key, 'not' or '(' must stand here"},
      {"p: return => null, null\np: branch => null, null",
       "line 2, column 1: a second production 'p'"},
      {"  p: return => null, null", "line 1, column 1: an indented line continues"},
      {"use hot-method", "line 1, column 5: no built-in productions 'hot-method'; did you mean"},
      {"sample_frq = 3", "line 1, column 1: no setting 'sample_frq'; did you mean 'sample_freq'?"},
      {"sample_freq = 0\nuse framework", "sample_freq must not be 0"},
      {"sample_freq = ten", "line 1, column 15: a number must stand here, not 'ten'"},
      {"max_patterns = 65", "line 1, column 16: '65' is more than the maximum, 64"},
      {"", "line 1, column 1: no production"},
      {"sample_freq = 3", "line 1, column 1: no production"},
      {"hello", "line 1, column 1: 'NAME: condition => replacement, control'"},
      {"p: return => count a(pc), null\nq: branch => trace a(pc), null",
       "line 2, column 20: table 'a' has another kind"},
      {"p: return => count a(size, pc), null\nq: load => count a(size, value), null",
       "line 2, column 18: 'value', and 'pc' of table 'a' above, must both be addresses of code"},
      {"p: return => count a(value), null\nq: load => count a(caller), null",
       "line 2, column 18: 'caller', and 'value' of table 'a' above, must both be"},
      {"\n\nq: return && sample_flag => null, null",
       "line 3, column 1: 'q' depends on sample_flag"},
  };
  for (const auto& [text, message] : kCases) {
    const std::string error = ErrorOfProductions(text);
    INFO(text << "\n" << error);
    CHECK(error.find(message) != error.npos);
    CHECK(error.starts_with("line "));
  }
}

TEST_CASE("productions: conditions that contradict themselves are refused") {
  for (const char* condition :
       {"proc_call && return", "proc_call && !proc_call", "mem_op && !load && !store",
        "load && memory = none", "conditional && !branch", "direct && indirect",
        "size < 4 && size > 8", "mnemonic = add && mnemonic = sub",
        "taken && !branch && !proc_call && !return", "indirect && !taken",
        "branch && (size > 8 and size < 3 or return)"}) {
    const std::string error = ErrorOfProductions(std::string("p: ") + condition + " => null, null");
    CHECK(error ==
          "line 1, column 4: the condition contradicts itself: no instruction can fulfil it");
  }
  for (const char* condition :
       {"proc_call || return", "load && store", "size >= 4 && size <= 4", "taken && conditional",
        "indirect && backward", "!taken && conditional && backward",
        "mnemonic ~ add* && mnemonic = addps", "entry && !entry || name = f && name = g",
        "insn ~ 0f* && insn != 0f05"}) {
    ParseProductions(std::string("p: ") + condition + " => null, null");
  }
}

// Whether it contradicts itself would take minutes to find out.
TEST_CASE("productions: long conditions of many numbers are not decided") {
  std::string condition = "size > 8 && size < 3";
  for (const char* key : {"rax", "rcx", "rdx", "rbx", "rsi"}) {
    condition += std::string(" && (") + key + " = 1 or " + key + " = 5)";
  }
  std::string line = "p: " + condition;
  for (int i = 0; i < 500; ++i) line += " && pc > 7";
  ParseProductions(line + " => null, null");
}

TEST_CASE("productions: the tables of the hardware are limits that can be raised") {
  std::string text;
  for (int i = 0; i < 33; ++i) text += "p" + std::to_string(i) + ": return => null, null\n";
  CHECK(ErrorOfProductions(text).starts_with(
      "line 33, column 1: more productions than max_patterns, 32"));
  CHECK(ParseProductions(text + "max_patterns = 33").productions().size() == 33);

  std::string actions = "p: return => count t(pc)";
  for (int i = 1; i < 2048; ++i) actions += "; count t(pc)";
  ParseProductions(actions + ", null");
  const std::string more = actions + "; count t(pc), null";
  CHECK(ErrorOfProductions(more).find("2049 actions are more than max_replacements, 2048") !=
        std::string::npos);
  ParseProductions(more + "\nmax_replacements = 3000");
  CHECK(
      ErrorOfProductions(std::string(kMaxProductionBytes + 1, ' ')).find("bytes of productions") !=
      std::string::npos);
}

}  // namespace
}  // namespace hbbp
