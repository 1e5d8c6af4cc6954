// The C++ version of self_profile.c: what a host program adds to find out which instructions work()
// ran.
#include <cstdio>
#include <hbbp/hbbp.hpp>

static double work() {
  double sum = 0;
  for (int i = 1; i < 300000000; i++) sum += 1.0 / i;
  return sum;
}

int main() try {
  hbbp::session session;
  session.start();
  std::printf("sum = %f\n", work());
  session.stop();
  const hbbp::mix mix = hbbp::analysis(session.snapshot()).instruction_mix();
  for (const hbbp_mix_row& row : mix.rows()) {
    std::printf("%-10s %5.1f %%\n", row.mnemonic, 100 * row.share);
  }
} catch (const hbbp::error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
