-- Ends turns.  A turn is never moved forward, and a stale one only pushes the next turn back.
-- KEYS[2..]: hosts.  ARGV[10..]: for each host token, seconds until it is due ('' for a turn that was
-- not used), state, seconds to keep the state.
-- Returns 1 for each turn that was the caller's, else 0.
local answers = {'ok', text(now)}
for i = 2, #KEYS do
    local at = 4 * i + 2
    local token, delay = ARGV[at], tonumber(ARGV[at + 1])
    local host = redis.call('HMGET', KEYS[i], 'due', 'holder', 'token')
    local ours = host[2] and host[3] == token
    if delay then
        local due = math.max(tonumber(host[1] or 0), now + delay)
        redis.call('HSET', KEYS[i], 'due', text(due))
        if ours then
            redis.call('HSET', KEYS[i], 'state', ARGV[at + 2], 'told', text(now))
        end
        keep(KEYS[i], due - now + ARGV[at + 3])
    end
    if ours then
        redis.call('HDEL', KEYS[i], 'holder')
    end
    answers[i + 1] = ours and 1 or 0
end
return answers
