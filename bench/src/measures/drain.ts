import { row } from '../figures.js';
import { GO_QUEUE, goQueueIfHere } from '../go-queue/program.js';
import { goDrainRate } from '../go-queue/tube.js';
import type { Measure, Unit } from '../measure.js';
import { drainRate } from '../product-rates.js';
import { alternate } from '../rounds.js';

export const drain: Measure = {
  name: 'drain',
  title:
    "jobs due at one moment, 3 copies, 256 handlers at once that only count, until the last one runs; and go-queue's dq, which runs one job of each node at a time",
  run: async ({ rounds, pick }) => {
    const jobs = pick(20_000, 4_000);
    const program = await goQueueIfHere();
    const { ours, peer, go } = await alternate(rounds(5), {
      ours: () => drainRate('nest-dq', jobs),
      peer: () => drainRate('BullMQ', jobs),
      ...(program !== undefined && { go: () => goDrainRate(program, jobs) }),
    });
    const unit: Unit = 'jobs/s';
    const what = `${jobs.toLocaleString('en-US')} jobs`;
    return [
      row({ what, unit, ours, beside: peer, target: { of: 'ratio', least: 2.5 } }),
      ...(go ? [row({ what, unit, ours, beside: go, besideName: GO_QUEUE })] : []),
    ];
  },
};
