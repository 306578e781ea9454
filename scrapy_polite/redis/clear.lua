-- Drops all requests, unless other workers are at it.
-- KEYS[1]: the queue.  ARGV: the worker, ttl.
-- Returns how many other workers were heard of within a ttl; with any, nothing is dropped.
local queue, now = KEYS[1], redis.call('TIME')[1]
local workers = redis.call('ZRANGEBYSCORE', queue .. ':workers', now - ARGV[2], '+inf')
local others = 0
for _, worker in ipairs(workers) do
    others = others + (worker == ARGV[1] and 0 or 1)
end
if others > 0 then
    return others
end
for _, host in ipairs(redis.call('ZRANGE', queue .. ':due', 0, -1)) do
    for _, lane in ipairs(redis.call('HKEYS', queue .. ':lanes:' .. host)) do
        redis.call('DEL', queue .. ':of:' .. host .. ' ' .. lane)
    end
    redis.call('DEL', queue .. ':lanes:' .. host)
end
for _, worker in ipairs(redis.call('ZRANGE', queue .. ':workers', 0, -1)) do
    redis.call('DEL', queue .. ':taken:' .. worker)
end
redis.call('DEL', queue .. ':due', queue .. ':left', queue .. ':workers', queue .. ':kept')
return 0
