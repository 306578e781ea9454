-- Puts requests back to where they were; follows shelf.lua.
-- ARGV[10..]: for each request its number, and seconds for which its lane is held.
for i = 10, #ARGV, 2 do
    put_back(holder, ARGV[i], ARGV[i + 1])
end
return {'ok', text(now)}
