"""Makes real programs and inputs for the measurements of docs/lab/results.md.

Inputs are made afresh in a directory of the caller's, from fixed seeds, so that two runs do the same.
"""

import pathlib
import random
import shutil
import subprocess

LUA = """
for round = 1, SCALE do
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local words = {}
for i = 1, 1200000 do words[#words + 1] = tostring((i * 7919) % 100003) end
table.sort(words)
local counts = {}
for _, word in ipairs(words) do counts[word] = (counts[word] or 0) + 1 end
local n = 0
for word, count in pairs(counts) do if word:find("77") then n = n + count end end
print(n, fib(34))
end
"""

PERL = """
for my $round (1 .. SCALE) {
my (%count, $text);
my $state = 1;
for (1 .. 6000000) {
  $state = ($state * 1103515245 + 12345) % 2147483648;
  my $word = sprintf("w%x", $state >> 19);
  $count{$word}++;
  $text .= $word . " " if $_ % 10 == 0;
}
my $hits = () = $text =~ /w[0-9a]+f?\\b/g;
print scalar(keys %count), " $hits ", join(",", (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 3]), "\\n";
}
"""

PYTHON = """
import json, re
for round in range(SCALE):
    state, rows = 1, []
    for i in range(500000):
        state = (state * 1103515245 + 12345) % 2**31
        rows.append({"id": i, "name": f"n{state >> 20}", "value": state / 7})
    text = json.dumps(rows)
    parsed = json.loads(text)
    groups = {}
    for row in parsed:
        groups.setdefault(row["name"], []).append(row["value"])
    print(len(groups), len(re.findall(r'"n1\\d+"', text)), sum(max(v) for v in groups.values()))
"""


SQL = """
CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER, name TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < SCALE * 200000)
  INSERT INTO t SELECT i, (i * 7919) % 10007, 'name' || (i % 997) FROM n;
CREATE INDEX by_k ON t(k);
SELECT count(*), sum(a.k), max(b.name) FROM t a JOIN t b ON b.k = a.k AND b.id < a.id + 500;
SELECT name, count(*), avg(k) FROM t WHERE name LIKE '%7%' GROUP BY name ORDER BY 2 DESC LIMIT 3;
"""

# The program uses a search tree of strings and calls of virtual functions.
CPP_MAP = """
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
struct Shape { virtual ~Shape() = default; virtual double Area(int n) const = 0; };
struct Square : Shape { double Area(int n) const override { return n * n; } };
struct Strip : Shape { double Area(int n) const override { return n > 9 ? n / 2.0 : n; } };
struct Dot : Shape { double Area(int) const override { return 0; } };
int main() {
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 1000; ++i) {
    if (i * 7919 % 5 < 2) shapes.push_back(std::make_unique<Square>());
    else if (i % 3) shapes.push_back(std::make_unique<Strip>());
    else shapes.push_back(std::make_unique<Dot>());
  }
  double sum = 0;
  for (int round = 0; round < SCALE; ++round) {
    std::map<std::string, double> totals;
    unsigned state = 1;
    for (int i = 0; i < 4000000; ++i) {
      state = state * 1103515245 + 12345;
      totals["key" + std::to_string(state >> 18)] += shapes[(state >> 16) % shapes.size()]->Area(i & 31);
    }
    for (const auto& [key, total] : totals) sum += key.size() * total;
  }
  std::printf("%.1f\\n", sum);
}
"""

N_BODY = """
#include <math.h>
#include <stdio.h>
enum { N = 5 };
static double x[N][3] = {{0, 0, 0}, {4.84, -1.16, -.10}, {8.34, 4.12, -.4}, {12.89, -15.11, -.22},
                         {15.37, -25.9, .179}};
static double v[N][3] = {{0, 0, 0}, {.6, 2.8, -.02}, {-1.01, 1.8, .008}, {1.08, .86, -.01},
                         {.97, .59, -.03}};
static double m[N] = {39.4, .037, .011, .0017, .002};
int main(void) {
  for (long step = 0; step < SCALE * 16000000L; ++step) {
    for (int i = 0; i < N; ++i)
      for (int j = i + 1; j < N; ++j) {
        double d[3], r2 = 0;
        for (int k = 0; k < 3; ++k) { d[k] = x[i][k] - x[j][k]; r2 += d[k] * d[k]; }
        double f = 0.001 / (r2 * sqrt(r2));
        for (int k = 0; k < 3; ++k) { v[i][k] -= d[k] * m[j] * f; v[j][k] += d[k] * m[i] * f; }
      }
    for (int i = 0; i < N; ++i)
      for (int k = 0; k < 3; ++k) x[i][k] += 0.001 * v[i][k];
  }
  printf("%.9f\\n", x[0][0] + sin(x[1][1]));
}
"""

THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *arg) {
  unsigned state = (unsigned)(size_t)arg, hits = 0;
  for (long round = 0; round < SCALE * 12000000L / COUNT; ++round) {
    state = state * 1103515245 + 12345;
    for (unsigned n = state >> 20 | 1; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) ++hits;
  }
  return (void *)(size_t)hits;
}
int main(void) {
  pthread_t threads[COUNT];
  size_t sum = 0;
  for (size_t i = 0; i < COUNT; ++i) pthread_create(&threads[i], NULL, work, (void *)i);
  for (size_t i = 0; i < COUNT; ++i) { void *hits; pthread_join(threads[i], &hits); sum += (size_t)hits; }
  printf("%zu\\n", sum);
}
"""


def write_c_source(path, functions):
    """Writes functions with loops and switches, as a compiler's input."""
    rng = random.Random(1)
    with open(path, "w") as out:
        for i in range(functions):
            cases = "".join(
                f"case {k}: r += p->b * {rng.randint(1, 99)} + p->c[{k % (i % 17 + 1)}]; break;"
                for k in range(i % 7 + 5))
            out.write(f"""
struct s{i} {{ int a; long b; char c[{i % 17 + 1}]; }};
int f{i}(struct s{i} *p, int n) {{
  int r = 0;
  for (int j = 0; j < n; j++) {{
    switch ((p->a + j) % {i % 7 + 5}) {{ {cases} }}
    if (r > {rng.randint(10, 9999)}) r ^= j << {i % 5};
  }}
  return r;
}}
""")


def text_of(size):
    """Returns text with the statistics of a log: repeated words, numbers, some noise."""
    rng = random.Random(2)
    words = ["".join(rng.choices("etaoinshrdlucmfw", k=rng.randint(2, 9))) for _ in range(4000)]
    lines, length = [], 0
    while length < size:
        line = (f"{rng.randint(0, 10**6):06d} " +
                " ".join(rng.choices(words, k=rng.randint(4, 14))) + "\n")
        lines.append(line)
        length += len(line)
    return "".join(lines)


def prepare(directory, scale=1):
    """Returns [(name, command)] with the inputs in `directory`; they run for some `scale` seconds each.

    Every command prints to stdout only.
    """
    directory = pathlib.Path(directory)
    for name, text in [("mix.lua", LUA), ("mix.pl", PERL), ("mix.py", PYTHON)]:
        (directory / name).write_text(text.replace("SCALE", str(scale)))
    (directory / "small.txt").write_text(text_of(scale * 3_000_000))
    (directory / "large.txt").write_text(text_of(scale * 24_000_000))
    write_c_source(directory / "switches.c", scale * 220)
    (directory / "query.sql").write_text(SQL.replace("SCALE", str(scale)))
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True,
                         check=True).stdout.strip()
    candidates = [
        ("lua", ["lua5.4", directory / "mix.lua"]),
        ("bzip2", ["bzip2", "-c", directory / "large.txt"]),
        ("xz", ["xz", "-3", "-T1", "-c", directory / "small.txt"]),
        ("cc1", [cc1, "-quiet", "-O2", directory / "switches.c", "-o", "/dev/null"]),
        ("perl", ["perl", directory / "mix.pl"]),
        ("python3", ["/usr/bin/python3", directory / "mix.py"]),
        ("xz, 2 threads", ["xz", "-1", "-T2", "--block-size=2MiB", "-c", directory / "large.txt"]),
    ]
    return [(name, [str(word) for word in command]) for name, command in candidates
            if shutil.which(str(command[0]))]


def compile_program(directory, name, text, *arguments):
    source = directory / (name + (".cc" if "iostream" in text or "std::" in text else ".c"))
    source.write_text(text)
    compiler = "g++" if source.suffix == ".cc" else "gcc"
    subprocess.run([compiler, "-O2", "-o", directory / name, source, *arguments], check=True)
    return [str(directory / name)]


def threads_program(directory, count, scale=1):
    """Makes a program that does the same amount of work with any `count` of threads."""
    text = THREADS.replace("COUNT", str(count)).replace("SCALE", str(scale))
    return compile_program(pathlib.Path(directory), f"threads{count}", text, "-pthread")


def prepare_more(directory, scale=1):
    """Returns more programs for branch tracing. Call prepare first, whose inputs they share."""
    directory = pathlib.Path(directory)
    candidates = [
        ("zstd", ["zstd", "-9", "-q", "-c", "--single-thread", directory / "large.txt"]),
        ("clang", ["clang-14", "-O2", "-S", "-o", "/dev/null", directory / "switches.c"]),
        ("sqlite3", ["sqlite3", ":memory:", ".read " + str(directory / "query.sql")]),
        ("openssl", ["openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-iter", str(scale * 3_000_000),
                     "-k", "secret", "-S", "0011223344556677", "-in", directory / "mix.lua"]),
        ("C++ map", compile_program(directory, "cpp_map", CPP_MAP.replace("SCALE", str(scale)))),
        ("n-body", compile_program(directory, "n_body", N_BODY.replace("SCALE", str(scale)), "-lm")),
        ("64 threads", threads_program(directory, 64, scale)),
    ]
    return [(name, [str(word) for word in command]) for name, command in candidates
            if shutil.which(str(command[0]))]
