"""Real programs and inputs for the measurements of docs/results.md.

Inputs are made afresh in a folder of the caller's, from fixed seeds, so that two runs do the same.
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


def write_c_source(path, functions):
    """Functions with loops and switches, as a compiler's input."""
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


def write_text(path, size):
    """Text with the statistics of a log: repeated words, numbers, some noise."""
    rng = random.Random(2)
    words = ["".join(rng.choices("etaoinshrdlucmfw", k=rng.randint(2, 9))) for _ in range(4000)]
    with open(path, "w") as out:
        written = 0
        while written < size:
            line = (f"{rng.randint(0, 10**6):06d} " +
                    " ".join(rng.choices(words, k=rng.randint(4, 14))) + "\n")
            out.write(line)
            written += len(line)


def prepare(folder, scale=1):
    """Returns [(name, command)] with the inputs in `folder`; they run for some `scale` seconds each.

    Every command prints to stdout only.
    """
    folder = pathlib.Path(folder)
    for name, text in [("mix.lua", LUA), ("mix.pl", PERL), ("mix.py", PYTHON)]:
        (folder / name).write_text(text.replace("SCALE", str(scale)))
    write_text(folder / "small.txt", scale * 3_000_000)
    write_text(folder / "large.txt", scale * 24_000_000)
    write_c_source(folder / "switches.c", scale * 220)
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True,
                         check=True).stdout.strip()
    candidates = [
        ("lua", ["lua5.4", folder / "mix.lua"]),
        ("bzip2", ["bzip2", "-c", folder / "large.txt"]),
        ("xz", ["xz", "-3", "-T1", "-c", folder / "small.txt"]),
        ("cc1", [cc1, "-quiet", "-O2", folder / "switches.c", "-o", "/dev/null"]),
        ("perl", ["perl", folder / "mix.pl"]),
        ("python3", ["/usr/bin/python3", folder / "mix.py"]),
        ("xz, 2 threads", ["xz", "-1", "-T2", "--block-size=2MiB", "-c", folder / "large.txt"]),
    ]
    return [(name, [str(word) for word in command]) for name, command in candidates
            if shutil.which(str(command[0]))]
