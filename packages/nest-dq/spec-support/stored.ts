import type { StoredTube } from '../src/api/tube.js';

/** The stored name of a tube, written out. */
export const stored = (name: string): StoredTube => name as StoredTube;
