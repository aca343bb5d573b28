import { PRELUDE } from './prelude.lua.js';

/**
 * Asks the time, as a call that is refused wherever a claim is (no memory, a replica, a failing disk), yet writes
 * nothing: SETRANGE of an empty text. KEYS: a key of the tube that is no record.
 */
export const PROBE: string = `${PRELUDE}
call('SETRANGE', KEYS[1], 0, '')
return { 1, us }
`;
