-- Queues what an earlier run kept, unless other workers are at it, whose run this is then.
-- KEYS[1]: the queue.  ARGV: the worker, ttl.
-- Returns how many requests are queued again.
local queue, clock = KEYS[1], redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local workers = redis.call('ZRANGEBYSCORE', queue .. ':workers', now - ARGV[2], '+inf')
for _, worker in ipairs(workers) do
    if worker ~= ARGV[1] then
        return 0
    end
end
local kept = redis.call('HVALS', queue .. ':kept')
for _, packed in ipairs(kept) do
    local host, lane, score, request = unpack(cmsgpack.unpack(packed))
    redis.call('ZADD', queue .. ':of:' .. host .. ' ' .. lane, score, request)
    redis.call('HSETNX', queue .. ':lanes:' .. host, lane, string.format('%.6f', now))
    redis.call('ZADD', queue .. ':due', string.format('%.6f', now), host)
    redis.call('INCR', queue .. ':left')
end
redis.call('DEL', queue .. ':kept')
return #kept
