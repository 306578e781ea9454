-- How a queue is kept; follows prelude.lua.  KEYS[2]: the queue.
--   :of:HOST   requests of a host by score; each begins with its number, so equals go in order
--   :due       hosts that have requests, by an instant before which none of theirs can go
--   :taken:W   number -> {host, score, request} of requests that worker W has and is not done with
--   :workers   workers by when they were last heard of
--   :left      how many requests are not done with
local queue = KEYS[2]
local hosts_due, workers = queue .. ':due', queue .. ':workers'

local function of(host)
    return queue .. ':of:' .. host
end

local function taken_by(worker)
    return queue .. ':taken:' .. worker
end

-- Takes the next request of a host off the shelf; returns its number and itself.
local function take(host)
    local found = redis.call('ZPOPMIN', of(host))
    local number = string.sub(found[1], 1, 16)
    redis.call('HSET', taken_by(holder), number, cmsgpack.pack({host, found[2], found[1]}))
    if redis.call('EXISTS', of(host)) == 0 then
        redis.call('ZREM', hosts_due, host)
    end
    return number, string.sub(found[1], 18)
end

-- Puts a request back to where it was; its host may be looked at in so many seconds.
local function put_back(worker, number, seconds)
    local kept = redis.call('HGET', taken_by(worker), number)
    if kept then
        local host, score, request = unpack(cmsgpack.unpack(kept))
        redis.call('HDEL', taken_by(worker), number)
        redis.call('ZADD', of(host), score, request)
        redis.call('ZADD', hosts_due, text(now + seconds), host)
    end
end
