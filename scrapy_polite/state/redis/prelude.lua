-- What every script but enter.lua begins with.
-- KEYS[1]: the epoch.  ARGV: its id as the caller knows it; the time, '' for the server's own;
-- holder, ttl, heartbeat; seconds to keep a turn; charge factor, charge least, charge most.
--
-- An epoch is the time in which nothing was lost.  Another run of the server, or lost data, is
-- another epoch: whoever meets it enters it first, with what he holds (enter.lua, register.lua).
local clock = redis.call('TIME')
local now = tonumber(ARGV[2]) or clock[1] + clock[2] / 1000000
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local epoch = redis.call('HMGET', KEYS[1],
    'id', 'run_id', 'closed_until', 'token', 'heard', 'awake')
if epoch[1] ~= ARGV[1] or epoch[2] ~= run_id then
    return {'moved'}
end

local LONGEST = 4102444800  -- seconds; the most that a key is kept, whatever was asked for
local LATEST = 63115200  -- seconds; a host that is due later was kept so by mistake (two years)
local EPOCH_KEPT = 5184000  -- seconds
local holder, ttl, heartbeat = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local turn_kept = tonumber(ARGV[6])
local last_token = tonumber(epoch[4] or 0)
local closed = tonumber(epoch[3]) - now  -- seconds for which nothing is granted

local function text(number)
    return string.format('%.6f', number)
end

-- Has a key kept for so many seconds at the least.
local function keep(key, seconds)
    local wanted = math.ceil(math.min(seconds, LONGEST) * 1000)
    if redis.call('PTTL', key) < wanted then
        redis.call('PEXPIRE', key, wanted)
    end
end

local function write_token(token)
    last_token = token
    redis.call('HSET', KEYS[1], 'token', string.format('%.0f', token))
end

-- When nobody was heard for two heartbeats, nobody could be: the server slept, or its network did.
-- Then all holders have two heartbeats to show themselves before the turn of one lapses.
local heard, awake = tonumber(epoch[5] or 0), tonumber(epoch[6] or 0)
if now - heard > 2 * heartbeat then
    awake = now
    redis.call('HSET', KEYS[1], 'awake', text(now))
end
if now - heard > heartbeat / 5 then
    redis.call('HSET', KEYS[1], 'heard', text(now))
    redis.call('EXPIRE', KEYS[1], EPOCH_KEPT)
end

-- The fetch of a turn that lapsed is taken to have lasted until the heartbeat that did not come.
local function charged(due, granted_at, beat)
    local ended = beat + heartbeat
    local wait = ARGV[7] * math.max(ended - granted_at, 0)
    return math.max(due, ended + math.min(math.max(wait, tonumber(ARGV[8])), tonumber(ARGV[9])))
end

-- Whether holders that were heard of before this instant are gone.
local function gone_before()
    local can_tell = closed <= 0 and awake + 2 * heartbeat <= now
    return can_tell and now - ttl or -1
end

-- Returns when a host is due, its state, and who has its turn: false for nobody.
local function look(key)
    local host = redis.call('HMGET', key, 'due', 'state', 'holder', 'granted', 'beat')
    local due, held_by = tonumber(host[1] or 0), host[3]
    if due - now > LATEST then
        due = now + ARGV[9]
        redis.call('HSET', key, 'due', text(due))
    end
    if held_by and tonumber(host[5]) <= gone_before() then
        due, held_by = charged(due, host[4], host[5]), false
        redis.call('HSET', key, 'due', text(due))
        redis.call('HDEL', key, 'holder')
    end
    return due, host[2] or '', held_by
end

-- Grants the turn of a host and returns its token.
local function grant(key)
    local token = math.max(last_token, math.floor(now * 1000000)) + 1
    write_token(token)
    local name = string.format('%.0f', token)
    redis.call('HSET', key, 'holder', holder, 'token', name, 'granted', text(now), 'beat', text(now))
    keep(key, turn_kept)
    return name
end
