#include "base/status.h"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("an errno value becomes the code that says whose turn it is to act") {
  const std::pair<int, StatusCode> cases[] = {
      {EACCES, StatusCode::kPermission},
      {EPERM, StatusCode::kPermission},
      {ENOENT, StatusCode::kNotFound},
      {ESRCH, StatusCode::kNotFound},
      {ENXIO, StatusCode::kNotFound},
      {ENOMEM, StatusCode::kNoMemory},
      {EBUSY, StatusCode::kBusy},
      {ENOSPC, StatusCode::kBusy},
      {EMFILE, StatusCode::kBusy},
      {ENFILE, StatusCode::kBusy},
      {ENOSYS, StatusCode::kUnsupported},
      {EOPNOTSUPP, StatusCode::kUnsupported},
      {ENODEV, StatusCode::kUnsupported},
      {EINVAL, StatusCode::kInvalidArgument},
      {EIO, StatusCode::kIo},
      {EISDIR, StatusCode::kIo},
      {ENOTDIR, StatusCode::kIo},
      {123456, StatusCode::kIo},
  };
  for (const auto& [error_number, code] : cases) {
    CAPTURE(error_number);
    CHECK(ErrnoStatus(error_number, "x").code() == code);
  }
}

TEST_CASE("the message of an errno value names the object first") {
  CHECK(ErrnoStatus(ENOENT, "/some/file").message() == "/some/file: No such file or directory");
}

TEST_CASE("annotation puts the context in front and keeps the code") {
  const Status inner(StatusCode::kBadFormat, "bad byte");
  const Status outer = inner.Annotate("file");
  CHECK(outer.code() == StatusCode::kBadFormat);
  CHECK(outer.message() == "file: bad byte");
  CHECK(inner.message() == "bad byte");
  CHECK(OkStatus().Annotate("file").ok());
  CHECK(OkStatus().Annotate("file").message().empty());
}

TEST_CASE("a formatted message is cut where it is too long, not overrun") {
  CHECK(MakeStatus(StatusCode::kIo, "%d of %s", 3, "four").message() == "3 of four");
  const std::string long_text(5000, 'x');
  const Status status = MakeStatus(StatusCode::kIo, "%s", long_text.c_str());
  CHECK(status.message().size() >= 500);
  CHECK(long_text.starts_with(status.message()));
}

TEST_CASE("a default status is success") {
  CHECK(Status().ok());
  CHECK(Status().code() == StatusCode::kOk);
  CHECK_FALSE(MakeStatus(StatusCode::kInternal, "x").ok());
}

Status FailIfOdd(int number, int* evaluations) {
  ++*evaluations;
  return number % 2 == 0 ? OkStatus() : Status(StatusCode::kInvalidArgument, "odd");
}

Status CheckAll(int first, int second, int* evaluations) {
  HBBP_RETURN_IF_ERROR(FailIfOdd(first, evaluations));
  HBBP_RETURN_IF_ERROR(FailIfOdd(second, evaluations));
  return OkStatus();
}

TEST_CASE("the return macro stops at the first failure and evaluates once") {
  int evaluations = 0;
  CHECK(CheckAll(2, 4, &evaluations).ok());
  CHECK(evaluations == 2);
  evaluations = 0;
  CHECK(CheckAll(1, 4, &evaluations).message() == "odd");
  CHECK(evaluations == 1);
}

StatusOr<std::unique_ptr<int>> Half(int number) {
  if (number % 2 != 0) return MakeStatus(StatusCode::kNotFound, "%d has no half", number);
  return std::make_unique<int>(number / 2);
}

StatusOr<int> Quarter(int number) {
  HBBP_ASSIGN_OR_RETURN(std::unique_ptr<int> half, Half(number));
  HBBP_ASSIGN_OR_RETURN(half, Half(*half));
  return *half;
}

TEST_CASE("the assignment macro declares, assigns, moves and passes failure on") {
  CHECK(*Quarter(12) == 3);
  const StatusOr<int> failed = Quarter(6);
  CHECK_FALSE(failed.ok());
  CHECK(failed.status().code() == StatusCode::kNotFound);
  CHECK(failed.status().message() == "3 has no half");
}

TEST_CASE("a value can be moved out") {
  StatusOr<std::unique_ptr<int>> value = Half(8);
  REQUIRE(value.ok());
  CHECK(value.status().ok());
  CHECK(**value == 4);
  std::unique_ptr<int> owned = *std::move(value);
  CHECK(*owned == 4);
  StatusOr<std::string> text = std::string("abc");
  CHECK(text->size() == 3);
}

}  // namespace
}  // namespace hbbp
