-- Has an epoch grant turns at once.
redis.call('HSET', KEYS[1], 'closed_until', '0')
return {'ok', text(now)}
