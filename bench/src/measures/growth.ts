import { percentile } from 'test-servers';
import { apart } from '../apart.js';
import { drainRound } from '../drain-round.js';
import { row } from '../figures.js';
import { latenessRound } from '../lateness-round.js';
import type { Measure } from '../measure.js';
import { addResidents } from '../residents.js';
import { alternate, type Rounds } from '../rounds.js';
import { scheduleRound } from '../schedule-round.js';
import { withServers, type Places } from '../servers.js';
import { withClient, withSystem, type System } from '../systems/system.js';

/** With a million other jobs, a figure may be worse by this factor. */
const SLOWER = 1.5;
const LATENESS_RATE = 2_000;

export const growth: Measure = {
  name: 'growth',
  title: 'with other jobs waiting on the same servers, beside fresh servers; 3 copies',
  run: ({ rounds, pick }) =>
    withServers(3, async ({ places }) => {
      const residents = pick(1_000_000, 50_000);
      await fill(places, residents);
      const onBoth = (act: Act, amount: number) =>
        alternate(rounds(2), {
          ours: () => figureOf(act, amount, places),
          empty: () => figureOf(act, amount),
        });
      const schedules = await onBoth('schedule', pick(30_000, 5_000));
      const drains = await onBoth('drain', pick(20_000, 4_000));
      const lates = await onBoth('lateness', pick(5, 2));
      const compared = (what: string, { ours, empty }: Record<'ours' | 'empty', Rounds<number>>) => ({
        what: `${what}, beside ${residents.toLocaleString('en-US')} others`,
        ours,
        beside: empty,
        besideName: 'fresh',
      });
      return [
        row({
          ...compared('schedule', schedules),
          unit: 'jobs/s',
          target: { of: 'ratio', least: 1 / SLOWER },
        }),
        row({ ...compared('drain', drains), unit: 'jobs/s', target: { of: 'ratio', least: 1 / SLOWER } }),
        row({
          ...compared('lateness at 2,000/s: p99', lates),
          unit: 'ms',
          target: { of: 'ratio', most: SLOWER },
        }),
      ];
    }),
};

type Act = 'schedule' | 'drain' | 'lateness';

const ACTS: Readonly<Record<Act, (system: System, amount: number) => Promise<number>>> = {
  schedule: async (system, jobs) => (await scheduleRound(system, jobs)).jobsPerSecond,
  drain: async (system, jobs) => (await drainRound(system, jobs)).jobsPerSecond,
  lateness: async (system, seconds) =>
    percentile((await latenessRound(system, { rate: LATENESS_RATE, seconds, handler: 0 })).samples, 0.99),
};

/** Of so many jobs, or seconds. `places`: the servers. @default new ones */
export const figureOf = apart(import.meta.url, 'figureOf', (act: Act, amount: number, places?: Places) => {
  const round = (system: System) => ACTS[act](system, amount);
  return places ? withClient('nest-dq', places, round) : withSystem('nest-dq', round);
});

export const fill = apart(import.meta.url, 'fill', (places: Places, residents: number) =>
  withClient('nest-dq', places, ({ client }) => addResidents(client, residents)),
);
