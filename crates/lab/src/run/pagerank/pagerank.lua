-- One iteration of PageRank over all nodes, inside of the server.
local nodes = tonumber(ARGV[1])
local sums = {}
for node = 0, nodes - 1 do sums[node] = 0 end
for node = 0, nodes - 1 do
  local neighbours = redis.call('GET', 'n:' .. node)
  if neighbours and #neighbours > 0 then
    local rank = tonumber(redis.call('GET', 'r:' .. node))
    local list = {}
    for other in string.gmatch(neighbours, '%d+') do list[#list + 1] = tonumber(other) end
    local share = rank / #list
    for i = 1, #list do sums[list[i]] = sums[list[i]] + share end
  end
end
for node = 0, nodes - 1 do
  redis.call('SET', 'r:' .. node, string.format('%.17g', 0.15 + 0.85 * sums[node]))
end
return nodes
