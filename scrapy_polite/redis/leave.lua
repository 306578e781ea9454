-- A worker is done with all that it has, and goes.
-- KEYS[1]: the queue.  ARGV[1]: the worker.
local taken = KEYS[1] .. ':taken:' .. ARGV[1]
redis.call('DECRBY', KEYS[1] .. ':left', redis.call('HLEN', taken))
redis.call('DEL', taken)
redis.call('ZREM', KEYS[1] .. ':workers', ARGV[1])
