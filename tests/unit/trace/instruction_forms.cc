// Has a few thousand encodings for comparisons with the processor. The assembler makes them from
// the macros below, which fill a section of read-only data: integer instructions first, then
// vectors and their masks, cryptography and x87, and at last all forms of addresses.
// AssembledInstructions() divides the section into instructions, PrefixedInstructions() adds
// unusual prefixes to them. The tests of the interpreter and of native stubs call them.
#include "unit/trace/instruction_forms.h"

#include <cstdint>
#include <utility>

#include "isa/control_flow.h"

extern "C" {
extern const uint8_t hbbp_forms_begin[];
extern const uint8_t hbbp_forms_end[];
}

asm(R"(
  .pushsection .rodata.hbbp_forms, "a"
  .intel_syntax noprefix
  .globl hbbp_forms_begin
hbbp_forms_begin:

  # Integer.
  .irp op, add, or, adc, sbb, and, sub, xor, cmp, test
    \op al, cl
    \op ah, dl
    \op sil, r9b
    \op cx, dx
    \op ecx, edx
    \op ecx, ecx
    \op r10, rbx
    \op r10, r10
    \op r11, 0x12345678
    \op bl, -3
    \op byte ptr [rax], 0x55
    \op word ptr [rax + 2], 0x1234
    \op dword ptr [r12], 0x12345678
    \op qword ptr [r13 + r14 * 8 - 128], -2
    \op byte ptr [rcx], dh
    \op dword ptr [rcx], ecx
    \op qword ptr [rsp + 8], r15
  .endr
  .irp op, add, or, adc, sbb, and, sub, xor
    lock \op qword ptr [rdi + rsi], rax
    \op rdx, qword ptr [rip + 64]
    \op rbp, qword ptr [rsp]
  .endr
  .irp op, not, neg, inc, dec, mul, imul
    \op al
    \op bh
    \op cx
    \op r8d
    \op rdx
    \op byte ptr [rbx]
    \op dword ptr [rbx + 4 * rbp]
    \op qword ptr [r9 + 127]
  .endr
  .irp op, rol, ror, rcl, rcr, shl, shr, sar
    \op al, 1
    \op ch, cl
    \op dx, 5
    \op ebx, cl
    \op esi, 32
    \op edi, 7
    \op r8, cl
    \op r9, 63
    \op r10, 1
    \op word ptr [rax], cl
    \op qword ptr [rax], 13
  .endr
  .irp op, shld, shrd
    \op ax, dx, 3
    \op eax, edx, cl
    \op r8, r9, 17
    \op rbx, rbp, cl
    \op qword ptr [rax], rcx, cl
    \op dword ptr [rax], ecx, 9
  .endr
  imul rax, rcx
  imul eax, dword ptr [rdx]
  imul r8, r9, 1000
  imul cx, dx, -3
  imul rbx, qword ptr [rax], 12
  .irp op, bt, bts, btr, btc
    \op eax, ecx
    \op r8, r9
    \op dx, 3
    \op rdx, 45
    \op dword ptr [rax], 7
    \op qword ptr [rax], 60
  .endr
  .irp op, bsf, bsr, tzcnt, lzcnt, popcnt
    \op ax, cx
    \op eax, ecx
    \op r10, r11
    \op rdx, qword ptr [rbx]
  .endr
  .irp cc, o, no, b, nb, z, nz, be, nbe, s, ns, p, np, l, nl, le, nle
    set\cc al
    set\cc dh
    set\cc r9b
    set\cc byte ptr [rbx]
    cmov\cc ax, dx
    cmov\cc eax, edx
    cmov\cc r8, r9
    cmov\cc rsi, qword ptr [rdi]
  .endr
  cbw
  cwde
  cdqe
  cwd
  cdq
  cqo
  lahf
  sahf
  clc
  stc
  cmc
  cld
  std
  bswap eax
  bswap r9
  bswap rbp
  xchg al, ah
  xchg rax, r9
  xchg ecx, dword ptr [rdx]
  xadd al, cl
  xadd rax, rdx
  xadd ebx, ebx
  xadd qword ptr [rdi], rsi
  lock xadd dword ptr [rdi], eax
  cmpxchg cl, dl
  cmpxchg ebx, edx
  cmpxchg rbx, rsi
  cmpxchg dword ptr [rdi], ecx
  lock cmpxchg qword ptr [rdi], rcx
  cmpxchg8b qword ptr [rdi]
  lock cmpxchg8b qword ptr [rsi]
  cmpxchg16b xmmword ptr [rdi]
  lock cmpxchg16b xmmword ptr [rsi]
  movbe ax, word ptr [rcx]
  movbe eax, dword ptr [rcx]
  movbe qword ptr [rcx], r10
  movnti dword ptr [rax], edx
  movnti qword ptr [rax], r10
  mov ah, bl
  mov rax, qword ptr gs:[rcx]
  mov qword ptr gs:[rcx + rdx * 2], rax
  mov rax, qword ptr fs:[rcx]
  mov byte ptr [rbp - 1], 0x12
  mov eax, ds
  mov word ptr [rax], es
  movzx eax, bh
  movzx r8, word ptr [rax]
  movsx cx, al
  movsxd rax, ecx
  movsxd rdx, dword ptr [rax]
  crc32 eax, cl
  crc32 eax, bh
  crc32 ecx, edx
  crc32 rax, r9
  crc32 rbx, qword ptr [rdi]
  xtest
  nop
  nop dword ptr [rax + rax]
  endbr64
  pause
  lfence
  mfence
  sfence
  prefetcht0 [rax]
  prefetchw [rax]
  clflush [rax]

  # BMI, ADX.
  .irp op, andn, pdep, pext
    \op eax, ecx, edx
    \op r8, r9, r10
    \op rbx, rsi, qword ptr [rdi]
  .endr
  .irp op, bextr, bzhi, sarx, shlx, shrx
    \op eax, ecx, edx
    \op r8, r9, r10
    \op rbx, qword ptr [rdi + r13 * 2 + 4], rcx
  .endr
  .irp op, blsi, blsmsk, blsr
    \op eax, ecx
    \op r8, r9
    \op rbx, qword ptr [rdi]
  .endr
  rorx eax, ecx, 7
  rorx r8, qword ptr [rcx], 60
  mulx eax, ecx, ebx
  mulx r8, r9, r10
  mulx rsi, rdi, qword ptr [rbp]
  mulx r8, r8, rcx
  adcx eax, ecx
  adcx r8, qword ptr [rcx]
  adox eax, ecx
  adox r8, qword ptr [rcx]

  # SSE: packed and scalar arithmetic, with a register and with memory.
  .irp op, add, sub, mul, div, min, max
    \op\()ps xmm1, xmm2
    \op\()ps xmm9, xmmword ptr [rax]
    \op\()pd xmm1, xmm12
    \op\()pd xmm1, xmmword ptr [r9 + 8 * rcx]
    \op\()ss xmm1, xmm2
    \op\()ss xmm1, dword ptr [rax]
    \op\()sd xmm1, xmm2
    \op\()sd xmm1, qword ptr [rsp + 4]
    v\op\()ps ymm9, ymm2, ymm3
    v\op\()pd ymm1, ymm2, ymmword ptr [r9 + 8 * rcx]
    v\op\()ps xmm1, xmm2, xmm3
    v\op\()ss xmm1, xmm2, xmm3
    v\op\()sd xmm1, xmm12, qword ptr [rsp + 4]
    v\op\()ps zmm1{k1}, zmm2, zmm23
    v\op\()pd zmm1{k2}{z}, zmm2, qword ptr [rax]{1to8}
    v\op\()ps xmm17{k1}, xmm18, xmmword ptr [rax + 16]
    v\op\()pd ymm17, ymm18, ymmword ptr [rax + 32]
    v\op\()ss xmm1{k1}, xmm2, dword ptr [rax + 4]
    v\op\()sd xmm21, xmm2, xmm3
  .endr
  sqrtps xmm1, xmm2
  sqrtpd xmm1, xmmword ptr [rax]
  sqrtss xmm1, dword ptr [rax]
  sqrtsd xmm1, xmm2
  vsqrtps ymm1, ymm2
  vsqrtsd xmm1, xmm2, xmm3
  vsqrtpd zmm1{k1}, zmm2
  vsqrtss xmm17{k1}{z}, xmm2, xmm3, {rd-sae}
  .irp op, add, sub, mul, div
    v\op\()ps zmm1, zmm2, zmm3, {rz-sae}
    v\op\()sd xmm1{k1}, xmm2, xmm3, {ru-sae}
  .endr
  .irp op, and, andn, or, xor
    \op\()ps xmm1, xmm2
    \op\()ps xmm3, xmm3
    \op\()pd xmm1, xmmword ptr [rax]
    v\op\()ps ymm1, ymm2, ymm3
    v\op\()pd xmm4, xmm5, xmm5
    v\op\()ps zmm1{k1}, zmm2, zmm2
    v\op\()pd zmm17, zmm18, qword ptr [rax + 8]{1to8}
  .endr
  .irp imm, 0, 1, 2, 3, 4, 5, 6, 7
    cmpps xmm1, xmm2, \imm
    cmpsd xmm1, qword ptr [rax], \imm
    vcmpps ymm1, ymm2, ymm3, 8+\imm
    vcmpsd xmm1, xmm2, xmm3, 16+\imm
    vcmpps k3{k1}, zmm2, zmm3, 24+\imm
    vcmpsd k3, xmm2, xmm3, \imm
  .endr
  .irp op, comiss, ucomiss, vcomiss, vucomiss
    \op xmm1, xmm2
    \op xmm1, dword ptr [rax]
  .endr
  .irp op, comisd, ucomisd, vcomisd, vucomisd
    \op xmm1, xmm2
    \op xmm1, qword ptr [rax]
  .endr
  vucomisd xmm17, xmm18
  vcomiss xmm17, xmm18, {sae}
  .irp op, rcpps, rsqrtps, vrcpps, vrsqrtps
    \op xmm1, xmm2
  .endr
  rcpss xmm1, xmm2
  rsqrtss xmm1, dword ptr [rax]
  vrcp14ps zmm1{k1}, zmm2
  vrcp14sd xmm1, xmm2, xmm3
  vrsqrt14pd ymm1, ymm2
  vrsqrt14ss xmm1, xmm2, dword ptr [rax]
  .irp op, haddps, hsubps, haddpd, hsubpd, addsubps, addsubpd
    \op xmm1, xmm2
    v\op ymm1, ymm2, ymmword ptr [rax]
  .endr
  .irp imm, 0, 1, 2, 3, 4, 6
    roundps xmm1, xmm2, \imm
    roundsd xmm1, qword ptr [rax], \imm
    vroundpd ymm1, ymm2, \imm
    vrndscaless xmm1{k1}{z}, xmm2, xmm3, \imm
    vrndscalepd zmm1, zmm2, \imm
    vreducepd zmm1, zmm2, \imm
    vrangeps zmm1{k2}, zmm2, zmm3, \imm
    vgetmantps zmm1, zmm2, \imm
    vfpclassps k1, zmm2, 0x1\imm
    vfixupimmpd zmm1, zmm2, zmm3, \imm
    dpps xmm1, xmm2, 0x7\imm
  .endr
  dppd xmm1, xmm2, 0x31
  vdpps ymm1, ymm2, ymm3, 0xf1
  vgetexpps zmm1, zmm2
  vgetexpsd xmm1, xmm2, xmm3
  vscalefps zmm1, zmm2, zmm3
  vscalefsd xmm1{k1}, xmm2, xmm3
  vfpclasssd k2{k3}, xmm2, 0x33

  # Conversions.
  cvtsi2ss xmm1, eax
  cvtsi2ss xmm1, rax
  cvtsi2sd xmm1, ecx
  cvtsi2sd xmm1, r9
  cvtsi2sd xmm1, qword ptr [rax]
  vcvtsi2sd xmm1, xmm2, rax
  vcvtsi2ss xmm1, xmm2, dword ptr [rax]
  vcvtusi2sd xmm1, xmm2, rax
  vcvtusi2ss xmm1, xmm2, {rd-sae}, rax
  .irp op, cvtss2si, cvttss2si, vcvtss2si, vcvttss2si, vcvtss2usi, vcvttss2usi
    \op eax, xmm2
    \op r8, xmm2
    \op rax, dword ptr [rax]
  .endr
  .irp op, cvtsd2si, cvttsd2si, vcvtsd2si, vcvttsd2si, vcvtsd2usi, vcvttsd2usi
    \op eax, xmm2
    \op r8, xmm2
    \op rax, qword ptr [rax]
  .endr
  .irp op, cvtps2pd, cvtdq2pd, cvtss2sd
    \op xmm1, xmm2
  .endr
  .irp op, cvtpd2ps, cvtdq2ps, cvtps2dq, cvttps2dq, cvtpd2dq, cvttpd2dq, cvtsd2ss
    \op xmm1, xmm2
  .endr
  cvtps2pd xmm1, qword ptr [rax]
  cvtpd2ps xmm1, xmmword ptr [rax]
  cvtsd2ss xmm1, qword ptr [rax]
  vcvtps2pd ymm1, xmm2
  vcvtps2pd zmm1{k1}, ymmword ptr [rax]
  vcvtpd2ps xmm1, ymm2
  vcvtpd2ps ymm1{k1}{z}, zmm2, {rn-sae}
  vcvtpd2ps xmm1, ymmword ptr [rax]
  vcvtpd2ps xmm1, qword ptr [rax]{1to4}
  vcvtdq2pd ymm1, xmm2
  vcvtqq2pd zmm1, zmm2
  vcvtuqq2ps ymm1, zmm2
  vcvttpd2uqq zmm1, zmm2
  vcvtudq2ps zmm1, zmm2
  vcvttps2udq ymm1, ymmword ptr [rax]
  vcvtsd2ss xmm1, xmm2, xmm3
  vcvtss2sd xmm1, xmm2, dword ptr [rax]
  vcvtph2ps xmm1, xmm2
  vcvtph2ps ymm1, xmmword ptr [rax]
  vcvtph2ps zmm1{k1}, ymm2
  vcvtps2ph xmm1, xmm2, 4
  vcvtps2ph xmmword ptr [rax], ymm2, 0
  vcvtps2ph ymmword ptr [rax]{k1}, zmm2, 3
  cvtpi2ps xmm1, mm2
  cvtpi2pd xmm1, mm2
  cvtpi2ps xmm1, qword ptr [rax]
  cvtps2pi mm1, xmm2
  cvttps2pi mm1, qword ptr [rax]
  cvtpd2pi mm1, xmm2
  cvttpd2pi mm1, xmmword ptr [rax]

  # FMA.
  .irp op, fmadd132, fmadd213, fmadd231, fmsub132, fnmadd213, fnmadd231, fnmsub132, fnmsub213
    v\op\()ps ymm1, ymm2, ymm3
    v\op\()pd xmm1, xmm2, xmmword ptr [rax]
    v\op\()ss xmm1, xmm2, xmm3
    v\op\()sd xmm1, xmm2, qword ptr [rax]
    v\op\()ps zmm1{k1}, zmm2, dword ptr [rax]{1to16}
    v\op\()sd xmm1{k1}{z}, xmm2, xmm3, {rz-sae}
  .endr
  vfmaddsub213ps ymm1, ymm2, ymm3
  vfmsubadd231pd zmm1{k1}, zmm2, zmm3

  # Integer vectors of every width.
  .macro hbbp_forms_1 op
    \op mm1, mm2
    \op xmm1, xmm2
    \op xmm8, xmm8
    \op xmm1, xmmword ptr [rax]
    v\op xmm1, xmm2, xmm3
    v\op ymm9, ymm2, ymm2
    v\op ymm1, ymm2, ymmword ptr [rax + 3]
    v\op zmm1, zmm2, zmm3
    v\op xmm19, xmm2, xmmword ptr [rax + 32]
  .endm
  .irp op, paddb, paddw, paddd, paddq, psubb, psubw, psubd, psubq, paddsb, paddsw, paddusb
    hbbp_forms_1 \op
  .endr
  .irp op, paddusw, psubsb, psubsw, psubusb, psubusw, pmullw, pmulhw, pmulhuw, pmuludq, pmaddwd
    hbbp_forms_1 \op
  .endr
  .irp op, psadbw, pavgb, pavgw, pminub, pmaxub, pminsw, pmaxsw, packsswb, packssdw, packuswb
    hbbp_forms_1 \op
  .endr
  .irp op, punpcklbw, punpcklwd, punpckldq, punpckhbw, punpckhwd, punpckhdq, pshufb, pmaddubsw
    hbbp_forms_1 \op
  .endr
  .irp op, pmulhrsw
    hbbp_forms_1 \op
  .endr
  .macro hbbp_forms_2 op
    \op mm1, mm2
    \op mm1, qword ptr [rax]
    \op xmm1, xmm2
    \op xmm3, xmm3
    \op xmm1, xmmword ptr [rax]
    v\op xmm4, xmm5, xmm5
    v\op ymm1, ymm2, ymmword ptr [rip]
  .endm
  .irp op, pand, pandn, por, pxor, pcmpeqb, pcmpeqw, pcmpeqd, pcmpgtb, pcmpgtw, pcmpgtd, phaddw
    hbbp_forms_2 \op
  .endr
  .irp op, phaddd, phaddsw, phsubw, phsubd, phsubsw, psignb, psignw, psignd
    hbbp_forms_2 \op
  .endr
  .macro hbbp_forms_3 op
    \op xmm1, xmm2
    \op xmm1, xmmword ptr [rax]
    v\op ymm1, ymm12, ymm3
    v\op zmm1{k1}, zmm2, zmm3
    v\op ymm17{k2}{z}, ymm2, ymmword ptr [rax + 64]
  .endm
  .irp op, pmulld, pmuldq, pminsb, pminsd, pminuw, pminud, pmaxsb, pmaxsd, pmaxuw, pmaxud
    hbbp_forms_3 \op
  .endr
  .irp op, packusdw, punpcklqdq, punpckhqdq
    hbbp_forms_3 \op
  .endr
  .irp op, pcmpeqq, pcmpgtq
    \op xmm1, xmm2
    \op xmm7, xmm7
    v\op ymm1, ymm2, ymm3
    v\op ymm1, ymm2, ymm2
    v\op k1, zmm2, zmm3
    v\op k1{k2}, zmm3, zmm3
  .endr
  .irp op, pcmpeqb, pcmpgtb, pcmpeqd, pcmpgtw
    v\op k1, ymm2, ymm3
    v\op k2{k1}, zmm2, zmmword ptr [rax]
    v\op k2, ymm17, ymmword ptr [rdi + 32]
    v\op k3, ymm4, ymm4
  .endr
  .irp imm, 0, 1, 2, 3, 4, 5, 6, 7
    vpcmpb k1, ymm2, ymm3, \imm
    vpcmpub k2{k1}, zmm2, zmmword ptr [rax], \imm
    vpcmpd k2, ymm2, dword ptr [rax]{1to8}, \imm
    vpcmpuq k2, xmm2, xmm3, \imm
    vpcmpw k2, xmm2, xmm20, \imm
  .endr
  .irp op, vptestmb, vptestnmb, vptestmw, vptestnmw, vptestmd, vptestnmd, vptestmq, vptestnmq
    \op k1, ymm2, ymm2
    \op k1{k2}, zmm17, zmmword ptr [rax]
    \op k1, xmm2, xmm3
  .endr
  .irp op, psllw, pslld, psllq, psrlw, psrld, psrlq, psraw, psrad
    \op mm1, mm2
    \op mm1, 3
    \op xmm1, xmm2
    \op xmm1, xmmword ptr [rax]
    \op xmm1, 7
    v\op ymm1, ymm2, xmm3
    v\op ymm1, ymm2, 5
    v\op zmm1{k1}, zmm2, xmm3
    v\op zmm1, zmmword ptr [rax], 9
  .endr
  pslldq xmm1, 5
  psrldq xmm1, 9
  vpslldq ymm1, ymm2, 5
  vpsrldq zmm1, zmm2, 5
  vpsllvd ymm1, ymm2, ymm3
  vpsrlvq ymm1, ymm2, ymmword ptr [rax]
  vpsravd xmm1, xmm2, xmm3
  vpsravq zmm1, zmm2, zmm3
  vpsllvw zmm1{k1}, zmm2, zmm3
  vpsraq zmm1, zmm2, 40
  vprold zmm1, zmm2, 3
  vprorvq zmm1, zmm2, zmm3
  .irp op, pabsb, pabsw, pabsd
    \op mm1, mm2
    \op xmm1, xmm2
    v\op ymm1, ymmword ptr [rax]
    v\op zmm1{k1}{z}, zmm2
  .endr
  vpabsq zmm1, zmm2
  palignr mm1, mm2, 3
  palignr xmm1, xmm2, 5
  vpalignr ymm1, ymm2, ymm3, 9
  vpalignr zmm1{k1}, zmm2, zmm3, 9
  mpsadbw xmm1, xmm2, 3
  vmpsadbw ymm1, ymm2, ymm3, 0x35
  vdbpsadbw zmm1, zmm2, zmm3, 0x35
  phminposuw xmm1, xmm2
  .irp imm, 0x00, 0xff, 0x55, 0xaa, 0x0f, 0xf0, 0x33, 0xcc, 0x96, 0xca
    vpternlogd zmm1, zmm2, zmm3, \imm
    vpternlogq ymm1{k1}, ymm2, ymm3, \imm
    vpternlogd xmm1{k2}{z}, xmm2, dword ptr [rax]{1to4}, \imm
  .endr

  # Moves, shuffles, blends, insertions, extractions.
  .irp op, movaps, movapd, movups, movupd, movdqa, movdqu
    \op xmm1, xmm2
    \op xmm9, xmmword ptr [rax]
    \op xmmword ptr [rax], xmm1
    v\op xmm1, xmm12
    v\op ymm1, ymmword ptr [rax]
    v\op ymmword ptr [rax], ymm11
  .endr
  .macro hbbp_forms_4 op
    \op zmm1, zmm22
    \op zmm1{k1}, zmm2
    \op xmm17{k1}{z}, xmm2
    \op zmm1{k1}{z}, zmmword ptr [rax + 64]
    \op ymm1{k1}, ymmword ptr [rax + 32]
    \op zmmword ptr [rax], zmm19
    \op ymmword ptr [rax]{k1}, ymm19
    \op xmmword ptr [rax - 16]{k7}, xmm2
  .endm
  .irp op, vmovaps, vmovapd, vmovups, vmovupd, vmovdqa32, vmovdqa64, vmovdqu8, vmovdqu16
    hbbp_forms_4 \op
  .endr
  .irp op, vmovdqu32, vmovdqu64
    hbbp_forms_4 \op
  .endr
  .irp op, movntps, movntpd, movntdq
    \op xmmword ptr [rax], xmm1
    v\op ymmword ptr [rax], ymm1
    v\op zmmword ptr [rax], zmm17
  .endr
  movntdqa xmm1, xmmword ptr [rax]
  vmovntdqa ymm1, ymmword ptr [rax]
  vmovntdqa zmm1, zmmword ptr [rax]
  movntq qword ptr [rax], mm1
  lddqu xmm1, xmmword ptr [rax]
  vlddqu ymm1, ymmword ptr [rax]
  movd xmm1, eax
  movd eax, xmm1
  movd xmm1, dword ptr [rax]
  movd dword ptr [rax], xmm1
  movq xmm1, rax
  movq r9, xmm1
  movq xmm1, xmm2
  movq xmm1, qword ptr [rax]
  movq qword ptr [rax], xmm1
  movd mm1, eax
  movq mm1, rax
  movq mm1, mm2
  movq qword ptr [rax], mm1
  movd dword ptr [rax], mm1
  movq2dq xmm1, mm2
  movdq2q mm1, xmm2
  vmovd xmm1, eax
  vmovd dword ptr [rax], xmm1
  vmovq xmm1, r9
  vmovq r9, xmm1
  vmovq xmm1, xmm2
  vmovq xmm17, rax
  vmovd eax, xmm17
  movss xmm1, xmm2
  movss xmm1, dword ptr [rax]
  movss dword ptr [rax], xmm1
  movsd xmm1, xmm2
  movsd xmm1, qword ptr [rax]
  movsd qword ptr [rax], xmm1
  vmovss xmm1, xmm2, xmm3
  vmovss xmm1, dword ptr [rax]
  vmovss dword ptr [rax], xmm1
  vmovsd xmm1, xmm2, xmm3
  vmovsd xmm1, qword ptr [rax]
  vmovss xmm1{k1}, xmm2, xmm3
  vmovsd xmm1{k1}{z}, qword ptr [rax + 8]
  vmovsd qword ptr [rax]{k1}, xmm17
  movlps xmm1, qword ptr [rax]
  movhps xmm1, qword ptr [rax]
  movlpd qword ptr [rax], xmm1
  movhpd qword ptr [rax], xmm1
  movhlps xmm1, xmm2
  movlhps xmm1, xmm2
  vmovlps xmm1, xmm2, qword ptr [rax]
  vmovhpd xmm1, xmm2, qword ptr [rax]
  vmovhlps xmm17, xmm18, xmm19
  movddup xmm1, xmm2
  movddup xmm1, qword ptr [rax]
  vmovddup ymm1, ymmword ptr [rax]
  vmovddup xmm17{k1}, qword ptr [rax]
  movshdup xmm1, xmm2
  movsldup xmm1, xmmword ptr [rax]
  vmovshdup zmm1{k1}, zmm2
  .irp op, movmskps, movmskpd, pmovmskb
    \op eax, xmm1
    \op r8d, xmm9
    v\op eax, ymm1
  .endr
  pmovmskb eax, mm1
  pshufw mm1, mm2, 0x1b
  pshufd xmm1, xmm2, 0x4e
  pshufd xmm1, xmmword ptr [rax], 0x4e
  pshufhw xmm1, xmm2, 0x1b
  pshuflw xmm1, xmm2, 0x1b
  vpshufd ymm1, ymm2, 0x1b
  vpshufd zmm1{k1}, dword ptr [rax]{1to16}, 0x1b
  vpshuflw zmm1, zmm2, 0x1b
  shufps xmm1, xmm2, 0x1b
  shufpd xmm1, xmmword ptr [rax], 1
  vshufps ymm1, ymm2, ymm3, 0x1b
  vshufpd zmm1, zmm2, qword ptr [rax]{1to8}, 0x1b
  vshufi32x4 zmm1{k1}, zmm2, zmm3, 0x1b
  vshuff64x2 ymm1, ymm2, ymm3, 1
  .irp op, unpcklps, unpckhps, unpcklpd, unpckhpd
    \op xmm1, xmm2
    v\op ymm1, ymm2, ymm3
    v\op zmm1{k1}, zmm2, zmm3
  .endr
  vpermilps xmm1, xmm2, 0x1b
  vpermilps ymm1, ymm2, ymm3
  vpermilpd zmm1, zmm2, 0x1b
  vperm2f128 ymm1, ymm2, ymm3, 0x21
  vperm2i128 ymm1, ymm2, ymmword ptr [rax], 0x83
  vpermq ymm1, ymm2, 0x1b
  vpermpd ymm1, ymmword ptr [rax], 0x1b
  vpermd ymm1, ymm2, ymm3
  vpermps ymm1, ymm2, ymm3
  vpermb zmm1{k1}, zmm2, zmm3
  vpermw zmm1, zmm2, zmm3
  vpermi2b zmm1, zmm2, zmm3
  vpermt2d zmm1{k1}, zmm2, zmm3
  vpermt2ps ymm1{k1}{z}, ymm2, ymm3
  vpmultishiftqb zmm1, zmm2, zmm3
  pblendw xmm1, xmm2, 0x1b
  blendps xmm1, xmm2, 5
  blendpd xmm1, xmmword ptr [rax], 1
  vpblendd ymm1, ymm2, ymm3, 0x1b
  vblendps ymm1, ymm2, ymm3, 0x1b
  pblendvb xmm1, xmm2
  blendvps xmm1, xmmword ptr [rax]
  blendvpd xmm1, xmm2
  vpblendvb ymm1, ymm2, ymm3, ymm14
  vblendvps xmm1, xmm2, xmmword ptr [rax], xmm4
  vpblendmb zmm1{k1}, zmm2, zmm3
  vblendmpd ymm1{k1}, ymm2, ymm3
  pinsrb xmm1, eax, 3
  pinsrb xmm1, byte ptr [rax], 15
  pinsrw xmm1, eax, 3
  pinsrw mm1, eax, 3
  pinsrd xmm1, dword ptr [rax], 3
  pinsrq xmm1, r9, 1
  vpinsrb xmm1, xmm2, ecx, 3
  vpinsrq xmm17, xmm2, qword ptr [rax], 1
  pextrb eax, xmm1, 3
  pextrb byte ptr [rax], xmm1, 3
  pextrw eax, xmm1, 3
  pextrw eax, mm1, 3
  pextrw word ptr [rax], xmm1, 3
  pextrd eax, xmm1, 3
  pextrq qword ptr [rax], xmm1, 1
  vpextrd ecx, xmm1, 2
  vpextrw word ptr [rax], xmm17, 2
  insertps xmm1, xmm2, 0x1b
  insertps xmm1, dword ptr [rax], 0x1b
  vinsertps xmm1, xmm2, xmm3, 0x1b
  extractps eax, xmm1, 2
  extractps dword ptr [rax], xmm1, 2
  vinsertf128 ymm1, ymm2, xmm3, 1
  vinserti128 ymm1, ymm2, xmmword ptr [rax], 0
  vinserti64x4 zmm1{k1}, zmm2, ymm3, 1
  vinsertf32x4 zmm1, zmm2, xmmword ptr [rax], 2
  vextractf128 xmm1, ymm2, 1
  vextracti128 xmmword ptr [rax], ymm2, 1
  vextracti64x4 ymm1, zmm2, 1
  vextractf32x4 xmmword ptr [rax]{k1}, zmm2, 3
  vextracti32x8 ymm1{k1}{z}, zmm2, 1
  vbroadcastss xmm1, xmm2
  vbroadcastss ymm1, dword ptr [rax]
  vbroadcastsd ymm1, xmm2
  vbroadcastf128 ymm1, xmmword ptr [rax]
  vbroadcasti64x2 zmm1{k1}, xmmword ptr [rax]
  vbroadcasti32x8 zmm1, ymmword ptr [rax]
  vbroadcastf32x2 zmm1, qword ptr [rax]
  .irp op, vpbroadcastb, vpbroadcastw, vpbroadcastd
    \op xmm1, xmm2
    \op ymm1, xmm2
    \op zmm1{k1}, xmm2
    \op ymm17, eax
    \op zmm1{k1}{z}, ecx
  .endr
  vpbroadcastb ymm1, byte ptr [rax]
  vpbroadcastw zmm1, word ptr [rax + 2]
  vpbroadcastq zmm1, r9
  vpbroadcastq ymm1, qword ptr [rax]
  vpbroadcastmb2q zmm1, k1
  vpbroadcastmw2d ymm1, k2
  .macro hbbp_forms_5 op
    \op xmm1, xmm2
    v\op ymm1, xmm2
    v\op xmm17{k1}, xmm2
  .endm
  .irp op, pmovsxbw, pmovsxbd, pmovsxbq, pmovsxwd, pmovsxwq, pmovsxdq, pmovzxbw, pmovzxbd
    hbbp_forms_5 \op
  .endr
  .irp op, pmovzxbq, pmovzxwd, pmovzxwq, pmovzxdq
    hbbp_forms_5 \op
  .endr
  pmovzxbw xmm1, qword ptr [rax]
  pmovsxbd xmm1, dword ptr [rax]
  pmovzxbq xmm1, word ptr [rax]
  vpmovzxbw zmm1, ymmword ptr [rax]
  vpmovsxdq zmm1{k1}, ymmword ptr [rax]
  .irp op, vpmovdb, vpmovsdb, vpmovusdb, vpmovqb, vpmovdw, vpmovqw
    \op xmm1, xmm2
    \op xmm1{k1}{z}, ymm2
  .endr
  vpmovwb ymmword ptr [rax]{k1}, zmm2
  vpmovusqd ymm1, zmm2
  vpmovdb xmmword ptr [rax], zmm2
  .irp op, vpmovb2m, vpmovw2m, vpmovd2m, vpmovq2m
    \op k1, zmm2
  .endr
  .irp op, vpmovm2b, vpmovm2w, vpmovm2d, vpmovm2q
    \op zmm1, k2
    \op xmm17, k2
  .endr
  .irp op, vpcompressb, vpcompressw, vpcompressd, vpcompressq, vcompressps, vcompresspd
    \op zmm1{k1}, zmm2
    \op xmm1{k1}{z}, xmm2
    \op zmmword ptr [rax]{k1}, zmm2
    \op ymmword ptr [rax], ymm17
  .endr
  .irp op, vpexpandb, vpexpandw, vpexpandd, vpexpandq, vexpandps, vexpandpd
    \op zmm1{k1}, zmm2
    \op ymm1{k1}{z}, ymmword ptr [rax]
  .endr
  valignd zmm1, zmm2, zmm3, 5
  valignq ymm1{k1}, ymm2, ymm3, 1
  .irp op, vmaskmovps, vmaskmovpd, vpmaskmovd, vpmaskmovq
    \op xmm1, xmm2, xmmword ptr [rax]
    \op ymm1, ymm2, ymmword ptr [rax]
    \op xmmword ptr [rax], xmm1, xmm2
    \op ymmword ptr [rax], ymm1, ymm2
  .endr
  maskmovdqu xmm1, xmm2
  vmaskmovdqu xmm1, xmm2
  maskmovq mm1, mm2
  ptest xmm1, xmm2
  vptest ymm1, ymmword ptr [rax]
  vtestps xmm1, xmm2
  vtestpd ymm1, ymm2
  pcmpistri xmm1, xmm2, 0x0c
  pcmpistri xmm1, xmmword ptr [rax], 0x1a
  pcmpistrm xmm1, xmm2, 0x40
  pcmpestri xmm1, xmm2, 0x18
  pcmpestrm xmm1, xmm2, 0x04
  vpcmpistri xmm1, xmm2, 0x3a
  vpcmpestrm xmm1, xmm2, 0x40

  # Opmasks.
  .irp w, b, w, d, q
    kmov\w k1, k2
    kand\w k1, k2, k3
    kandn\w k1, k2, k3
    kandn\w k1, k2, k2
    kor\w k1, k2, k3
    kxor\w k1, k2, k3
    kxor\w k1, k1, k1
    kxnor\w k1, k2, k3
    kxnor\w k1, k0, k0
    knot\w k1, k2
    kadd\w k1, k2, k3
    kortest\w k1, k2
    kortest\w k0, k0
    ktest\w k1, k2
    kshiftl\w k1, k2, 3
    kshiftr\w k1, k2, 5
  .endr
  kmovb k1, eax
  kmovw eax, k1
  kmovd k1, ecx
  kmovd r9d, k7
  kmovq rax, k1
  kmovq k1, r9
  kmovb byte ptr [rax], k1
  kmovw k1, word ptr [rax]
  kmovd dword ptr [rax], k1
  kmovq k1, qword ptr [r9]
  kunpckbw k1, k2, k3
  kunpckwd k1, k2, k3
  kunpckdq k1, k2, k3

  # Cryptography, bit counting, dot products.
  .irp op, aesenc, aesenclast, aesdec, aesdeclast
    \op xmm1, xmm2
    \op xmm1, xmmword ptr [rax]
    v\op xmm1, xmm2, xmm3
    v\op ymm1, ymm2, ymm3
    v\op zmm1, zmm2, zmm3
  .endr
  aesimc xmm1, xmm2
  aeskeygenassist xmm1, xmm2, 1
  vaesimc xmm1, xmm2
  pclmulqdq xmm1, xmm2, 0x11
  vpclmulqdq xmm1, xmm2, xmm3, 1
  vpclmulqdq ymm1, ymm2, ymm3, 1
  vpclmulqdq zmm1, zmm2, zmmword ptr [rax], 0x10
  sha1rnds4 xmm1, xmm2, 2
  sha1nexte xmm1, xmm2
  sha1msg1 xmm1, xmm2
  sha1msg2 xmm1, xmm2
  sha256rnds2 xmm1, xmm2
  sha256msg1 xmm1, xmmword ptr [rax]
  sha256msg2 xmm1, xmm2
  gf2p8mulb xmm1, xmm2
  gf2p8affineqb xmm1, xmm2, 0x63
  vgf2p8affineinvqb ymm1, ymm2, ymm3, 1
  vgf2p8mulb zmm1{k1}, zmm2, zmm3
  vpopcntb zmm1, zmm2
  vpopcntq ymm1{k1}, ymm2
  vpopcntd zmm1, dword ptr [rax]{1to16}
  vplzcntd zmm1, zmm2
  vplzcntq ymm1{k1}{z}, ymm2
  vpconflictd zmm1, zmm2
  vpshufbitqmb k1, zmm2, zmm3
  vpshldd zmm1, zmm2, zmm3, 5
  vpshrdvq zmm1{k1}, zmm2, zmm3
  vpmadd52luq zmm1, zmm2, zmm3
  vpmadd52huq ymm1{k1}, ymm2, ymm3
  vpdpbusd zmm1, zmm2, zmm3
  vpdpwssds ymm1{k1}{z}, ymm2, ymm3

  # State.
  stmxcsr dword ptr [rax]
  vstmxcsr dword ptr [rax]
  vzeroupper
  vzeroall
  emms

  # x87.
  .irp op, fadd, fsub, fsubr, fmul, fdiv, fdivr
    \op st, st(2)
    \op st(3), st
    \op\()p st(1), st
    \op dword ptr [rax]
    \op qword ptr [rax]
  .endr
  .irp op, fiadd, fisub, fimul, fidiv, ficom, ficomp
    \op word ptr [rax]
    \op dword ptr [rax]
  .endr
  fld dword ptr [rax]
  fld qword ptr [rax]
  fld tbyte ptr [rax]
  fld st(3)
  fst dword ptr [rax]
  fstp qword ptr [rax]
  fstp tbyte ptr [rax]
  fst st(2)
  fild word ptr [rax]
  fild dword ptr [rax]
  fild qword ptr [rax]
  fist dword ptr [rax]
  fistp qword ptr [rax]
  fisttp word ptr [rax]
  fisttp qword ptr [rax]
  fbld tbyte ptr [rax]
  fbstp tbyte ptr [rax]
  .macro hbbp_forms_6 op
    \op
  .endm
  .irp op, fabs, fchs, fsqrt, frndint, fscale, fprem, fprem1, fxtract, f2xm1, fyl2x, fyl2xp1
    hbbp_forms_6 \op
  .endr
  .irp op, fpatan, fptan, fsin, fcos, fsincos, ftst, fxam, fld1, fldz, fldpi, fldl2e, fldl2t
    hbbp_forms_6 \op
  .endr
  .irp op, fldlg2, fldln2, fincstp, fdecstp, fnop, fnclex, fninit, fwait, fcompp, fucompp
    hbbp_forms_6 \op
  .endr
  .irp op, fcom, fcomp, fucom, fucomp
    \op st(2)
  .endr
  .macro hbbp_forms_7 op
    \op st, st(1)
  .endm
  .irp op, fcomi, fcomip, fucomi, fucomip, fcmovb, fcmove, fcmovbe, fcmovu, fcmovnb, fcmovne
    hbbp_forms_7 \op
  .endr
  .irp op, fcmovnbe, fcmovnu
    hbbp_forms_7 \op
  .endr
  fxch st(4)
  ffree st(2)
  fnstcw word ptr [rax]
  fnstsw word ptr [rax]
  fnstsw ax

  # Every way to write an address, in every kind of encoding.
  .macro hbbp_forms_8 address
    adc rdx, qword ptr [\address]
    bsf cx, word ptr [\address]
    imul eax, dword ptr [\address], 77
    movhps xmm3, qword ptr [\address]
    movups xmmword ptr [\address], xmm13
    pinsrw xmm2, word ptr [\address], 5
    vaddpd xmm1, xmm2, xmmword ptr [\address]
    vpshufb ymm11, ymm2, ymmword ptr [\address]
    vpblendvb xmm1, xmm2, xmmword ptr [\address], xmm7
    shlx r9, qword ptr [\address], r11
    vpaddd zmm1, zmm2, zmmword ptr [\address]
    vpaddd ymm31{k3}, ymm22, dword ptr [\address]{1to8}
    vpalignr xmm17, xmm22, xmmword ptr [\address], 3
    vmovdqu8 ymmword ptr [\address]{k2}, ymm20
    crc32 rax, byte ptr [\address]
    fadd qword ptr [\address]
  .endm
  .irp address, rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15
    hbbp_forms_8 \address
  .endr
  .irp address, rax+1, rbp-8, rsp+127, r12+128, r13-129, rax+rcx, rbx+rbp*2, rsp+r12*4
    hbbp_forms_8 \address
  .endr
  .irp address, r13+r13*8, rbp+r15+64, rdi*4+256, r14*8-4096, rip+16, rip-64
    hbbp_forms_8 \address
  .endr

  .globl hbbp_forms_end
hbbp_forms_end:
  .att_syntax prefix
  .popsection
)");

namespace hbbp::testing {

std::vector<InstructionBytes> AssembledInstructions() {
  std::vector<InstructionBytes> instructions;
  for (const uint8_t* at = hbbp_forms_begin; at < hbbp_forms_end;) {
    ControlFlow flow;
    if (!DecodeControlFlow({at, hbbp_forms_end}, 0, &flow)) return {};
    instructions.emplace_back(at, at + flow.length);
    at += flow.length;
  }
  return instructions;
}

std::vector<InstructionBytes> PrefixedInstructions() {
  // The prefixes are segments, REX prefixes that another prefix makes ineffective, sizes and
  // repetitions.
  const std::vector<InstructionBytes> prefixes = {
      {0x3e}, {0x64, 0x64},       {0x65, 0x2e}, {0x26, 0x64}, {0x42, 0x3e}, {0x4f, 0x26, 0x36},
      {0x48}, {0x4d, 0x66, 0x66}, {0x66},       {0xf2},       {0xf3},       {0xf2, 0xf3}};
  const std::vector<InstructionBytes> instructions = AssembledInstructions();
  std::vector<InstructionBytes> prefixed;
  for (size_t i = 0; i < instructions.size(); ++i) {
    InstructionBytes code = prefixes[i % prefixes.size()];
    code.insert(code.end(), instructions[i].begin(), instructions[i].end());
    if (code.size() > kMaxInstructionLength) continue;
    ControlFlow flow;  // an operand size changes the length of an immediate operand
    if (DecodeControlFlow(code, 0, &flow)) code.resize(flow.length);
    prefixed.push_back(std::move(code));
  }
  return prefixed;
}

}  // namespace hbbp::testing
