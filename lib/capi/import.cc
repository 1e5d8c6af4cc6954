#include <hbbp/import.h>

#include <string>
#include <utility>

#include "base/files.h"
#include "capi/boundary.h"
#include "capi/host_handle.h"
#include "capi/import_files.h"
#include "capi/kept_bursts.h"
#include "capi/profile_access.h"
#include "capi/slice_option.h"
#include "collect/perf_config.h"
#include "collect/perf_import.h"

using hbbp::EbsMethod;
using hbbp::MakeStatus;
using hbbp::OkStatus;
using hbbp::PerfImportOptions;
using hbbp::Status;
using hbbp::StatusCode;
using hbbp::capi::CheckReserved;
using hbbp::capi::Guard;
using hbbp::capi::NullArgument;
using hbbp::capi::ReadFiles;
using hbbp::capi::ReadInput;

static_assert(static_cast<int>(EbsMethod::kAuto) == HBBP_EBS_AUTO);
static_assert(static_cast<int>(EbsMethod::kPlain) == HBBP_EBS_PLAIN);
static_assert(static_cast<int>(EbsMethod::kIpPlusOne) == HBBP_EBS_IP_PLUS_ONE);

namespace {

Status Translate(const hbbp_import_options& given, PerfImportOptions* options) {
  HBBP_RETURN_IF_ERROR(CheckReserved("hbbp_import_options.reserved", given.reserved));
  HBBP_RETURN_IF_ERROR(CheckReserved("hbbp_import_options.reserved2", given.reserved2));
  if (given.binary != nullptr) options->binary = hbbp::AbsolutePath(given.binary);
  HBBP_RETURN_IF_ERROR(ReadFiles("hbbp_profile_import", given.root, given.moved_files,
                                 given.moved_file_count, &options->files));
  if (given.ebs_method < HBBP_EBS_AUTO || given.ebs_method > HBBP_EBS_IP_PLUS_ONE) {
    return MakeStatus(StatusCode::kInvalidArgument,
                      "hbbp_profile_import: ebs_method is %d; use one of HBBP_EBS_*",
                      given.ebs_method);
  }
  HBBP_RETURN_IF_ERROR(hbbp::capi::CheckSlice("hbbp_import_options", given.slice_ns));
  options->files.slice_ns = given.slice_ns;
  HBBP_RETURN_IF_ERROR(
      hbbp::capi::ReadKeptDetail("hbbp_import_options", given.kept_burst_bytes, &options->files));
  options->ebs_method = static_cast<EbsMethod>(given.ebs_method);
  return hbbp::capi::ReadHost("hbbp_import_options", given, options);
}

}  // namespace

HBBP_API hbbp_status hbbp_profile_import(const char* path, const hbbp_import_options* options,
                                         const hbbp_work_options* work, hbbp_profile** profile,
                                         hbbp_error* error) {
  return Guard(error, [&]() -> Status {
    if (path == nullptr) return NullArgument("hbbp_profile_import", "path");
    if (profile == nullptr) return NullArgument("hbbp_profile_import", "profile");
    PerfImportOptions chosen;
    chosen.files.perf_cache = hbbp::PerfBuildIdDirectory();
    if (options != nullptr) {
      hbbp_import_options full;
      HBBP_RETURN_IF_ERROR(ReadInput(options, "hbbp_import_options", &full));
      HBBP_RETURN_IF_ERROR(Translate(full, &chosen));
    }
    HBBP_ASSIGN_OR_RETURN(chosen.work, hbbp::capi::ReadWork(work));
    // Short recordings end before their first report, which also checks the flag.
    HBBP_RETURN_IF_ERROR(chosen.work.Check());
    HBBP_ASSIGN_OR_RETURN(hbbp::ProfileData data, hbbp::ImportRecording(path, chosen));
    *profile = hbbp::capi::NewProfile(std::move(data));
    return OkStatus();
  });
}
