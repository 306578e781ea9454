-- Tells whether nothing is left but requests of hosts that are left alone for long.
-- KEYS[1]: the queue.  ARGV: how many seconds are long; hosts that the worker asks no more.
-- Returns hosts, their requests, and seconds until the first is due; nothing when there is more.
local queue, clock = KEYS[1], redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local due, soon = queue .. ':due', string.format('%.6f', now + ARGV[1])
for _, worker in ipairs(redis.call('ZRANGE', queue .. ':workers', 0, -1)) do
    if redis.call('EXISTS', queue .. ':taken:' .. worker) == 1 then
        return {}
    end
end
local others = redis.call('ZCOUNT', due, '-inf', soon)
for i = 2, #ARGV do
    local due_at = redis.call('ZSCORE', due, ARGV[i])
    others = others - (due_at and tonumber(due_at) <= tonumber(soon) and 1 or 0)
end
local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
if others > 0 or not first then
    return {}
end
local wait = string.format('%.6f', math.max(first - now, 0))
return {redis.call('ZCARD', due), redis.call('GET', queue .. ':left'), wait}
