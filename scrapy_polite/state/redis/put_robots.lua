-- Keeps the record ARGV[10] at KEYS[2] for ARGV[11] seconds.
redis.call('SET', KEYS[2], ARGV[10], 'EX', ARGV[11])
return {'ok', text(now)}
