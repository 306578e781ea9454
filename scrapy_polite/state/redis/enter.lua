-- Finds out the epoch, and begins another one after a restart or a loss of data.
-- KEYS[1]: the epoch.  ARGV: id for a new one; the time, '' for the server's own; seconds for which
-- a new one grants nothing.
-- Returns id, now, closed_until, uptime, whether this run of the server began as a replica.
local clock = redis.call('TIME')
local now = tonumber(ARGV[2]) or clock[1] + clock[2] / 1000000
local info = redis.call('INFO', 'server')
local run_id = string.match(info, 'run_id:(%x+)')
local uptime = string.match(info, 'uptime_in_seconds:(%d+)')
local former = string.match(redis.call('INFO', 'replication'), 'master_replid2:(%x+)')
local known = redis.call('HMGET', KEYS[1], 'id', 'run_id', 'closed_until')
if known[2] ~= run_id then
    known = {ARGV[1], run_id, string.format('%.6f', now + ARGV[3])}
    redis.call('HSET', KEYS[1], 'id', known[1], 'run_id', run_id, 'closed_until', known[3])
end
redis.call('EXPIRE', KEYS[1], 5184000)
local promoted = former and string.find(former, '[^0]') and 1 or 0
return {known[1], string.format('%.6f', now), known[3], uptime, promoted}
