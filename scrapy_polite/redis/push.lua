-- Queues a request.
-- KEYS[1]: the queue.  ARGV: host; score, lower goes first; request; channel.
-- Returns how many requests are not done with.
local queue, host = KEYS[1], ARGV[1]
local number = redis.call('INCR', queue .. ':number')
redis.call('ZADD', queue .. ':of:' .. host, ARGV[2], string.format('%016.0f:', number) .. ARGV[3])
if redis.call('ZADD', queue .. ':due', 'NX', 0, host) == 1 then
    redis.call('PUBLISH', ARGV[4], '')
end
return redis.call('INCR', queue .. ':left')
