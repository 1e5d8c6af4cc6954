// Executes machine code that the kernel made of a program in this process, and prints its result.
// It needs no C library.
//
// The build puts the code, `bpf_program`, at the address that it had in the kernel less
// 0xffffffff80000000, so that relative distances are the same; calls of the kernel's return thunk
// end in a `ret`.
//
//   image_runner [EXECUTIONS]
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "packet.h"

// These are the first fields of the kernel's xdp_buff, which the code gets instead of an xdp_md.
struct Buffer {
  unsigned char* data;
  unsigned char* data_end;
};

uint32_t bpf_program(struct Buffer* buffer);

static long SystemCall(long number, long first, const void* second, long third) {
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(first), "S"(second), "d"(third)
                   : "rcx", "r11", "memory");
  return result;
}

__attribute__((used, noreturn)) static void Run(const long* stack) {
  static unsigned char packet[kPacketBytes];
  long executions = 1;
  if (stack[0] > 1) {
    executions = 0;
    for (const char* digit = (const char*)stack[2]; *digit != 0; ++digit) {
      executions = 10 * executions + (*digit - '0');
    }
  }
  FillPacket(packet);
  struct Buffer buffer = {packet, packet + kPacketBytes};
  uint32_t result = 0;
  for (long i = 0; i < executions; ++i) result = bpf_program(&buffer);
  char text[9];
  for (int i = 0; i < 8; ++i) text[i] = "0123456789abcdef"[result >> (28 - 4 * i) & 15];
  text[8] = '\n';
  SystemCall(SYS_write, 1, text, sizeof(text));
  SystemCall(SYS_exit_group, 0, NULL, 0);
  __builtin_unreachable();
}

__attribute__((naked, noreturn)) void _start(void) {
  __asm__("movq %rsp, %rdi\n\tandq $-16, %rsp\n\tcall Run");
}
