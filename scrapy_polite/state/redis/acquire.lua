-- Grants turns.
-- KEYS[2..]: hosts.  ARGV[10..]: limit; then for each host 1 when the holder knows of no turn of his
-- there, so that one whose grant he never heard of is granted again.
-- Returns for each host {1, token, state} or {0, seconds to wait, why}.
local limit, granted, answers = tonumber(ARGV[10]), 0, {'ok', text(now)}
for i = 2, #KEYS do
    local due, state, held_by = look(KEYS[i])
    local is_his = held_by == holder and ARGV[9 + i] == '1'
    local answer
    if closed > 0 then
        answer = {0, text(closed), 'closed'}
    elseif held_by and not is_his then
        answer = {0, '1', 'leased'}
    elseif due > now then
        answer = {0, text(due - now), 'not due'}
    elseif granted >= limit then
        answer = {0, '0', 'not due'}
    else
        granted = granted + 1
        answer = {1, grant(KEYS[i]), state}
    end
    answers[i + 1] = answer
end
return answers
