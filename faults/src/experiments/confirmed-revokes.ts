import type { Revocation } from '../log.js';
import { atLeast, type Experiment } from '../experiment.js';

const CONSUMERS = 3;
/** Milliseconds. A copy that a consumer held asks the ledger within this time of the loss. */
const LOOKED_FOR = 3_000;

/**
 * A backlog of a tube with all limits, so that consumers always hold copies that they may not run. Twice, all of it is revoked: first job
 * by job with `confirmed`, then by `revokeMany`. Right after the answers the ledger loses everything.
 */
export const confirmedRevokes: Experiment = {
  number: 28,
  name: 'confirmed-revokes',
  what: 'FLUSHALL right after confirmed revokes, and after revokeMany, of a backlog that limits hold back',
  passes: 'no start of a job that was revoked; what ran at that instant may run again',
  jobs: 3_000,
  smallJobs: 200,
  async run(lab) {
    lab.limit = { rate: lab.pick(4, 50), concurrency: 10, perGroup: 1 };
    const producer = await lab.begin(CONSUMERS);
    const half = Math.floor(lab.jobs / 2);
    /** Adds a backlog, revokes it once some of it ran, and lets the ledger lose everything. Resolves with how many were revoked. */
    const round = async (revoke: (jobs: readonly number[]) => Promise<Revocation[]>) => {
      const added = await producer.addMany(half, (i) => ({
        due: Date.now(),
        acts: [{ ms: 100 }],
        options: { group: `user-${i % 20}` },
      }));
      const begun = lab.open();
      await lab.eventually('some of the backlog ran', () => lab.open() < begun);
      const revoked = (await revoke(added.map(({ job }) => job))).filter(
        ({ answer }) => answer === 'revoked',
      );
      await lab.withRedis((redis) => redis.flushall());
      await lab.until(Date.now() + LOOKED_FOR);
      return revoked.length;
    };

    const revoked = [
      await round((jobs) => producer.revokeMany(jobs, { confirmed: true })),
      await round(() => producer.revokeAll()),
    ];

    return {
      found: await lab.settle(),
      checks: revoked.map((count) => atLeast('revoked', count, Math.floor(half / 2))),
    };
  },
};
