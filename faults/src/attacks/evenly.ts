import { atPace } from '../waiting.js';
import type { Storing } from './attacker.js';
import type { AttackLab } from './lab.js';
import type { TubeName } from './workload.js';

const PARTS = 50;

/** Stores these bodies evenly over the window of the workload. `how`: the options of each of the PARTS parts. */
export async function storeEvenly(
  { attacker, times, signal }: AttackLab,
  tube: TubeName,
  bodies: readonly string[],
  how: (part: number) => Storing = () => ({}),
): Promise<void> {
  const size = Math.ceil(bodies.length / PARTS);
  await atPace(PARTS, { from: times.begin, to: times.end, signal }, (part) =>
    attacker.store(tube, bodies.slice(part * size, (part + 1) * size), how(part)),
  );
}
