import { row } from '../figures.js';
import { GO_QUEUE, goQueueIfHere } from '../go-queue/program.js';
import { goScheduleRate } from '../go-queue/tube.js';
import type { Measure } from '../measure.js';
import { scheduleRate } from '../product-rates.js';
import { alternate, type Rounds } from '../rounds.js';

export const schedule: Measure = {
  name: 'schedule',
  title:
    "adds of delayed jobs, 256 in flight, until the last is acknowledged, against queue.add with delay; and against go-queue's dq, which stores three copies, too",
  run: async ({ rounds, pick }) => {
    const jobs = pick(100_000, 5_000);
    const program = await goQueueIfHere();
    const { three, two, one, peer, go } = await alternate(rounds(5), {
      three: () => scheduleRate('nest-dq', jobs, 3),
      two: () => scheduleRate('nest-dq', jobs, 2),
      one: () => scheduleRate('nest-dq', jobs, 1),
      peer: () => scheduleRate('BullMQ', jobs),
      ...(program !== undefined && { go: () => goScheduleRate(program, jobs) }),
    });
    const compared = (what: string, ours: Rounds<number>, least: number) =>
      row({ what, unit: 'jobs/s', ours, beside: peer, target: { of: 'ratio', least } });
    return [
      compared('3 copies', three, 2),
      compared('2 copies', two, 2),
      compared('1 copy', one, 3.5),
      ...(go
        ? [row({ what: '3 copies', unit: 'jobs/s', ours: three, beside: go, besideName: GO_QUEUE })]
        : []),
    ];
  },
};
