-- Grants turns.
-- KEYS[2..]: hosts.  ARGV[7..]: limit, charge factor, charge least, charge most; then for each host
-- 1 when the holder knows of no turn of his there, so that one whose grant he never heard of is
-- granted again.
-- Returns for each host {1, token, state} or {0, seconds to wait, why}.
local limit = tonumber(ARGV[7])
local factor, least, most = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local token = math.max(last_token, math.floor(now * 1000000))
local granted, answers = 0, {'ok', text(now)}

local function has_lapsed(beat)
    return closed <= 0 and awake + 2 * heartbeat <= now and beat + ttl <= now
end

-- The fetch of a turn that lapsed is taken to have lasted until the heartbeat that did not come.
local function charged(due, granted_at, beat)
    local ended = beat + heartbeat
    local wait = math.min(math.max(factor * math.max(ended - granted_at, 0), least), most)
    return math.max(due, ended + wait)
end

for i = 2, #KEYS do
    local host = redis.call('HMGET', KEYS[i], 'due', 'state', 'holder', 'granted', 'beat')
    local due, held_by = tonumber(host[1] or 0), host[3]
    if held_by == holder and ARGV[9 + i] == '1' then
        held_by = false
    elseif held_by and has_lapsed(host[5]) then
        due, held_by = charged(due, host[4], host[5]), false
        redis.call('HSET', KEYS[i], 'due', text(due))
        redis.call('HDEL', KEYS[i], 'holder')
    end
    local answer
    if closed > 0 then
        answer = {0, text(closed), 'closed'}
    elseif held_by then
        answer = {0, '1', 'leased'}
    elseif due > now then
        answer = {0, text(due - now), 'not due'}
    elseif granted >= limit then
        answer = {0, '0', 'not due'}
    else
        granted, token = granted + 1, token + 1
        local name = string.format('%.0f', token)
        redis.call('HSET', KEYS[i], 'holder', holder, 'token', name,
            'granted', text(now), 'beat', text(now))
        keep(KEYS[i], turn_kept)
        answer = {1, name, host[2] or ''}
    end
    answers[i + 1] = answer
end
if granted > 0 then
    write_token(token)
end
return answers
