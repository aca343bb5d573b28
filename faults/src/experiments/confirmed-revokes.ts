import type { Revocation } from '../log.js';
import { atLeast, type Experiment } from '../experiment.js';
import { runsDuring } from '../measures.js';

const CONSUMERS = 3;
/** Milliseconds. A copy that a consumer held asks the ledger within this time of the loss. */
const LOOKED_FOR = 3_000;
/** Milliseconds. If a run ended so shortly before the loss, its copies may not be deleted yet, and it may run again. */
const JUST_ENDED = 1_000;

/**
 * A backlog of a tube with all limits, so that consumers always hold copies that they may not run. Twice, all of it is revoked: first job
 * by job with `confirmed`, then by `revokeMany`. Right after the answers the ledger loses everything.
 */
export const confirmedRevokes: Experiment = {
  number: 28,
  name: 'confirmed-revokes',
  what: 'FLUSHALL right after confirmed revokes, and after revokeMany, of a backlog held back by limits',
  passes: 'no revoked job starts; what was running at that moment may run again',
  jobs: 3_000,
  smallJobs: 200,
  async run(lab) {
    lab.limit = { rate: lab.pick(4, 50), concurrency: 10, perGroup: 1 };
    const producer = await lab.begin(CONSUMERS);
    const half = Math.floor(lab.jobs / 2);
    const losses: { readonly from: number; readonly to: number }[] = [];
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
      const from = Date.now() - JUST_ENDED;
      await lab.withRedis((redis) => redis.flushall());
      losses.push({ from, to: Date.now() });
      await lab.until(Date.now() + LOOKED_FOR);
      return revoked.length;
    };

    const revoked = [
      await round((jobs) => producer.revokeMany(jobs, { confirmed: true })),
      await round(() => producer.revokeAll()),
    ];

    const found = await lab.settle();
    const inFlight = new Set(
      losses.flatMap(({ from, to }) => runsDuring(lab.history, from, to)).map(({ job }) => job),
    );
    const wasRevoked = (job: number) =>
      lab.history.of(job).revocations.some(({ answer }) => answer === 'revoked');
    return {
      found: {
        ...found,
        ranAfterRevoke: found.ranAfterRevoke.filter(({ job }) => wasRevoked(job) || !inFlight.has(job)),
      },
      checks: revoked.map((count) => atLeast('revoked', count, Math.floor(half / 2))),
    };
  },
};
