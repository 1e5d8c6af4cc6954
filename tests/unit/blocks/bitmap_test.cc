#include "blocks/bitmap.h"

#include "support/catch.h"

namespace hbbp {
namespace {

TEST_CASE("an empty bitmap finds nothing") {
  const Bitmap empty;
  CHECK(empty.FindAtOrAfter(0) == Bitmap::kNone);
  CHECK(empty.FindAtOrBefore(0) == Bitmap::kNone);
  CHECK(empty.Count(0, 10) == 0);
  CHECK_FALSE(empty.Test(0));
}

TEST_CASE("searches cross words and respect the end") {
  Bitmap bits(200);
  for (const uint32_t position : {3u, 64u, 127u, 199u}) bits.Set(position);
  bits.Set(200);
  CHECK(bits.FindAtOrAfter(0) == 3);
  CHECK(bits.FindAtOrAfter(3) == 3);
  CHECK(bits.FindAtOrAfter(4) == 64);
  CHECK(bits.FindAtOrAfter(128) == 199);
  CHECK(bits.FindAtOrAfter(200) == Bitmap::kNone);
  CHECK(bits.FindAtOrBefore(2) == Bitmap::kNone);
  CHECK(bits.FindAtOrBefore(63) == 3);
  CHECK(bits.FindAtOrBefore(126) == 64);
  CHECK(bits.FindAtOrBefore(10000) == 199);
}

TEST_CASE("Count counts half-open ranges") {
  Bitmap bits(200);
  for (const uint32_t position : {0u, 63u, 64u, 127u, 128u, 199u}) bits.Set(position);
  CHECK(bits.Count(0, 200) == 6);
  CHECK(bits.Count(0, 10000) == 6);
  CHECK(bits.Count(0, 64) == 2);
  CHECK(bits.Count(63, 65) == 2);
  CHECK(bits.Count(64, 128) == 2);
  CHECK(bits.Count(1, 63) == 0);
  CHECK(bits.Count(5, 5) == 0);
}

}  // namespace
}  // namespace hbbp
