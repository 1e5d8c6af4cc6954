// The packet that every execution has, in the kernel and in a process.
#ifndef HBBP_BENCH_ACCURACY_KERNEL_BPF_PACKET_H_
#define HBBP_BENCH_ACCURACY_KERNEL_BPF_PACKET_H_

enum { kPacketBytes = 1536 };

static inline void FillPacket(unsigned char* packet) {
  unsigned state = 20180402;
  for (int i = 0; i < kPacketBytes; ++i) {
    state = state * 1103515245 + 12345;
    packet[i] = (unsigned char)(state >> 16);
  }
}

#endif  // HBBP_BENCH_ACCURACY_KERNEL_BPF_PACKET_H_
