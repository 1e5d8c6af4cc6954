#!/bin/sh
# Checks a profile against limits, and against the profile of the code before a change.
#
# usage: check_profile.sh LIMITS BEFORE AFTER
#
# Fails if an assertion of the file LIMITS fails of AFTER, or if a function has more or fewer of all instructions than
# BEFORE, by more than SHARE (2%). What errors leave undecided is a warning. In GitHub Actions these are annotations, and
# the tables are in the summary of the job.
set -u
limits=$1 before=$2 after=$3
share=${SHARE:-2%}
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
status=0

# note KIND TEXT: KIND is error or warning.
note() {
  if [ "${GITHUB_ACTIONS:-}" = true ]; then echo "::$1 title=Profile::$2"; else echo "$1: $2"; fi
}

# check TITLE COMMAND...
check() {
  title=$1
  shift
  table=$("$@" 2>&1)
  result=$?
  echo "$table"
  # shellcheck disable=SC2016 # these are the quotes of Markdown
  printf '### %s\n```\n%s\n```\n' "$title" "$table" >> "$summary"
  case $result in
    0) ;;
    1) note error "$title: no"; [ "$status" -eq 2 ] || status=1 ;;
    3) note warning "$title: this cannot be decided within the errors" ;;
    *) note error "$title: $(echo "$table" | tail -n 1)"; status=2 ;;
  esac
}

check "The profile satisfies $limits" hbbp assert "$after" --from "$limits" --strict
check "No function changed by more than $share of all instructions" \
  hbbp diff "$before" "$after" --by function --fail-above "$share" --strict
exit $status
