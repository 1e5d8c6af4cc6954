// heavy MILLISECONDS: has thread-local variables that fill a small stack, and a static C++ library
// that runs code before and after main.
#include <cstring>
#include <iostream>
#include <locale>
#include <sstream>
#include <thread>
#include <vector>

#include "work.h"

namespace {

thread_local char large[4 << 20];

struct AtBothEnds {
  AtBothEnds() { Work(50); }
  ~AtBothEnds() { Work(50); }
};
AtBothEnds at_both_ends;

void UseStreams(long milliseconds) {
  std::memset(large, 1, sizeof(large));
  Work(milliseconds);
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << static_cast<int>(large[5]);
  if (text.str() != "1") std::exit(90);
}

}  // namespace

int main(int argc, char** argv) {
  const long milliseconds = argc > 1 ? std::atol(argv[1]) : 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(UseStreams, milliseconds);
  for (std::thread& thread : threads) thread.join();
  try {
    throw std::vector<int>(3);
  } catch (const std::vector<int>& thrown) {
    std::cout << "caught " << thrown.size() << std::endl;
  }
  Report();
}
