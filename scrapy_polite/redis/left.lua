-- Returns how many requests no worker is done with.  KEYS[1]: the queue.
return tonumber(redis.call('GET', KEYS[1] .. ':left') or 0)
