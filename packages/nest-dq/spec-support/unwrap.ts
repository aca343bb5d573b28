import type { StoredTube } from '../src/api/tube.js';
import { unwrap as unwrapIn } from '../src/copies/formats/unwrap.js';
import type { Envelope } from '../src/copies/header.js';

/** Reads a copy that is not sealed, of whatever tube. */
export function unwrap(body: Buffer): Envelope | string {
  return unwrapIn(body, 'whichever' as StoredTube, undefined);
}
