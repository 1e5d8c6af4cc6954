// Executes one of the programs in the kernel for so much CPU time, and prints its result and how
// often it was executed.
//
//   kernel_runner PROGRAM SECONDS PREFIX
//
// PREFIX.image gets the machine code that the kernel made, a line for each function: address and
// bytes, hexadecimal. PREFIX.kallsyms gets the symbols of the kernel, with those of the program.
// Exit status 77: the kernel refuses BPF.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "packet.h"
#include "programs.h"

enum { kRefused = 77, kMaxFunctions = 16, kMaxImageBytes = 1 << 16, kLogBytes = 1 << 20 };
// The kernel returns from so many executions within a tenth of a second or so.
static const unsigned kExecutionsAtOnce = 5000;

static long Bpf(int command, union bpf_attr* attributes) {
  return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static void Fail(const char* what) {
  const int status = errno == EPERM || errno == ENOSYS ? kRefused : 1;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(status);
}

static int LoadProgram(const struct Program* program) {
  static struct Code code;
  static char log[kLogBytes];
  CodeStart(&code);
  program->write(&code);
  CodeFinish(&code);
  union bpf_attr attributes = {0};
  attributes.prog_type = BPF_PROG_TYPE_XDP;
  attributes.insns = (uintptr_t)code.instructions;
  attributes.insn_cnt = (unsigned)code.count;
  attributes.license = (uintptr_t) "GPL";
  strncpy(attributes.prog_name, program->name, sizeof(attributes.prog_name) - 1);
  const long fd = Bpf(BPF_PROG_LOAD, &attributes);
  if (fd >= 0) return (int)fd;
  if (errno != EPERM && errno != ENOSYS) {
    const int error = errno;
    attributes.log_level = 1;
    attributes.log_size = sizeof(log);
    attributes.log_buf = (uintptr_t)log;
    Bpf(BPF_PROG_LOAD, &attributes);
    // The reason comes last.
    const size_t length = strlen(log);
    fputs(length > 2000 ? log + length - 2000 : log, stderr);
    errno = error;
  }
  Fail("bpf(BPF_PROG_LOAD)");
  return -1;
}

static FILE* Create(const char* prefix, const char* extension) {
  char path[4096];
  snprintf(path, sizeof(path), "%s.%s", prefix, extension);
  FILE* const file = fopen(path, "w");
  if (file == NULL) Fail(path);
  return file;
}

static void WriteImage(int program, const char* prefix) {
  static unsigned char bytes[kMaxImageBytes];
  uint64_t addresses[kMaxFunctions];
  uint32_t lengths[kMaxFunctions];
  struct bpf_prog_info info = {0};
  info.jited_prog_insns = (uintptr_t)bytes;
  info.jited_prog_len = sizeof(bytes);
  info.jited_ksyms = (uintptr_t)addresses;
  info.nr_jited_ksyms = kMaxFunctions;
  info.jited_func_lens = (uintptr_t)lengths;
  info.nr_jited_func_lens = kMaxFunctions;
  union bpf_attr attributes = {0};
  attributes.info.bpf_fd = (unsigned)program;
  attributes.info.info_len = sizeof(info);
  attributes.info.info = (uintptr_t)&info;
  if (Bpf(BPF_OBJ_GET_INFO_BY_FD, &attributes) != 0) Fail("bpf(BPF_OBJ_GET_INFO_BY_FD)");
  if (info.jited_prog_len == 0 || info.nr_jited_ksyms == 0 || addresses[0] == 0) {
    fputs(
        "the kernel interprets BPF, or hides its code (net.core.bpf_jit_enable, bpf_jit_harden, "
        "kernel.kptr_restrict)\n",
        stderr);
    exit(kRefused);
  }
  FILE* const file = Create(prefix, "image");
  const unsigned char* byte = bytes;
  for (unsigned i = 0; i < info.nr_jited_ksyms; ++i) {
    fprintf(file, "%llx ", (unsigned long long)addresses[i]);
    for (unsigned k = 0; k < lengths[i]; ++k) fprintf(file, "%02x", *byte++);
    fputc('\n', file);
  }
  if (fclose(file) != 0) Fail("writing the image");
}

static void CopySymbols(const char* prefix) {
  FILE* const from = fopen("/proc/kallsyms", "r");
  if (from == NULL) Fail("/proc/kallsyms");
  FILE* const to = Create(prefix, "kallsyms");
  char buffer[1 << 16];
  for (size_t got; (got = fread(buffer, 1, sizeof(buffer), from)) != 0;) fwrite(buffer, 1, got, to);
  fclose(from);
  if (fclose(to) != 0) Fail("writing the symbols");
}

static uint32_t Execute(int program, unsigned repeat) {
  static unsigned char packet[kPacketBytes];
  FillPacket(packet);
  union bpf_attr attributes = {0};
  attributes.test.prog_fd = (unsigned)program;
  attributes.test.data_in = (uintptr_t)packet;
  attributes.test.data_size_in = sizeof(packet);
  attributes.test.repeat = repeat;
  if (Bpf(BPF_PROG_TEST_RUN, &attributes) != 0) Fail("bpf(BPF_PROG_TEST_RUN)");
  return attributes.test.retval;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fputs("usage: kernel_runner PROGRAM SECONDS PREFIX\n", stderr);
    return 2;
  }
  const struct Program* program = NULL;
  for (int i = 0; i < kProgramCount; ++i) {
    if (strcmp(argv[1], kPrograms[i].name) == 0) program = &kPrograms[i];
  }
  if (program == NULL) {
    fprintf(stderr, "%s: no such program\n", argv[1]);
    return 2;
  }
  const double seconds = atof(argv[2]);
  const int fd = LoadProgram(program);
  WriteImage(fd, argv[3]);
  CopySymbols(argv[3]);
  const uint32_t result = Execute(fd, 1);
  unsigned long long executions = 1;
  while ((double)clock() < seconds * CLOCKS_PER_SEC) {
    if (Execute(fd, kExecutionsAtOnce) != result) {
      fputs("an execution had another result\n", stderr);
      return 1;
    }
    executions += kExecutionsAtOnce;
  }
  printf("%08x %llu\n", result, executions);
  return 0;
}
