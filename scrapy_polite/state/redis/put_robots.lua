-- Keeps the record ARGV[10] at KEYS[2] for ARGV[11] seconds; with NX only where there is none.
redis.call('SET', KEYS[2], ARGV[10], 'EX', unpack(ARGV, 11))
return {'ok', text(now)}
