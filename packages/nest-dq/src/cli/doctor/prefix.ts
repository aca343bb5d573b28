import type { ProcessRecord } from '../../fleet/presence.js';
import { PREFIX_ADVICE, unknownPrefix } from '../unknown-prefix.js';
import { type Check, warning } from './check.js';
import type { NodeFacts } from './nodes.js';

/** Warns if nothing has the prefix although the nodes have tubes with others: it may be wrong, and all else looks well then. */
export function checkPrefix(
  nodes: readonly NodeFacts[],
  prefix: string,
  processes: readonly ProcessRecord[],
): Check[] {
  if (processes.length > 0 || nodes.some(({ tubes }) => tubes.size > 0)) return [];
  const fact = unknownPrefix(prefix, new Set(nodes.flatMap(({ otherTubes }) => otherTubes)));
  return fact === undefined ? [] : [warning('prefix', fact, PREFIX_ADVICE)];
}
