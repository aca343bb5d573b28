import { ensureGoQueue, percentile } from 'test-servers';
import { row } from '../figures.js';
import { GoQueueTube } from '../go-queue/tube.js';
import { backlogRound, nestTube, type RoundTube } from '../go-queue/rounds.js';
import type { Measure, Row } from '../measure.js';
import { alternate } from '../rounds.js';

/** Jobs a second, spread evenly. */
const RATE = 400;
const NAME = 'go-queue';

export const goQueue: Measure = {
  name: 'go-queue',
  title:
    "against go-queue's dq in Go, on three nodes: adds, a backlog, lateness; and a shared tube, whose jobs are stored as go-queue does and adopted",
  run: async ({ rounds, pick }) => {
    const program = await ensureGoQueue();
    if (program === undefined) throw new Error('There is no Go on this machine, so nothing is compared.');
    const one = pick(5_000, 1_000);
    const many = pick(50_000, 4_000);
    const due = pick(20_000, 2_000);
    const seconds = pick(5, 2);
    const contenders = {
      ours: () => nestTube(undefined, round),
      shared: () => nestTube('go-queue', round),
      go: () => GoQueueTube.use(program, round),
    };
    const { ours, shared, go } = await alternate(rounds(5), contenders);

    async function round(tube: RoundTube) {
      return {
        sequential: await tube.add(one, 1),
        atOnce: await tube.add(many, 256),
        backlog: await backlogRound(tube, due),
        late: await tube.lateness(RATE, seconds),
      };
    }
    type Round = Awaited<ReturnType<typeof round>>;
    const compared = (what: string, of: (round: Round) => number, unit: Row['unit'], own = ours) =>
      row({ what, unit, ours: own.map(of), beside: go.map(of), besideName: NAME });
    const late = (part: number) => (round: Round) => percentile(round.late, part);
    const early = ({ late }: Round) => late.filter((ms) => ms < 0).length;
    const rowsOf = (name: string, own: Round[]) => [
      compared(`${name}adds one by one`, ({ sequential }) => sequential, 'jobs/s', own),
      compared(`${name}adds, 256 in flight`, ({ atOnce }) => atOnce, 'jobs/s', own),
      compared(`${name}backlog of ${due.toLocaleString('en-US')}`, ({ backlog }) => backlog, 'jobs/s', own),
      compared(`${name}lateness at ${RATE}/s: p50`, late(0.5), 'ms', own),
      compared(`${name}lateness at ${RATE}/s: p99`, late(0.99), 'ms', own),
      compared(`${name}lateness at ${RATE}/s: early`, early, 'jobs', own),
    ];
    return [...rowsOf('', ours), ...rowsOf('shared tube: ', shared)];
  },
};
