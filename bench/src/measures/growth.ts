import { drainRound } from '../drain-round.js';
import { percentile } from 'test-servers';
import { row } from '../figures.js';
import { latenessRound } from '../lateness-round.js';
import type { Measure } from '../measure.js';
import { addResidents } from '../residents.js';
import { alternate } from '../rounds.js';
import { scheduleRound } from '../schedule-round.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type System } from '../systems/system.js';

/** With a million other jobs, a figure may be worse by this factor. */
const SLOWER = 1.5;

export const growth: Measure = {
  name: 'growth',
  title: 'with other jobs waiting on the same servers, beside fresh servers; 3 copies',
  run: async ({ rounds, pick }) => {
    const residents = pick(1_000_000, 50_000);
    const load = { rate: 2_000, seconds: pick(5, 2), handler: 0 };
    return withSystem(nestDq, async (full) => {
      await addResidents(full.client, residents);
      const onBoth = <T>(round: (system: System) => Promise<T>) =>
        alternate(rounds(2), { ours: () => round(full), empty: () => withSystem(nestDq, round) });
      const schedules = await onBoth(
        async (system) => (await scheduleRound(system, pick(30_000, 5_000))).jobsPerSecond,
      );
      const drains = await onBoth(
        async (system) => (await drainRound(system, pick(20_000, 4_000))).jobsPerSecond,
      );
      const late = await onBoth(async (system) =>
        percentile((await latenessRound(system, load)).samples, 0.99),
      );
      const compared = (what: string, { ours, empty }: { ours: number[]; empty: number[] }) => ({
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
          ...compared('lateness at 2,000/s: p99', late),
          unit: 'ms',
          target: { of: 'ratio', most: SLOWER },
        }),
      ];
    });
  },
};
