"""Counts a program exactly by callgrind, and keeps the result between runs.

Callgrind takes some fifty times as long as the program, so its file is kept with its inputs: the words of the command,
and the contents of every file that they name. The truth of another program or input is made anew.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess

# Makes a program do the same under valgrind and without: valgrind has no AVX-512, no RTM and no SHA, so libc and
# OpenSSL, which choose by processor, are set not to use them. Its heap cannot grow to more than 8 MB, where malloc
# takes other ways (json_malloc: paths of _int_malloc that run 24 times as often), so that the heap has its size from
# the start. Hashes of Python's strings are random otherwise.
SAME_WORK = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-RTM,"
                      f"-Prefer_No_VZEROUPPER:glibc.malloc.top_pad={1 << 30}",
    "OPENSSL_ia32cap": ":~0xffffffffffffd854",
    "PYTHONHASHSEED": "0",
}


def run(command, **options):
    """Runs the command to its end; its output matters only if it fails."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, env={**os.environ, **SAME_WORK}, **options)
    if result.returncode != 0:
        words = " ".join(map(str, command))
        raise SystemExit(f"{words}: exit status {result.returncode}\n{result.stderr.decode(errors='replace')}")


def identity(command):
    """Returns the inputs of the counts as text: the environment, the words, the contents of files that they name."""
    parts = [f"{name}={value}" for name, value in SAME_WORK.items()]
    parts += [shutil.which(command[0]) or command[0]] + " ".join(command[1:]).split()
    for i, part in enumerate(parts):
        if os.path.isfile(part):
            with open(part, "rb") as file:
                parts[i] = f"{os.path.basename(part)} {hashlib.file_digest(file, 'sha256').hexdigest()}"
    return "\n".join(parts)


def callgrind(directory, name, command):
    """Returns the path of callgrind's counts of `command`, which are made unless `directory` has them."""
    path = pathlib.Path(directory) / f"{name}.callgrind"
    made_of = path.with_suffix(".callgrind.of")
    wanted = identity(command)
    if path.exists() and made_of.exists() and made_of.read_text() == wanted:
        return path
    made_of.unlink(missing_ok=True)
    unfinished = path.with_suffix(".callgrind.unfinished")
    run(["valgrind", "--tool=callgrind", "--dump-instr=yes", "--skip-plt=no",
         f"--callgrind-out-file={unfinished}", *command])
    unfinished.rename(path)
    made_of.write_text(wanted)
    return path
