import type { Attack } from '../attack.js';
import type { Copy } from '../copy.js';
import type { AttackLab } from '../lab.js';
import { TUBES } from '../workload.js';

/**
 * Stores everything that it has read again, on all nodes: while it waits, after the revokes and the moves, in the middle, and twice
 * when all is over. Meanwhile it takes copies and lets them go again.
 */
export const replay: Attack = {
  number: 3,
  name: 'replay',
  what: 'all copies stored again on all nodes: immediately, and after the revoke, the move and the run; copies taken and released',
  passes: 'no job runs twice, none after a revoke, none at its old time',
  jobs: 1_500,
  smallJobs: 240,
  async run(lab) {
    await lab.startApplication();
    const { times, attacker } = lab;
    const copies = await lab.waitingCopies();
    await storeAgain(lab, copies);
    await lab.until(times.at(0.25)); // by then some are revoked and some moved
    const moved = await lab.waitingCopies();
    await Promise.all([takeAndRelease(lab), storeAgain(lab, copies)]);
    await lab.until(times.at(0.6));
    await storeAgain(lab, copies);
    await lab.allRan();
    for (let twice = 0; twice < 2; twice++) await storeAgain(lab, [...copies, ...moved]);
    // These wait for an hour as before.
    const victims = lab.victimsIn(TUBES[0]);
    await storeAgain(lab, victims);
    attacker.staying += victims.length * attacker.nodeCount;
    return {};
  },
};

async function storeAgain({ attacker }: AttackLab, copies: readonly Copy[]): Promise<void> {
  for (const tube of TUBES) {
    const bodies = copies.filter((copy) => copy.tube === tube).map(({ body }) => body);
    await attacker.store(tube, bodies, { valid: true });
  }
}

/** Takes copies that are due on each node, and hands them back in each way. */
async function takeAndRelease(lab: AttackLab): Promise<void> {
  const { attacker } = lab;
  for (let node = 0; node < attacker.nodeCount; node++) {
    const hand = await attacker.hand(node, TUBES[0]);
    for (let i = 0; i < lab.pick(6, 60); i++) {
      const copy = await hand.take(1);
      if (!copy) continue;
      if (i % 3 === 0) await hand.tell(`release ${copy.id} 0 0`);
      else if (i % 3 === 1) await hand.tell(`release ${copy.id} 4294967295 1`);
      else await hand.tell(`bury ${copy.id} 0`, `kick-job ${copy.id}`);
    }
    hand.close();
  }
}
