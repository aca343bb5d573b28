import type { Attack } from '../attack.js';
import { identityOf, isPrimary, withDue, withSiblings, type Copy } from '../copy.js';
import { atPace } from '../../waiting.js';
import { TUBES } from '../workload.js';

const TUBE = TUBES[0];
/** Places in one list. A header takes no more copies than 31. */
const NAMED = 30;

/** Primaries that name copies of others as their siblings, which the library deletes at the end of a run or a revoke. */
export const siblings: Attack = {
  number: 5,
  name: 'siblings',
  what: 'primaries that name foreign copies as siblings: from the same tube, other tubes, another prefix',
  passes: 'all are rejected, and no foreign copy is deleted',
  jobs: 3_000,
  smallJobs: 240,
  async run(lab) {
    await lab.startApplication();
    const primaries = (await lab.waitingCopies()).filter((copy) => copy.tube === TUBE && isPrimary(copy));
    const named = await Promise.all(lab.victims.map((victim) => lab.attacker.placeOf(victim)));
    const { begin: from, end: to } = lab.times;
    const rounds = lab.pick(20, 200);
    await atPace(rounds, { from, to, signal: lab.signal }, async (round) => {
      const first = (round * NAMED) % named.length;
      const places = [...named.slice(first), ...named].slice(0, NAMED);
      await lab.attacker.store(TUBE, forgeries(primaries[round % primaries.length]!, round, places));
    });
    await lab.allRan();
    for (const [i, primary] of primaries.entries())
      await lab.attacker.store(TUBE, forgeries(primary, i, named));
    return {};
  },
};

/** Copies that name these places: of a job of its own, and of one that waits, runs or is over. */
function forgeries(real: Copy, round: number, places: readonly string[]): string[] {
  const now = Date.now();
  const { id, due } = identityOf(real);
  const l = places.slice(0, NAMED).map((place, i) => [i + 1, place]);
  const dq1 = (fields: object) =>
    `dq1 ${JSON.stringify({ n: l.length + 1, i: 0, l, ...fields })}\n{"job":"forged"}`;
  return [
    dq1({ id: `forged-${round}`, due: now }),
    dq1({ id, due }),
    dq1({ id, due: now }),
    withSiblings(real.body, places),
    withDue(withSiblings(real.body, places), now),
  ];
}
