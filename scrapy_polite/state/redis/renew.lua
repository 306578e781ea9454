-- Shows the holder of turns alive.
-- KEYS[2..]: hosts.  ARGV[10..]: each turn's token.
-- Returns 1 for each turn that is his still, else 0.
local answers = {'ok', text(now)}
for i = 2, #KEYS do
    local host = redis.call('HMGET', KEYS[i], 'holder', 'token')
    local ours = host[1] and host[2] == ARGV[8 + i]
    if ours then
        redis.call('HSET', KEYS[i], 'beat', text(now))
        keep(KEYS[i], turn_kept)
    end
    answers[i + 1] = ours and 1 or 0
end
return answers
