-- Tables of the profiles of many hosts, for ClickHouse 18.16 (Debian 12) and newer. Code is known by build ID and offset:
-- module and function are attributes of it. A module without build ID has its path instead. `start` is that of hbbp blocks.

-- A row for each profile. A service is the program, here the first word of its command.
CREATE TABLE profiles (
  profile UInt32, day Date, host String, service String, duration_ns UInt64, recordings UInt64
) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (day, service, host);

-- A row for each block with a count in a profile: what hbbp export --format csv writes, without what is of the code.
CREATE TABLE blocks (
  day Date, service String, build_id String, start UInt64, profile UInt32,
  count Float64,           -- executions
  standard_error Float64,  -- of one profile
  samples UInt64
) ENGINE = MergeTree PARTITION BY toYYYYMM(day) ORDER BY (service, build_id, start, day);

-- The same, added up: what is kept when partitions of `blocks` are dropped. Queries must add up, as rows are merged later.
CREATE MATERIALIZED VIEW blocks_by_day (
  day Date, service String, build_id String, start UInt64,
  count Float64, errors Float64, variances Float64, samples UInt64, profiles UInt64
) ENGINE = SummingMergeTree PARTITION BY toYYYYMM(day) ORDER BY (service, build_id, start, day)
AS SELECT day, service, build_id, start, sum(count) AS count, sum(standard_error) AS errors,
  sum(standard_error * standard_error) AS variances, sum(samples) AS samples, count() AS profiles
FROM blocks GROUP BY day, service, build_id, start;

-- A row for each block of any profile. Builds do not change, so that it does not grow with profiles.
CREATE TABLE code (
  build_id String, start UInt64, end UInt64, module String, function String, instructions UInt32
) ENGINE = ReplacingMergeTree ORDER BY (build_id, start);

-- How many instructions of which kind a block has: hbbp mix --by block,mnemonic,category, divided by executions of the block.
CREATE TABLE block_instructions (
  build_id String, start UInt64, mnemonic String, category String, number Float64
) ENGINE = ReplacingMergeTree ORDER BY (build_id, start, mnemonic, category);
