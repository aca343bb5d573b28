import type { StoredTube } from '../src/api/tube.js';

/** A stored tube by its name. */
export const stored = (name: string): StoredTube => name as StoredTube;
