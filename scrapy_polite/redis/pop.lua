-- Takes requests of hosts that are due, with their turns; follows shelf.lua.
-- ARGV[10..]: prefix of host keys; most requests; how many turns have ended, and for each host and
-- seconds until it is due; how many requests are done with, and their numbers; '' or how many
-- requests the worker knows of, and their numbers, when answers to him were lost.
-- Returns requests left, seconds until the next look, requests of a dead worker that are back; then
-- for each request {number, host, token, state, request}, the token '' for a host without clock.
local MOST_BACK = 500  -- requests that are put back at once
local LOOKS = 4  -- hosts that are looked at for each request
local LEASED_LEAST, LEASED_MOST = 0.05, 1  -- seconds until a leased host is looked at again

local at = 9
local function argument()
    at = at + 1
    return ARGV[at]
end
local prefix, limit = argument(), tonumber(argument())

for _ = 1, tonumber(argument()) do
    local host, seconds = argument(), argument()
    redis.call('ZADD', hosts_due, 'XX', text(now + seconds), host)
end
for _ = 1, tonumber(argument()) do
    if redis.call('HDEL', taken_by(holder), argument()) == 1 then
        redis.call('DECR', queue .. ':left')
    end
end
local count = tonumber(argument())
if count then
    local known = {}
    for _ = 1, count do
        known[argument()] = true
    end
    for _, number in ipairs(redis.call('HKEYS', taken_by(holder))) do
        if not known[number] then
            put_back(holder, number, 0)
        end
    end
end

redis.call('ZADD', workers, text(now), holder)
local back = 0
local dead = redis.call('ZRANGEBYSCORE', workers, '-inf', text(gone_before()), 'LIMIT', 0, 1)[1]
if dead then
    for _, number in ipairs(redis.call('HKEYS', taken_by(dead))) do
        if back == MOST_BACK then
            break
        end
        put_back(dead, number, 0)
        back = back + 1
    end
    if back < MOST_BACK then
        redis.call('ZREM', workers, dead)
    end
end

local found = {}
local function look_at(host)
    local key = prefix .. host
    local due, state, held_by = look(key)
    local lane, until_at = next_lane(host)
    if not lane then
        redis.call('ZADD', hosts_due, text(until_at), host)
    elseif host == '' then
        local number, request = take(host, lane)
        found[#found + 1] = {number, host, '', '', request}
    elseif held_by then
        local held_for = now - redis.call('HGET', key, 'granted')
        local again = math.min(math.max(held_for, LEASED_LEAST), LEASED_MOST)
        redis.call('ZADD', hosts_due, text(now + again), host)
    elseif due > now then
        redis.call('ZADD', hosts_due, text(due), host)
    else
        redis.call('ZADD', hosts_due, text(now + LEASED_LEAST), host)
        local number, request = take(host, lane)
        found[#found + 1] = {number, host, grant(key), state, request}
    end
end

if limit > 0 and closed <= 0 then
    local hosts = redis.call('ZRANGEBYSCORE', hosts_due, '-inf', text(now), 'LIMIT', 0, LOOKS * limit)
    for _, host in ipairs(hosts) do
        if #found == limit then
            break
        end
        look_at(host)
    end
end
local first = redis.call('ZRANGE', hosts_due, 0, 0, 'WITHSCORES')[2]
local next = first and math.max(first - now, closed, 0) or -1
local left = redis.call('GET', queue .. ':left') or '0'
return {'ok', text(now), left, text(next), back, unpack(found)}
