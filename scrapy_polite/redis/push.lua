-- Queues requests.
-- KEYS: the queue; the duplicate filter's set.  ARGV: channel; then for each request host, lane,
-- score (lower goes first), request, and what it is marked with in that set, '' for nothing: one
-- that has its mark there is queued already.
local queue, is_news = KEYS[1], false
for i = 2, #ARGV, 5 do
    local host, lane, score, octets, mark = unpack(ARGV, i, i + 4)
    if mark == '' or redis.call('SADD', KEYS[2], mark) == 1 then
        local number = redis.call('INCR', queue .. ':number')
        local request = string.format('%016.0f:', number) .. octets
        redis.call('ZADD', queue .. ':of:' .. host .. ' ' .. lane, score, request)
        if redis.call('HSETNX', queue .. ':lanes:' .. host, lane, 0) == 1 then
            redis.call('ZADD', queue .. ':due', 0, host)
            is_news = true
        end
        redis.call('INCR', queue .. ':left')
    end
end
if is_news then
    redis.call('PUBLISH', ARGV[1], '')
end
return {}
