import { PRELUDE } from './prelude.lua.js';

/**
 * Copies that are gone for good. KEYS: dead letters, the records. Arguments, three for each: generation,
 * mask, unknown.
 */
export const SETTLE: string = `${PRELUDE}
settleAll(3, 1)
return { 1, us }
`;
