-- name: merged
-- The merged profile. Counts add up. The standard error of a sum is about the first of the last two numbers if the errors
-- of profiles are independent, as those of samples are, and up to the second if they are the same, as those of a model.
SELECT build_id, start, sum(count) AS sum, sqrt(sum(variances)) AS error_if_independent, sum(errors) AS error_at_most
FROM blocks_by_day GROUP BY build_id, start ORDER BY build_id, start

-- name: mix
-- Instructions of the fleet, by mnemonic.
SELECT mnemonic, sum(count * number) AS instructions
FROM (SELECT build_id, start, mnemonic, category, any(number) AS number FROM block_instructions
  GROUP BY build_id, start, mnemonic, category)
ALL INNER JOIN (SELECT build_id, start, sum(count) AS count FROM blocks_by_day GROUP BY build_id, start)
USING (build_id, start)
GROUP BY mnemonic ORDER BY instructions DESC, mnemonic

-- name: functions
-- Where the fleet spends its instructions.
SELECT any(module) AS file, function, sum(count * instructions) AS executed
FROM (SELECT build_id, start, sum(count) AS count FROM blocks_by_day GROUP BY build_id, start)
ALL INNER JOIN (SELECT build_id, start, any(module) AS module, any(function) AS function,
  any(instructions) AS instructions FROM code GROUP BY build_id, start) USING (build_id, start)
GROUP BY build_id, function ORDER BY executed DESC LIMIT 8

-- name: services
-- Each service: on how many hosts, and how many instructions a second of a profile.
SELECT service, uniq(host) AS hosts, sum(executed) / sum(duration_ns) * 1e9 AS instructions_per_second
FROM profiles ALL INNER JOIN (
  SELECT profile, sum(count * instructions) AS executed FROM blocks
  ALL INNER JOIN (SELECT build_id, start, any(instructions) AS instructions FROM code GROUP BY build_id, start)
  USING (build_id, start) GROUP BY profile) USING (profile)
GROUP BY service ORDER BY hosts DESC, service
