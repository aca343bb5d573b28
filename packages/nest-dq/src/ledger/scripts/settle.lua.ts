import { PRELUDE } from './prelude.lua.js';

/**
 * Copies that are gone for good. KEYS: dead letters, the records. ARGV after the common ones, three for each: generation,
 * mask, unknown.
 */
export const SETTLE: string = `${PRELUDE}
for i = 1, #KEYS - 2 do
  local a = 5 + (i - 1) * 3
  settle(KEYS[i + 2], tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]))
end
return { 1, us }
`;
