import { ensureGoQueue, percentile } from 'test-servers';
import { row } from '../figures.js';
import { GO_QUEUE } from '../go-queue/program.js';
import { nestRound, type TubeRound } from '../go-queue/rounds.js';
import { goRound } from '../go-queue/tube.js';
import type { Measure, Row, Target } from '../measure.js';
import { alternate, type Rounds } from '../rounds.js';

/** Jobs a second, spread evenly. */
const RATE = 400;

export const goQueue: Measure = {
  name: 'go-queue',
  title:
    "against go-queue's dq in Go, on three nodes: adds, a backlog, lateness; and a shared tube, whose jobs are stored as go-queue does and adopted",
  run: async ({ rounds, pick }) => {
    const program = await ensureGoQueue();
    if (program === undefined) throw new Error('Go is not installed, so nothing is compared.');
    const due = pick(20_000, 2_000);
    const sizes = {
      one: pick(5_000, 1_000),
      many: pick(50_000, 4_000),
      due,
      rate: RATE,
      seconds: pick(5, 2),
    };
    const { ours, shared, go } = await alternate(rounds(5), {
      ours: () => nestRound('nest-dq', sizes),
      shared: () => nestRound("nest-dq, go-queue's tubes", sizes),
      go: () => goRound(program, sizes),
    });
    const compared =
      (name: string, own: Rounds<TubeRound>) =>
      (what: string, unit: Row['unit'], of: (round: TubeRound) => number, target?: Target) =>
        row({
          what: `${name}${what}`,
          unit,
          ours: own.map(of),
          beside: go.map(of),
          besideName: GO_QUEUE,
          ...(target && { target }),
        });
    const late = (part: number) => (round: TubeRound) => percentile(round.late, part);
    const early = ({ late: samples }: TubeRound) => samples.filter((ms) => ms < 0).length;
    const rowsOf = (name: string, own: Rounds<TubeRound>, oneByOne?: Target) => {
      const of = compared(name, own);
      return [
        of('adds one by one', 'jobs/s', ({ sequential }) => sequential, oneByOne),
        of('adds, 256 in flight', 'jobs/s', ({ atOnce }) => atOnce),
        of(`backlog of ${due.toLocaleString('en-US')}`, 'jobs/s', ({ backlog }) => backlog),
        of(`lateness at ${RATE}/s: p50`, 'ms', late(0.5)),
        of(`lateness at ${RATE}/s: p99`, 'ms', late(0.99)),
        of(`lateness at ${RATE}/s: early`, 'jobs', early),
      ];
    };
    return [...rowsOf('', ours, { of: 'ratio', least: 1.2 }), ...rowsOf('shared tube: ', shared)];
  },
};
