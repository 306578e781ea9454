-- Returns how many requests of a host are queued.  KEYS[1]: the queue.  ARGV[1]: the host.
local queue, host, count = KEYS[1], ARGV[1], 0
for _, lane in ipairs(redis.call('HKEYS', queue .. ':lanes:' .. host)) do
    count = count + redis.call('ZCARD', queue .. ':of:' .. host .. ' ' .. lane)
end
return count
