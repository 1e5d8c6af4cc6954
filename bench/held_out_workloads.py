"""Makes the programs that are held out: they say how right counts are of programs that no one has looked at.

No estimator, constant or default may be chosen by what these programs show. Each is a name and a command that writes its
result to stdout, always the same; povray writes a banner to stderr. They differ in kind: an assembler (symbols and
strings, C), an interpreter of bytecode (C), a renderer of pages (C) and a ray tracer (floating point, C++). The inputs
are made in a directory of the caller's.
"""

import pathlib
import random
import shutil

PHP = r"""<?php
function spectral($n) {
  $u = array_fill(0, $n, 1.0);
  for ($round = 0; $round < 4; ++$round) {
    $v = [];
    for ($i = 0; $i < $n; ++$i) {
      $sum = 0;
      for ($j = 0; $j < $n; ++$j) $sum += $u[$j] / (($i + $j) * ($i + $j + 1) / 2 + $i + 1);
      $v[] = $sum;
    }
    $u = $v;
  }
  return array_sum($u);
}
class Word {
  public function __construct(public string $text, public int $count = 0) {}
  public function weight(): int { return $this->count * strlen($this->text); }
}
for ($round = 0; $round < ROUNDS; ++$round) {
  $state = 1;
  $words = [];
  $lines = [];
  for ($i = 0; $i < 1500000; ++$i) {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    $text = 'w' . dechex($state >> 15);
    $words[$text] ??= new Word($text);
    ++$words[$text]->count;
    if ($i % 8 == 0) $lines[] = implode(';', [$text, $i, $state % 97]);
  }
  usort($words, fn($a, $b) => $b->weight() <=> $a->weight() ?: strcmp($a->text, $b->text));
  $found = 0;
  foreach ($lines as $line) $found += preg_match('/^w([0-9]+)[a-f];\d*7;(1|2\d)$/', $line);
  $text = json_encode(array_map(fn($line) => explode(';', $line), $lines));
  printf("%s %d %d %s %.12f\n", $words[0]->text, count($words), $found, md5($text), spectral(500));
}
"""

POSTSCRIPT = """%!PS
/state 1 def
/next { /state state 16807 mul 65537 mod def state } bind def
/number { next exch mod } bind def
/curve { newpath 595 number 842 number moveto 595 number 842 number 595 number 842 number 595 number 842 number curveto
  next 5 mod 1 add setlinewidth next 255 mod 255 div next 255 mod 255 div next 255 mod 255 div setrgbcolor stroke } bind def
/leaf { gsave 595 number 842 number translate next 360 mod rotate newpath 0 0 moveto 40 60 -40 90 0 120 curveto
  90 40 60 -40 0 0 curveto clip next 255 mod 255 div setgray fill 4 { curve } repeat grestore } bind def
/words { /Times-Roman findfont next 20 mod 6 add scalefont setfont 400 number 842 number moveto
  (Counts of executions, page by page) show } bind def
/shades { gsave 300 number 600 number translate << /ShadingType 3 /ColorSpace /DeviceRGB /Coords [100 100 10 120 120 100]
  /Function << /FunctionType 2 /Domain [0 1] /C0 [1 0 0] /C1 [0 0.5 1] /N 1.5 >> >> shfill grestore } bind def
/numbers { 0 0 1 20000 { dup 7 mul 13 mod add add 1000003 mod } for pop } bind def
1 1 PAGES { pop 600 { curve } repeat 150 { leaf } repeat 300 { words } repeat 3 { shades } repeat numbers
  showpage } for
"""

SCENE = """#version 3.7;
global_settings { assumed_gamma 1 max_trace_level 6 }
camera { location <0, 4, -12> look_at <0, 1, 0> angle 45 }
light_source { <8, 12, -10> rgb 1 area_light <2, 0, 0>, <0, 0, 2>, 3, 3 }
light_source { <-10, 6, -4> rgb 0.4 }
plane { y, -1 pigment { checker rgb 0.9 rgb 0.2 scale 1.5 } finish { reflection 0.2 } normal { bumps 0.3 scale 0.4 } }
sky_sphere { pigment { gradient y color_map { [0 rgb <0.7, 0.8, 1>] [1 rgb <0.1, 0.2, 0.6>] } } }
#declare State = seed(7);
#for (I, 1, 120)
  sphere { <rand(State) * 10 - 5, rand(State) * 4 - 1, rand(State) * 8 - 2>, 0.2 + rand(State) * 0.4
    #if (mod(I, 3) = 0) pigment { rgbf <0.9, 0.95, 1, 0.8> } interior { ior 1.4 } finish { specular 0.6 }
    #else pigment { marble turbulence 1 color_map { [0 rgb rand(State)] [1 rgb <1, rand(State), 0>] } scale 0.4 } #end }
#end
difference { box { <-1.5, -1, -1>, <1.5, 2, 1> } sphere { <0, 1, -1>, 1.2 } cylinder { <-2, 0, 0>, <2, 0, 0>, 0.6 }
  pigment { granite scale 0.5 } finish { phong 0.8 reflection 0.1 } rotate y * 30 translate x * -2 }
torus { 1.3, 0.35 rotate x * 60 translate <2.5, 1, 0> pigment { wood turbulence 0.1 } finish { reflection 0.3 } }
blob { threshold 0.6 #for (I, 0, 9) sphere { <sin(I) * 1.2, 2.5 + cos(I * 2) * 0.5, cos(I) * 1.2>, 0.9, 1 } #end
  pigment { rgb <0.3, 0.8, 0.4> } finish { specular 0.5 } }
"""


def write_assembly(path, functions):
    """Writes functions with local labels, macros, relocations and data."""
    rng = random.Random(8)
    registers = ["%rax", "%rbx", "%rcx", "%rdx", "%rsi", "%rdi", "%r8", "%r12"]
    bodies = []
    for variant in range(60):
        lines = []
        for label in range(24):
            a, b = rng.sample(registers, 2)
            lines += [f"\tmovq\t{rng.randrange(0, 400, 8)}({a}), {b}", f"\tleaq\ttable+{rng.randrange(999)}(%rip), {a}",
                      f"\tadd{rng.choice('lqw')}\t${rng.randrange(1, 5000)}, {rng.randrange(-90, 90)}(%rsp)",
                      f"\tcmpq\t{a}, {b}", f"\tj{rng.choice(['e', 'ne', 'l', 'ge', 'a'])}\t.L@_{rng.randrange(24)}",
                      f"\tmix\t{a}, {rng.randrange(9)}", f".L@_{label}:"]
        bodies.append("\n".join(lines))
    with open(path, "w") as out:
        out.write(".macro mix register, count\n.rept \\count\n\trolq\t$3, \\register\n.endr\n.endm\n")
        for i in range(functions):
            callee = rng.randrange(functions)
            out.write(f"\t.globl\tfunction_{i}\n\t.type\tfunction_{i}, @function\nfunction_{i}:\n"
                      f"{rng.choice(bodies).replace('@', str(i))}\n\tcall\tfunction_{callee}\n\tret\n"
                      f"\t.size\tfunction_{i}, .-function_{i}\n"
                      f"\t.section\t.rodata\n.LC{i}:\t.string \"text {i}\"\n\t.quad\tfunction_{callee}, .LC{i}\n\t.text\n")
        out.write("\t.data\ntable:\t.zero 1000\n")


def prepare(directory, scale=1, names=None):
    """Returns [(name, command)] of the installed programs, all or `names`, each for some 2.5 * `scale` seconds."""
    directory = pathlib.Path(directory)
    assembly, script, pages, scene = (directory / name for name in ["large.s", "mix.php", "pages.ps", "scene.pov"])
    write_assembly(assembly, 12000 * scale)
    script.write_text(PHP.replace("ROUNDS", str(5 * scale)))
    pages.write_text(POSTSCRIPT.replace("PAGES", str(28 * scale)))
    scene.write_text(SCENE)
    candidates = [
        ("as", ["as", "-o", "/dev/null", assembly]),
        # Code that PHP's regular expressions compile to has no file, and so no instructions to count.
        ("php", ["php", "-n", "-d", "memory_limit=-1", "-d", "pcre.jit=0", script]),
        ("ghostscript", ["gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=ppmraw", "-r150", "-sOutputFile=-", pages]),
        ("povray", ["povray", scene, "+O-", "+FP", "-D", "-V", "-GA", "+WT1", f"+W{800 * scale}", "+H600"]),
    ]
    return [(name, [str(word) for word in command]) for name, command in candidates
            if shutil.which(str(command[0])) and (names is None or name in names)]
