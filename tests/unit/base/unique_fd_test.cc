#include "base/unique_fd.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>
#include <utility>

#include "support/catch.h"

namespace hbbp {
namespace {

bool IsOpen(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

int NewFd() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

TEST_CASE("a descriptor is closed with its owner") {
  int number = -1;
  {
    const UniqueFd fd(NewFd());
    number = fd.get();
    REQUIRE(fd.valid());
    CHECK(IsOpen(number));
  }
  CHECK_FALSE(IsOpen(number));
}

TEST_CASE("an owner of nothing closes nothing") {
  UniqueFd none;
  CHECK_FALSE(none.valid());
  none.Reset();
  CHECK(none.Release() == -1);
  CHECK_FALSE(UniqueFd(-1).valid());
}

TEST_CASE("a released descriptor stays open") {
  UniqueFd fd(NewFd());
  const int number = fd.Release();
  CHECK_FALSE(fd.valid());
  CHECK(IsOpen(number));
  ::close(number);
}

TEST_CASE("moving hands over, and closes what the target had") {
  UniqueFd first(NewFd());
  UniqueFd second(NewFd());
  const int first_number = first.get();
  const int second_number = second.get();
  second = std::move(first);
  CHECK(second.get() == first_number);
  CHECK_FALSE(first.valid());
  CHECK_FALSE(IsOpen(second_number));
  UniqueFd third(std::move(second));
  CHECK(third.get() == first_number);
  CHECK(IsOpen(first_number));
  UniqueFd& same = third;
  third = std::move(same);
  CHECK(IsOpen(first_number));
  third.Reset();
  CHECK_FALSE(IsOpen(first_number));
  CHECK_FALSE(third.valid());
}

TEST_CASE("a descriptor moves up, and where few can be open it keeps its number") {
  rlimit before;
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  UniqueFd fd(NewFd());
  const int number = fd.get();
  const rlimit few = {8, before.rlim_max};
  REQUIRE(number < 8);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  errno = EXDEV;
  const bool has_moved_under_the_limit = fd.MoveUp();
  const int number_under_the_limit = fd.get();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(errno == EXDEV);
  CHECK_FALSE(has_moved_under_the_limit);
  CHECK(number_under_the_limit == number);

  CHECK(fd.MoveUp());
  CHECK(fd.get() >= 8);
  CHECK(IsOpen(fd.get()));
  CHECK_FALSE(IsOpen(number));
}

}  // namespace
}  // namespace hbbp
