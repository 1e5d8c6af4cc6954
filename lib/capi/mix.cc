#include "mix/mix.h"

#include <hbbp/mix.h>

#include <utility>

#include "capi/analysis_handle.h"
#include "capi/boundary.h"
#include "capi/host_handle.h"

using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::Status;
using hbbp::StatusCode;
using namespace hbbp::capi;  // NOLINT(google-build-using-namespace): C functions are global

static_assert(HBBP_NO_INDEX == hbbp::kNoIndex);

struct hbbp_mix {
  hbbp::Mix mix;
};

namespace {

hbbp_mix_row GetRow(const hbbp_mix& mix, size_t index) {
  const hbbp::MixRow& found = mix.mix.rows[index];
  HBBP_INIT(hbbp_mix_row, row);
  row.module = found.module;
  row.function = found.function;
  row.thread = found.thread;
  row.slice = found.slice;
  // The names are interned C strings.
  row.mnemonic =
      found.mnemonic == hbbp::Mnemonic::kInvalid ? "" : MnemonicName(found.mnemonic).data();
  row.instructions = found.instructions;
  row.standard_error = found.standard_error;
  row.share = mix.mix.total > 0 ? found.instructions / mix.mix.total : 0;
  return row;
}

}  // namespace

extern "C" {

HBBP_API hbbp_status hbbp_mix_create(const hbbp_analysis* analysis, hbbp_mix_keys keys,
                                     const hbbp_work_options* work, hbbp_mix** mix,
                                     hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (analysis == nullptr) return NullArgument("hbbp_mix_create", "analysis");
    if (mix == nullptr) return NullArgument("hbbp_mix_create", "mix");
    constexpr hbbp_mix_keys kAll = HBBP_MIX_BY_MNEMONIC | HBBP_MIX_BY_MODULE |
                                   HBBP_MIX_BY_FUNCTION | HBBP_MIX_BY_THREAD | HBBP_MIX_BY_SLICE;
    if ((keys & ~kAll) != 0) {
      return MakeStatus(StatusCode::kInvalidArgument,
                        "hbbp_mix_create: keys 0x%x has a key that libhbbp %s does not know", keys,
                        HBBP_VERSION_STRING);
    }
    if (keys == 0) keys = HBBP_MIX_BY_MNEMONIC;
    hbbp::MixKeys asked;
    asked.mnemonic = (keys & HBBP_MIX_BY_MNEMONIC) != 0;
    asked.module = (keys & HBBP_MIX_BY_MODULE) != 0;
    asked.function = (keys & HBBP_MIX_BY_FUNCTION) != 0;
    asked.thread = (keys & HBBP_MIX_BY_THREAD) != 0;
    asked.slice = (keys & HBBP_MIX_BY_SLICE) != 0;
    HBBP_ASSIGN_OR_RETURN(const hbbp::Work chosen, ReadWork(work));
    HBBP_ASSIGN_OR_RETURN(const auto subject, analysis->SubjectFor(NeedsOf(asked), chosen));
    HBBP_ASSIGN_OR_RETURN(hbbp::Mix computed, ComputeMix(subject, asked));
    *mix = new hbbp_mix{std::move(computed)};
    return OkStatus();
  });
}

HBBP_API void hbbp_mix_destroy(hbbp_mix* mix) { delete mix; }

HBBP_API size_t hbbp_mix_row_count(const hbbp_mix* mix) {
  return mix == nullptr ? 0 : mix->mix.rows.size();
}

HBBP_API double hbbp_mix_total(const hbbp_mix* mix) { return mix == nullptr ? 0 : mix->mix.total; }

HBBP_API hbbp_status hbbp_mix_copy_rows(const hbbp_mix* mix, size_t first, size_t count,
                                        size_t size, hbbp_mix_row* rows, size_t* copied,
                                        hbbp_error* error) {
  return CopyHandleList({"hbbp_mix_copy_rows", "hbbp_mix_row", "rows"}, "mix", mix,
                        hbbp_mix_row_count(mix), {first, count, size}, rows, copied, error,
                        &GetRow);
}

}  // extern "C"
