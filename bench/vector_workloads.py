"""Makes programs that spend their time in vector code: an encoder, JSON and UTF-8, matrices, pictures, ciphers, hashes.

Each is a name, which ends in the instruction set, and a command that prints to stdout only and always the same. The
instruction set is chosen by the command itself, so that it is the same under another profiler or valgrind.
"""

import json
import pathlib
import random
import shutil
import subprocess

SOURCES = pathlib.Path(__file__).resolve().parent / "vector"
PACKAGES = "x264 ffmpeg imagemagick libsimdjson-dev libopenblas0-pthread openssl g++"
KEY = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
IV = "0f0e0d0c0b0a09080706050403020100"


def processor_flags():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split())
    return set()


def write_video(path, frames, width=352, height=288):
    """Writes moving gradients and noise as YUV4MPEG2."""
    rng = random.Random(3)
    noise = rng.randbytes(width * height * 2)
    ramp = bytes(range(256)) * (width // 256 + 4)
    with open(path, "wb") as out:
        out.write(f"YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 C420\n".encode())
        for frame in range(frames):
            out.write(b"FRAME\n")
            for y in range(height):
                offset = (frame * 3 + y) % 256
                row = bytearray(ramp[offset:offset + width])
                start = (frame * 5 + y * 7) % (width - 64)
                row[start:start + 64] = noise[y * width:y * width + 64]
                out.write(row)
            out.write(bytes(128 + (frame + i) % 16 for i in range(width * height // 2)))


def write_json(path, rows):
    rng = random.Random(4)
    words = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(3, 9))) for _ in range(500)] + ["naïve", "数据", "ß\"\\"]
    text = json.dumps([{"id": i, "name": rng.choice(words), "value": rng.random(), "tags": rng.choices(words, k=5)}
                       for i in range(rows)], ensure_ascii=False)
    path.write_text(text)


def write_picture(path, size=1024):
    rng = random.Random(5)
    noise = rng.randbytes(size * 3)
    rows = [noise.translate(bytes((i // 2 + brightness) % 256 for i in range(256))) for brightness in range(128)]
    with open(path, "wb") as out:
        out.write(f"P6 {size} {size} 255\n".encode())
        for y in range(size):
            out.write(rows[y * 128 // size])


def write_data(path):
    path.write_bytes(random.Random(6).randbytes(16 << 20) * 4)


INPUTS = {
    "video.y4m": lambda path: write_video(path, 60),
    "rows.json": lambda path: write_json(path, 10000),
    "picture.ppm": write_picture,
    "data.bin": write_data,
}
LIBRARIES = {"dgemm": "-ldl", "json_sums": "-lsimdjson", "image_filter": "-lm"}


def compile_program(directory, name):
    """Returns False where a header or library is missing."""
    source, = SOURCES.glob(name + ".c*")
    compiler = "g++" if source.suffix == ".cc" else "gcc"
    command = [compiler, "-O2", "-o", directory / name, source, LIBRARIES[name]]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def candidates(scale=1):
    """Returns [(name, command)]; each input and each compiled program belongs to one command."""
    flags = processor_flags()
    sets = [name for name, flag in [("avx2", "avx2"), ("avx512", "avx512bw")] if flag in flags]
    x264 = ["x264", "--quiet", "--no-progress", "--threads", "1", "--preset", "medium", "--frames", 30 * scale]
    found = [(f"x264-{name}", [*x264, "--asm", name, "-o", "-", "video.y4m"]) for name in ["sse4.2", *sets]]
    for name in sets:
        implementation = {"avx2": "haswell", "avx512": "icelake"}[name]
        core = {"avx2": "Haswell", "avx512": "SkylakeX"}[name]
        found.append((f"json-{name}", ["json_sums", implementation, "rows.json", 200 * scale]))
        found.append((f"dgemm-{name}", ["dgemm", core, 500, 50 * scale, 1]))
        found.append((f"filter-{name}", ["image_filter", name, 300 * scale]))
    if sets:
        found.append(("dgemm-2-threads", ["dgemm", "Haswell", 500, 50 * scale, 2]))
    return found + [
        ("ffmpeg", ["ffmpeg", "-v", "error", "-nostdin", "-threads", "1", "-filter_threads", "1", "-i", "video.y4m",
                    "-vf", "scale=704:576,hqdn3d,unsharp", "-threads", "1", "-f", "rawvideo", "-frames:v", 30 * scale,
                    "-"]),
        ("magick", ["convert", "-limit", "thread", "1", "picture.ppm", "-blur", "0x2", "-resize", "50%", "-unsharp",
                    "0x1", "ppm:-"]),
        ("aes", ["openssl", "enc", "-aes-256-ctr", "-K", KEY, "-iv", IV, "-in", "data.bin"]),
        ("chacha20", ["openssl", "enc", "-chacha20", "-K", KEY, "-iv", IV, "-in", "data.bin"]),
        ("sha256", ["openssl", "dgst", "-sha256", "data.bin"]),
        ("sha512", ["openssl", "dgst", "-sha512", "data.bin"]),
    ]


def prepare(directory, scale=1, names=None):
    """Returns [(name, command)] of the programs that this machine can run, all or `names`, each for half a second.

    Their inputs are made in `directory`.
    """
    directory = pathlib.Path(directory)
    found = []
    for name, words in candidates(scale):
        if names is not None and name not in names:
            continue
        command = []
        for word in map(str, words):
            path = directory / word
            if word in INPUTS and not path.exists():
                INPUTS[word](path)
            if word in LIBRARIES and not path.exists():
                compile_program(directory, word)
            command.append(str(path) if word in INPUTS or word in LIBRARIES else word)
        if shutil.which(command[0]):
            found.append((name, command))
    return found
