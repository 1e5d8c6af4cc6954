#!/usr/bin/env python3
"""Measures how well branch tracing by a clock knows what instructions take: each in a loop of its own, whose count is known.

usage: single_instructions.py HBBP [HBBP ...] [--only NAME ...] [--seconds S]

Prints a row for each loop: ns of its body, and instructions that a recording counts by those that were executed, for each
HBBP in turns. 1 is right; loops that a processor does not know are left out.
"""
import argparse
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

TIMES = 8  # that a body is in a loop
SAMPLING = ("--source", "swbt", "--event", "task-clock", "--period", "1000000")
# rbx points at memory, rcx is 7, rax 3, and rdx and some vector registers are 0.
BODIES = {
    # Fences, locks, pauses, and the processor's own state.
    "pause": "pause", "lfence": "lfence", "mfence": "mfence", "sfence": "sfence", "rdtsc": "rdtsc", "rdtscp": "rdtscp",
    "xgetbv": "xor %ecx, %ecx; xgetbv", "rdrand": "rdrand %rax", "cpuid": "push %rbx; xor %eax, %eax; cpuid; pop %rbx",
    "lock add": "lock addq $1, (%rbx)", "lock xadd": "lock xadd %rax, (%rbx)", "lock cmpxchg": "lock cmpxchg %rdx, (%rbx)",
    "cmpxchg": "cmpxchg %rdx, (%rbx)", "xchg, memory": "xchg %rax, (%rbx)", "xchg, registers": "xchg %rax, %rdx",
    "pushf, popf": "pushf; popf", "clflush": "clflush (%rbx); mov (%rbx), %rax",
    # Integers.
    "div, 32 bits": "xor %edx, %edx; div %ecx; or $0x7000000, %eax", "div, 64 bits": "xor %edx, %edx; div %rcx; or $0x7000000, %rax",
    "imul": "imul %rax, %rax", "mul": "mul %rcx", "adc": "adc %rax, %rdx", "shld": "shld $7, %rax, %rdx", "rol": "rol $5, %rax",
    "rcl by cl": "rcl %cl, %rax", "bswap": "bswap %rax", "bsf": "bsf %rax, %rdx; mov %rdx, %rax; or $8, %eax",
    "tzcnt": "tzcnt %rax, %rax; or $8, %eax", "crc32": "crc32q %rdx, %rax", "cmov": "cmp %rax, %rdx; cmovg %rdx, %rax",
    "setcc": "cmp %rax, %rdx; setg %al; movzx %al, %eax", "push, pop": "push %rax; pop %rax",
    # Memory.
    "load": "mov 8(%rbx), %rax; add %rax, %rbx", "load with index": "and $0xff, %eax; mov (%rbx,%rax,8), %rax",
    "update": "addq $1, (%rbx)", "load of a part": "mov %rax, (%rbx); movzbl (%rbx), %eax",
    "load of more": "mov %al, (%rbx); mov (%rbx), %rax; and $0xff, %eax",
    "load of two": "movl %eax, (%rbx); movl %eax, 4(%rbx); mov (%rbx), %rax", "store": "mov %rax, (%rbx)",
    "store to two lines": "mov %rax, 60(%rbx)", "movnti": "movnti %rax, (%rbx)",
    # String instructions.
    "rep movsq, 2 words": "mov %rbx, %rsi; lea 1024(%rbx), %rdi; mov $2, %ecx; rep movsq",
    "rep movsq, no word": "mov %rbx, %rsi; lea 1024(%rbx), %rdi; xor %ecx, %ecx; rep movsq",
    "rep movsb, 256 bytes": "mov %rbx, %rsi; lea 1024(%rbx), %rdi; mov $256, %ecx; rep movsb",
    "rep stosq, 8 words": "mov %rbx, %rdi; mov $8, %ecx; rep stosq", "lodsb": "mov %rbx, %rsi; lodsb", "stosb": "mov %rbx, %rdi; stosb",
    # Floating point and vectors.
    "addsd": "addsd %xmm0, %xmm0", "mulsd": "mulsd %xmm0, %xmm0", "fma": "vfmadd231sd %xmm1, %xmm1, %xmm0", "divsd": "divsd %xmm1, %xmm0",
    "sqrtsd": "sqrtsd %xmm0, %xmm0", "rsqrtss": "rsqrtss %xmm0, %xmm0", "roundsd": "roundsd $1, %xmm0, %xmm0",
    "conversions": "cvtsi2sd %rax, %xmm0; cvttsd2si %xmm0, %rax", "movq, both ways": "movq %rax, %xmm0; movq %xmm0, %rax",
    "pextrq, pinsrq": "pextrq $1, %xmm0, %rax; pinsrq $1, %rax, %xmm0", "pmovmskb": "pmovmskb %xmm0, %eax; movd %eax, %xmm0",
    "paddd": "paddd %xmm1, %xmm0", "pmullw": "pmullw %xmm1, %xmm0", "pmulld": "pmulld %xmm1, %xmm0", "pshufb": "pshufb %xmm1, %xmm0",
    "vpermd": "vpermd %ymm0, %ymm1, %ymm0", "aesenc": "aesenc %xmm1, %xmm0", "pclmulqdq": "pclmulqdq $0, %xmm1, %xmm0",
    "pcmpistri": "pcmpistri $0, %xmm1, %xmm0; add %rcx, %rax", "pcmpestri": "pcmpestri $0, %xmm1, %xmm0", "mpsadbw": "mpsadbw $0, %xmm1, %xmm0",
    "vpternlogd": "vpternlogd $0x96, %zmm1, %zmm2, %zmm0", "ldmxcsr": "ldmxcsr 16(%rbx)", "stmxcsr": "stmxcsr 24(%rbx)",
    # x87.
    "fadd": "fld1; fadd %st, %st(1); fstp %st(0)", "fmul": "fld1; fmulp", "fdiv": "fld1; fdivp", "fsqrt": "fld1; fsqrt; fstp %st(0)",
    "fsin": "fld1; fsin; fstp %st(0)", "fptan": "fld1; fptan; fstp %st(0); fstp %st(0)", "fpatan": "fld1; fld1; fpatan; fstp %st(0)",
    "fyl2x": "fld1; fldpi; fyl2x; fstp %st(0)", "fldcw": "fldcw 32(%rbx)", "fild, fistp": "fildq 40(%rbx); fistpq 48(%rbx)",
}

HEAD = r"""#include <stdlib.h>
#include <string.h>
char memory[1 << 16] __attribute__((aligned(4096)));
"""
MAIN = r"""
int main(int count, char** arguments) {
  const int mxcsr = 0x1f80;
  const short control = 0x37f;
  const double one_and_a_half = 1.5;
  if (count < 3) return 2;
  memcpy(memory + 16, &mxcsr, sizeof(mxcsr));
  memcpy(memory + 32, &control, sizeof(control));
  memcpy(memory + 40, &one_and_a_half, sizeof(one_and_a_half));
  __asm__ volatile("movsd %0, %%xmm1\n\tfld1\n\tfld1" : : "m"(one_and_a_half));
  loops[atoi(arguments[1])](atol(arguments[2]));
  return 0;
}
"""


def source():
    """Returns a program in C: its first argument is the number of a loop, and the second how many rounds."""
    text = HEAD
    for number, body in enumerate(BODIES.values()):
        lines = "\\n\\t".join(part.strip() for part in body.replace("%", "%%").split(";"))
        text += f"static void Loop{number}(long rounds) {{\n"
        text += '  __asm__ volatile("mov %0, %%r15\\n\\tlea memory(%%rip), %%rbx\\n\\tmov $7, %%ecx\\n\\tmov $3, %%eax\\n\\txor %%edx, %%edx\\n"\n'
        text += f'    "1:\\n\\t.rept {TIMES}\\n\\t{lines}\\n\\t.endr\\n\\tdec %%r15\\n\\tjnz 1b"\n'
        text += '    : : "r"(rounds) : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r15", "memory", "cc", "xmm0", "xmm1");\n}\n'
    text += "static void (*const loops[])(long) = {" + ", ".join(f"Loop{number}" for number in range(len(BODIES))) + "};"
    return text + MAIN


def seconds_of(command):
    """Returns how long it takes, or None if the processor does not know the instruction."""
    begin = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    return time.monotonic() - begin if status == 0 else None


def rounds_for(command, seconds):
    rounds = 1000
    while True:
        took = seconds_of([*command, str(rounds)])
        if took is None:
            return None
        if took > seconds / 4:
            return max(1, int(rounds * seconds / took))
        rounds *= 4


def counted(hbbp, command, directory):
    """Returns the instructions that a recording of the command counts."""
    profile = directory / "profile"
    subprocess.run([hbbp, "record", *SAMPLING, "-o", profile, "--", *command], check=True, stderr=subprocess.DEVNULL)
    rows = subprocess.run([hbbp, "mix", profile, "--top", "1"], check=True, capture_output=True, text=True).stdout
    return int(re.search(r"([\d,]+) instructions in all", rows)[1].replace(",", ""))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("hbbp", nargs="+")
    parser.add_argument("--only", nargs="+", choices=BODIES, metavar="NAME", default=list(BODIES))
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        sys.exit("single_instructions.py: there is no C compiler; install gcc")
    print("| loop | ns | " + " | ".join(options.hbbp) + " |")
    print("|---|---|" + "---|" * len(options.hbbp))
    sums = [0] * len(options.hbbp)
    loops = 0
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        (directory / "loops.c").write_text(source(), encoding="utf-8")
        subprocess.run([compiler, "-O1", "-mno-red-zone", "-o", directory / "loops", directory / "loops.c"], check=True)
        for number, (loop, body) in enumerate(BODIES.items()):
            command = [str(directory / "loops"), str(number)]
            rounds = rounds_for(command, options.seconds) if loop in options.only else None
            if rounds is None:
                continue
            command.append(str(rounds))
            executed = rounds * (TIMES * len(body.split(";")) + 2)
            ns = seconds_of(command) * 1e9 / rounds / TIMES
            ratios = [counted(hbbp, command, directory) / executed for hbbp in options.hbbp]
            for i, ratio in enumerate(ratios):
                sums[i] += abs(math.log(ratio)) if ratio > 0 else math.inf
            loops += 1
            print(f"| {loop} | {ns:.2f} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |", flush=True)
    if loops:
        print("| **mean factor** | | " + " | ".join(f"**{math.exp(total / loops):.2f}**" for total in sums) + " |")


if __name__ == "__main__":
    main()
