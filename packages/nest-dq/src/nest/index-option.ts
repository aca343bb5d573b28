import { show, unknownName } from '../errors.js';
import { wrong } from './option-checks.js';

/** Default for jobs per tube. */
const MAX_INDEXED = 1_000_000;
const MAX_EVER = 100_000_000;

/** Returns the max number of listed jobs per tube; 0 for none, as without servers. `DQ_CONFIG`. */
export function resolveIndex(given: unknown, hasServers: boolean): number {
  const most = mostOf(given);
  return hasServers ? most : 0;
}

function mostOf(given: unknown): number {
  if (typeof given === 'boolean') return given ? MAX_INDEXED : 0;
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong('`index`', given, 'true, false, or an object such as { most: 1_000_000 }');
  for (const [name, value] of Object.entries(given)) {
    if (name === 'most' || value === undefined) continue;
    throw unknownName('DQ_CONFIG', `\`index.${name}\` (given ${show(value)})`, ['most']);
  }
  const { most = MAX_INDEXED } = given as { readonly most?: number };
  if (Number.isSafeInteger(most) && most >= 0 && most <= MAX_EVER) return most;
  throw wrong('`index.most`', most, `a whole number from 0 to ${MAX_EVER}`);
}
