// Does the same as consumer.c through the C++ wrapper, with exceptions or without.
#include <hbbp/hbbp.hpp>
#include <iostream>

namespace {

volatile double sum;

void Work() {
  for (int i = 1; i < 20000000; ++i) sum = sum + 1.0 / i;
}

hbbp_status Start(hbbp::session& session, std::string* message) {
#if defined(__cpp_exceptions)
  try {
    session.start();
  } catch (const hbbp::error& error) {
    *message = error.what();
    return error.status();
  }
  return HBBP_OK;
#else
  HBBP_INIT(hbbp_error, error);
  const hbbp_status status = hbbp_session_start(session.get(), &error);
  *message = error.message;
  return status;
#endif
}

}  // namespace

int main() {
  hbbp::session session;
  std::string message;
  const hbbp_status started = Start(session, &message);
  if (started != HBBP_OK && started != HBBP_ERROR_PERMISSION && started != HBBP_ERROR_UNSUPPORTED) {
    std::cerr << message << '\n';
    return 1;
  }
  Work();
  if (started == HBBP_OK) session.stop();
  const hbbp::analysis analysis(session.snapshot());
  const hbbp::mix mix = analysis.instruction_mix();
  std::cout << analysis.blocks().size() << " blocks, " << mix.rows().size() << " mnemonics\n";
  return started == HBBP_OK && mix.rows().empty() ? 1 : 0;
}
