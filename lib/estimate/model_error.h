// Adds the error of the model of time (backends/burst_time.h) to what bursts of a clock counted.
//
// A burst of a clock weighs P / T, with the time T that its code takes by a model of the processor.
// The model is wrong by a factor that differs from code to code: too much memory is taken to be
// cached, or a branch to be foreseen. However many bursts there are, that does not become less, and
// their scatter does not show it.
//
// It is assumed that the factor is one for all code of a page of 4 KiB, that those of pages are
// independent, and that their standard deviation is 12 %: with a burst each 2 ms, counts of blocks
// whose error by scatter was below 10 % were off by that much more (docs/internals/method.md). A
// factor that all code of a program shares is left out: it cancels out of shares, and makes all
// counts too high or too low.
//
// So a page of weight W must add (0.12 W)^2 to the variance of each sum that it is a part of, be it
// a block, a function, a mnemonic or a ratio of them. The replicates do that (stream_estimator.h)
// if W e is added to eight of the sixteen and subtracted from the others, with
//
//   G / (G - 1) * G * (W e)^2 = (0.12 W)^2, which is e = 0.12 sqrt(G - 1) / G
//
// Which eight is drawn by the page: a row of a Hadamard matrix, times 1 or -1. Rows of different
// pages are orthogonal, and of those with the same row half have opposite signs: their errors add
// up as independent ones do, in expectation.
//
//   Two pages of weight 1000, and no other error: either has 120, their sum 169.7 if their rows
//   differ; 240 or 0 if not.
#ifndef HBBP_LIB_ESTIMATE_MODEL_ERROR_H_
#define HBBP_LIB_ESTIMATE_MODEL_ERROR_H_

#include <cstdint>

#include "profile/profile_data.h"
#include "profile/stream_sums.h"

namespace hbbp {

// What the model adds to the standard error of the counts of a page, as a fraction of them.
inline constexpr double kModelError = 0.12;

bool IsWeighedByModel(const SourceRecord& source);

// Returns the replicates of a branch of `data`, with the model's error if the source has one.
ReplicateSums ModeledReplicates(const ProfileData& data, const BranchCount& branch);

}  // namespace hbbp

#endif  // HBBP_LIB_ESTIMATE_MODEL_ERROR_H_
