-- Enters what a holder knows into an epoch that may not know it: when hosts are due, their states,
-- and turns in hand.
-- KEYS[2..]: hosts.  ARGV[10..]: for each host seconds until it is due, state, seconds since that was
-- told ('' for no state), seconds to keep it, token ('' for no turn in hand), seconds since that was
-- granted.
-- Returns 1 for each host, but 0 where its turn is over or another's.
local answers = {'ok', text(now)}
for i = 2, #KEYS do
    local at = 6 * i - 2
    local age, token = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 4])
    local host = redis.call('HMGET', KEYS[i], 'due', 'told', 'holder', 'token')
    local due = math.max(tonumber(host[1] or 0), now + ARGV[at])
    redis.call('HSET', KEYS[i], 'due', text(due))
    keep(KEYS[i], due - now + ARGV[at + 3])
    if age and now - age > tonumber(host[2] or 0) then
        redis.call('HSET', KEYS[i], 'state', ARGV[at + 1], 'told', text(now - age))
    end
    local last = tonumber(host[4] or 0)
    local lost = token and (last > token or last == token and not host[3])
    if token and not lost then
        redis.call('HSET', KEYS[i], 'holder', holder, 'token', ARGV[at + 4],
            'granted', text(now - ARGV[at + 5]), 'beat', text(now))
        keep(KEYS[i], turn_kept)
        last_token = math.max(last_token, token)
    end
    answers[i + 1] = lost and 0 or 1
end
write_token(last_token)
return answers
