/** For scripts that look up a position in a sorted set with many members of equal score. */
export const RANKS: string = `
-- Compares bytes, like the order of a sorted set. The operator < would depend on the server's locale.
local function isLess(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end
`;
