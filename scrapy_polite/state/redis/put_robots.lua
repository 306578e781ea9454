-- Keeps the record ARGV[7] at KEYS[2] for ARGV[8] seconds.
redis.call('SET', KEYS[2], ARGV[7], 'EX', ARGV[8])
return {'ok', text(now)}
