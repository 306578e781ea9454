-- Keeps requests for a next run: no worker has them, and none waits for them.
-- KEYS[1]: the queue.  ARGV: the worker, and the numbers of his requests.
-- They are in :kept, number -> as in :taken; see shelf.lua.
local taken = KEYS[1] .. ':taken:' .. ARGV[1]
for i = 2, #ARGV do
    local request = redis.call('HGET', taken, ARGV[i])
    if request then
        redis.call('HSET', KEYS[1] .. ':kept', ARGV[i], request)
        redis.call('HDEL', taken, ARGV[i])
        redis.call('DECR', KEYS[1] .. ':left')
    end
end
return 0
