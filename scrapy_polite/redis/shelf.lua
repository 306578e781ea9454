-- How a queue is kept; follows prelude.lua.  KEYS[2]: the queue.
--   :of:HOST LANE  requests of a lane by score; each begins with its number, so equals go in order
--   :lanes:HOST    lane -> instant before which it is held, of lanes that have requests
--   :due           hosts that have requests, by an instant before which none of theirs can go
--   :taken:W       number -> {host, lane, score, request} of what worker W has and is not done with
--   :workers       workers by when they were last heard of
--   :left          how many requests are not done with
local queue = KEYS[2]
local hosts_due, workers = queue .. ':due', queue .. ':workers'

local function of(host, lane)
    return queue .. ':of:' .. host .. ' ' .. lane
end

local function lanes_of(host)
    return queue .. ':lanes:' .. host
end

local function taken_by(worker)
    return queue .. ':taken:' .. worker
end

-- Returns the lane that has the next request of a host, false when all are held; and until when
-- the first of them is.
local function next_lane(host)
    local lanes, best, first, until_at = redis.call('HGETALL', lanes_of(host)), false, nil, nil
    for i = 1, #lanes, 2 do
        local held_until = tonumber(lanes[i + 1])
        if held_until > now then
            until_at = math.min(until_at or held_until, held_until)
        else
            local found = redis.call('ZRANGE', of(host, lanes[i]), 0, 0, 'WITHSCORES')
            local score = tonumber(found[2])
            if not best or score < first[1] or score == first[1] and found[1] < first[2] then
                best, first = lanes[i], {score, found[1]}
            end
        end
    end
    return best, until_at
end

-- Takes the next request of a lane off the shelf; returns its number and itself.
local function take(host, lane)
    local found = redis.call('ZPOPMIN', of(host, lane))
    local number = string.sub(found[1], 1, 16)
    redis.call('HSET', taken_by(holder), number, cmsgpack.pack({host, lane, found[2], found[1]}))
    if redis.call('EXISTS', of(host, lane)) == 0 then
        redis.call('HDEL', lanes_of(host), lane)
        if redis.call('EXISTS', lanes_of(host)) == 0 then
            redis.call('ZREM', hosts_due, host)
        end
    end
    return number, string.sub(found[1], 18)
end

-- Puts a request back to where it was; its lane is held for so many seconds.
local function put_back(worker, number, seconds)
    local kept = redis.call('HGET', taken_by(worker), number)
    if kept then
        local host, lane, score, request = unpack(cmsgpack.unpack(kept))
        redis.call('HDEL', taken_by(worker), number)
        redis.call('ZADD', of(host, lane), score, request)
        redis.call('HSET', lanes_of(host), lane, text(now + seconds))
        redis.call('ZADD', hosts_due, text(now), host)
    end
end
