-- Returns the record at KEYS[2], nil without one; it is kept for ARGV[10] more seconds.
local record = redis.call('GET', KEYS[2])
if record then
    keep(KEYS[2], tonumber(ARGV[10]))
end
return {'ok', text(now), record}
