import { PRELUDE } from './prelude.lua.js';

/**
 * Copies that are gone for good. KEYS: dead letters, the records. Arguments, three for each: generation,
 * mask, unknown.
 */
export const SETTLE: string = `${PRELUDE}
for i = 1, #KEYS - 2 do
  local a = i * 3 - 2
  settle(KEYS[i + 2], args[a], args[a + 1], args[a + 2])
end
return { 1, us }
`;
