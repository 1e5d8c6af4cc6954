// The rules below match names of instructions to what they do: their category, their floating-point
// operations and the type of their elements. In each table the first rule that matches applies.
// TraitsOfName evaluates them for one name; TraitsOf keeps the results for all mnemonics of Zydis
// in a table, and instruction_properties.cc calls it.
#include "isa/mnemonic_traits.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/glob.h"

namespace hbbp {
namespace {

using Category = InstructionCategory;

// A rule has patterns of names, separated by spaces; a leading ^ stands for a v or nothing.
struct CategoryRule {
  Category category;
  std::string_view patterns;
};

constexpr CategoryRule kCategories[] = {
    {Category::kGather, "vgather[dq]p[sd] vpgather*"},
    {Category::kScatter, "vscatter[dq]p[sd] vpscatter*"},
    {Category::kPrefetch, "prefetch* vprefetch* vgatherpf* vscatterpf* clevict*"},
    {Category::kCacheControl, "clflush* clwb cldemote clzero invd wbinvd"},
    {Category::kFence, "lfence mfence sfence serialize mcommit"},
    {Category::kAtomic, "cmpxchg* xadd"},
    {Category::kTransaction, "xbegin xend xabort xtest xsusldtrk xresldtrk"},
    {Category::kWait, "pause monitor* mwait* umonitor umwait tpause delay"},
    {Category::kNop, "nop fnop endbr* *_nop"},
    {Category::kTrap, "int1 int3 ud[012] bound into"},
    {Category::kSystemCall, "syscall sysenter int"},
    {Category::kIo, "in out ins[bwd] outs[bwd] enqcmd*"},
    {Category::kConditionalBranch,
     "j[bloszp] jbe jle jn[bloszp] jnbe jnle jcxz jecxz jrcxz jk*zd loop loop[en] loopne"},
    {Category::kJump, "jmp"},
    {Category::kCall, "call"},
    {Category::kReturn, "ret"},
    {Category::kStack, "push* pop popa* popf* enter leave"},
    {Category::kString, "movs[bwq] cmps[bwq] lods[bwdq] stos[bwdq] scas[bwdq]"},
    {Category::kSetCondition, "set[bloszp] set[bl]e setn[bloszp] setnbe setnle salc"},
    {Category::kConditionalMove, "cmov* fcmov*"},
    {Category::kAddress, "lea"},
    {Category::kMatrix, "tdp*"},
    {Category::kCrypto,
     "^aes* sha1* sha256* ^pclmulqdq ^gf2p8* encodekey* loadiwkey crc32 xcrypt_* xsha* montmul"},
    {Category::kRandom, "rdrand rdseed xstore"},
    {Category::kFlag, "clc stc cmc cld std lahf sahf"},
    {Category::kMachineState,
     "fxsave* fxrstor* xsave* xrstor* ^ldmxcsr ^stmxcsr fldcw fldenv fnstcw fnstenv fnstsw fnsave "
     "frstor fnclex fninit emms femms vzeroall vzeroupper fincstp fdecstp ffree* fwait ldtilecfg "
     "sttilecfg tilerelease xgetbv xsetbv rdfsbase rdgsbase wrfsbase wrgsbase rdpkru wrpkru spflt"},
    {Category::kDivide, "div idiv ^div[ps][dsh] fdiv* fidiv* fprem*"},
    {Category::kSqrt, "^sqrt[ps][dsh] fsqrt"},
    {Category::kTranscendental,
     "f2xm1 fcos fsin fsincos fptan fpatan fyl2x* vexp2* vexp223ps vlog2ps"},
    {Category::kCompare,
     "cmp test ^cmp[ps][dsh] ^ucomis[dsh] ^comis[dsh] ^pcmp* vpcom[bwdq] vpcomu[bwdq] ^ptest "
     "vtestp[sd] vptest* fcom fcom[ip] fcomip fcompp fucom* ficom* ftst fxam pfcmp* vfpclass* "
     "ktest* kortest* vp2intersect*"},
    {Category::kMask, "vpmov[bwdq]2m vpmovm2[bwdq]"},
    {Category::kConvert,
     "^cvt* cbw cwde cdqe cwd cdq cqo ^pmov[sz]x* ^packss* ^packus* vpmov[wdq][bwd] "
     "vpmovs[wdq][bwd] vpmovus* pf2i* pi2f* fbld fbstp fild fist fist[tp] fisttp"},
    {Category::kShuffle,
     "^shufp[sd] vshuf[fi]* ^unpck* ^punpck* ^pshufb ^pshuf[dw] ^pshuf[lh]w vperm* vpperm "
     "^palignr valign[dq] ^blend* ^pblend* ^broadcast* vpbroadcast* insertps vinsert* ^extractps "
     "vextract* ^pinsr* ^pextr[bwdq] vcompress* vpcompress* vexpand* vpexpand* ^movhlps ^movlhps "
     "^movddup ^movs[lh]dup pswapd"},
    {Category::kDataMove,
     "mov* vmov* kmov* kextract ^lddqu ^maskmov* vpmaskmov* xchg bswap xlat l[defgs]s lss fld fld1 "
     "fldl* fldpi fldz fst fstp fstpnce fxch tileload* tilestored tilezero ^pmovmskb vloadunpack* "
     "vpackstore* wrss[dq] wruss[dq]"},
    {Category::kFloatArithmetic, "vfmulc* vfcmulc*"},
    {Category::kFma, "vfm* vfnm* vfcm* v4fm* v4fnm* vdpbf16ps"},
    {Category::kFloatArithmetic,
     "^add[ps][dsh] ^addsubp[sd] ^sub[ps][dsh] ^mul[ps][dsh] ^min[ps][dsh] ^max[ps][dsh] "
     "^haddp[sd] ^hsubp[sd] ^dpp[sd] ^rcp* ^rsqrt* ^round* vrndscale* vreduce* vrange* vscale* "
     "vgetexp* vgetmant* vfixup* vfrcz* fadd* fiadd fsub* fisub* fmul* fimul fabs fchs frndint "
     "fscale fxtract pfacc pfadd pfsub* pfmul pfmax pfmin pf*nacc pfrcp* pfrsqi* pfsqrt pfcpit1 "
     "vaddn* vaddsetsps vsubrp[sd] vgmax* vgmin* vrndfxpnt*"},
    {Category::kIntegerMultiply,
     "mul imul mulx ^pmul[dhlu]* pmulhrw ^pmadd* vpmac* vpmadcs* vpdp* vp4dp*"},
    {Category::kShift,
     "rcl rcr rol ror sal sar shl shr shld shrd shlx shrx sarx rorx ^psll* ^psra* ^psrl* vprol* "
     "vpror* vprot* vpsha[bwdq] vpshl[bwdq] vpshl[dw]* vpshr*"},
    {Category::kIntegerArithmetic,
     "add adc sub sbb inc dec neg adcx adox ^padd* ^psub* ^phadd* ^phsub* ^pabs* ^pavg* ^pmax* "
     "^pmin* ^psign* ^psadbw ^mpsadbw vdbpsadbw ^phminposuw vpadcd vpsbb*"},
    {Category::kLogic,
     "and or xor not andn ^andp[sd] ^andnp[sd] ^orp[sd] ^xorp[sd] ^pand* ^por vpor[dq] ^pxor "
     "vpxor[dq] vpternlog* vpcmov"},
    {Category::kBit,
     "bsf bsr bt bt[crs] bzhi bextr blc* bls* pdep pext popcnt lzcnt tzcnt* t1mskc tzmsk vplzcnt* "
     "vpopcnt* vpconflict* extrq insertq vpmultishiftqb vpshufbitqmb"},
    {Category::kMask, "k*"},
    {Category::kSystem,
     "cpuid rdtsc* rdpmc rdpid rdpru rdmsr wrmsr hlt iret* uiret rsm sysret sysexit cli sti clac "
     "stac clgi stgi clts swapgs arpl lar lsl lgdt lidt lldt lmsw ltr sgdt sidt sldt smsw str verr "
     "verw inv* getsec hreset pconfig ptwrite vm* skinit tlbsync psmash pvalidate rmp* encl* "
     "tdcall "
     "seam* clui stui testui senduipi clrssbsy setssbsy incssp* rdssp* rstorssp saveprevssp"},
};

bool FitsPattern(std::string_view pattern, std::string_view name) {
  if (pattern[0] != '^') return MatchesGlob(pattern, name);
  pattern.remove_prefix(1);
  return MatchesGlob(pattern, name) ||
         (name.starts_with('v') && MatchesGlob(pattern, name.substr(1)));
}

bool FitsAny(std::string_view patterns, std::string_view name) {
  while (!patterns.empty()) {
    const size_t end = std::min(patterns.find(' '), patterns.size());
    if (FitsPattern(patterns.substr(0, end), name)) return true;
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return false;
}

Category CategoryOf(std::string_view name) {
  for (const CategoryRule& rule : kCategories) {
    if (FitsAny(rule.patterns, name)) return rule.category;
  }
  return Category::kOther;
}

struct FlopRule {
  uint8_t flops;  // per lane
  std::string_view patterns;
};

// The numbers are those of Intel's counters (FP_ARITH_INST_RETIRED); for instructions that these do
// not count, they are multiplications and additions. A complex number takes two lanes, so the six
// operations of its multiplication are three per lane.
constexpr FlopRule kFlops[] = {
    {3, "vfmulc* vfcmulc*"},
    {4, "vfmaddc* vfcmaddc* vdpbf16ps"},
    {8, "v4fmadd* v4fnmadd*"},
    {2, "vfmadd* vfmsub* vfnmadd* vfnmsub* ^dpp[sd]"},
    {1,
     "^add[ps][dsh] ^addsubp[sd] ^sub[ps][dsh] ^mul[ps][dsh] ^div[ps][dsh] ^min[ps][dsh] "
     "^max[ps][dsh] ^haddp[sd] ^hsubp[sd] ^sqrt[ps][dsh] ^rcp[ps][sh] ^rsqrt[ps][sh] vrcp14* "
     "vrcp28* vrsqrt14* vrsqrt28* vrange* vexp2p[sd] fadd* fiadd fsub* fisub* fmul* fimul fdiv* "
     "fidiv* fsqrt fprem* f2xm1 fcos fsin fsincos fptan fpatan fyl2x* pfadd pfsub* pfmul pfmax "
     "pfmin pfacc pf*nacc pfrcp pfsqrt"},
};

uint8_t FlopsPerLane(std::string_view name) {
  for (const FlopRule& rule : kFlops) {
    if (FitsAny(rule.patterns, name)) return rule.flops;
  }
  return 0;
}

struct Element {
  ElementType type = ElementType::kNone;
  uint8_t bits = 0;
};

constexpr Element Integer(int bits) { return {ElementType::kInteger, static_cast<uint8_t>(bits)}; }

std::optional<Element> FloatOf(char letter) {
  switch (letter) {
    case 'h':
      return Element{ElementType::kHalf, 16};
    case 's':
      return Element{ElementType::kSingle, 32};
    case 'd':
      return Element{ElementType::kDouble, 64};
    default:
      return std::nullopt;
  }
}

std::optional<Element> IntegerOf(char letter) {
  switch (letter) {
    case 'b':
      return Integer(8);
    case 'w':
      return Integer(16);
    case 'd':
      return Integer(32);
    case 'q':
      return Integer(64);
    default:
      return std::nullopt;
  }
}

// The endings are ps, pd, ph, ss, sd and sh.
bool EndsInFloat(std::string_view name) {
  if (name.size() < 2) return false;
  const char packing = name[name.size() - 2];
  return (packing == 'p' || packing == 's') && FloatOf(name.back());
}

struct ElementRule {
  std::string_view patterns;
  Element element;
};

// These names do not end in the type of the elements of the result.
constexpr ElementRule kElements[] = {
    {"vcvtne*2bf16", {ElementType::kBfloat16, 16}},
    {"^cvt*2phx", {ElementType::kHalf, 16}},
    {"^cvt*2psx", {ElementType::kSingle, 32}},
    {"vcvt*2uw vcvt*2w", Integer(16)},
    {"^cvt*2dq ^cvt*2udq ^cvt*2pi ^cvt*2si ^cvt*2usi", Integer(32)},
    {"vcvt*2qq vcvt*2uqq", Integer(64)},
    {"pi2f*", {ElementType::kSingle, 32}},
    {"pf2i*", Integer(32)},
    {"pfcmp*", Integer(32)},
    {"pf*", {ElementType::kSingle, 32}},
    {"^movs[lh]dup", {ElementType::kSingle, 32}},
    {"^movddup", {ElementType::kDouble, 64}},
    {"*f32x[248]", {ElementType::kSingle, 32}},
    {"*f64x[24] vinsertf128 vextractf128 vbroadcastf128 vperm2f128", {ElementType::kDouble, 64}},
    {"*i32x[248]", Integer(32)},
    {"*i64x[24]", Integer(64)},
    {"vinserti128 vextracti128 vbroadcasti128 vperm2i128 ^pslldq ^psrldq", Integer(128)},
    {"^aes* ^movdq[au] ^movntdq ^movntdqa ^lddqu movdq2q movq2dq", Integer(0)},
    {"^pand ^pandn ^por ^pxor ^ptest vpcmov", {ElementType::kBit, 1}},
    {"vmovdq[au]32", Integer(32)},
    {"vmovdq[au]64", Integer(64)},
    {"vmovdqu16", Integer(16)},
    {"vmovdqu8", Integer(8)},
    {"movntq", Integer(64)},
    {"^maskmovdqu maskmovq ^pmovmskb ^palignr ^gf2p8* vpperm", Integer(8)},
    {"^pcmp[ei]str*", Integer(0)},  // the immediate has the width
    {"^mpsadbw vdbpsadbw ^psadbw pmulhrw", Integer(16)},
    {"^pclmulqdq extrq insertq", Integer(64)},
    {"sha1* sha256*", Integer(32)},
    {"^punpck[lh]bw", Integer(8)},
    {"^punpck[lh]wd", Integer(16)},
    {"^punpck[lh]dq", Integer(32)},
    {"vpmov[bwdq]2m", Integer(0)},  // TraitsOfName says
    {"vpdp* vp4dp* tdpb[su][su]d", Integer(32)},
    {"vpmacs*dq[hl]", Integer(64)},
    {"valignd", Integer(32)},
    {"valignq", Integer(64)},
    {"tdpbf16ps", {ElementType::kSingle, 32}},
    {"tileload* tilestored tilezero", {}},
};

// The result has a meaning for instructions with vector registers only.
Element ElementOf(std::string_view name) {
  if (MatchesGlob("vpmov[bwdq]2m", name)) return *IntegerOf(name[5]);
  for (const ElementRule& rule : kElements) {
    if (FitsAny(rule.patterns, name)) return rule.element;
  }
  const std::string_view stem = name.starts_with('v') ? name.substr(1) : name;
  const bool is_float =
      EndsInFloat(stem) && (!stem.starts_with('p') || MatchesGlob("perm*p[sd]", stem));
  if (is_float) return *FloatOf(stem.back());
  return IntegerOf(stem.back()).value_or(Element{});
}

bool IsScalar(std::string_view name) {
  const std::string_view stem = name.starts_with('v') ? name.substr(1) : name;
  if (FitsAny("mov[dqw] pinsr* pextr[bwdq] extractps extrq insertq", stem)) return true;
  if (stem.starts_with("cvt")) {
    std::string_view source = stem.substr(3);
    if (source.starts_with('t')) source.remove_prefix(1);
    return FitsAny("s[ihsd]2* usi2*", source);
  }
  return EndsInFloat(stem) && stem[stem.size() - 2] == 's' && !FitsAny("p* broadcast* tdp*", stem);
}

uint8_t IndexBits(std::string_view name) {
  if (FitsAny("vgatherd* vscatterd* vpgatherd* vpscatterd*", name)) return 32;
  if (FitsAny("vgatherq* vscatterq* vpgatherq* vpscatterq*", name)) return 64;
  return 0;
}

using TraitsTable = std::array<MnemonicTraits, ZYDIS_MNEMONIC_MAX_VALUE + 1>;

TraitsTable MakeTable() {
  TraitsTable table;
  for (size_t i = 1; i < table.size(); ++i) {
    const auto mnemonic = static_cast<ZydisMnemonic>(i);
    const ZydisShortString* name = ZydisMnemonicGetStringWrapped(mnemonic);
    table[i] = TraitsOfName({name->data, name->size});
  }
  return table;
}

}  // namespace

MnemonicTraits TraitsOfName(std::string_view name) {
  const Element element = ElementOf(name);
  return {.category = CategoryOf(name),
          .is_scalar = IsScalar(name),
          .element_type = element.type,
          .element_bits = element.bits,
          .index_bits = IndexBits(name),
          .flops_per_lane = FlopsPerLane(name)};
}

const MnemonicTraits& TraitsOf(ZydisMnemonic mnemonic) {
  static const TraitsTable table = MakeTable();
  return table[mnemonic];
}

}  // namespace hbbp
