-- Returns the record at KEYS[2], nil without one; it is kept for ARGV[7] more seconds.
local record = redis.call('GET', KEYS[2])
if record then
    keep(KEYS[2], tonumber(ARGV[7]))
end
return {'ok', text(now), record}
