// As consumer.c, through the C++ wrapper.
#include <hbbp/hbbp.hpp>
#include <iostream>

namespace {

volatile double sum;

void Work() {
  for (int i = 1; i < 20000000; ++i) sum = sum + 1.0 / i;
}

}  // namespace

int main() {
  hbbp::session session;
  bool sampled = true;
  try {
    session.start();
  } catch (const hbbp::error& error) {
    if (error.status() != HBBP_ERROR_PERMISSION && error.status() != HBBP_ERROR_UNSUPPORTED) {
      std::cerr << error.what() << '\n';
      return 1;
    }
    sampled = false;
  }
  Work();
  if (sampled) session.stop();
  const hbbp::profile profile = session.snapshot();
  const hbbp::mix mix = profile.instruction_mix();
  std::cout << profile.blocks().size() << " blocks, " << mix.rows().size() << " mnemonics\n";
  return sampled && mix.rows().empty() ? 1 : 0;
}
