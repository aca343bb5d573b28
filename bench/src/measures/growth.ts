import { percentile } from 'test-servers';
import { apart } from '../apart.js';
import { row } from '../figures.js';
import { latenessRound } from '../lateness-round.js';
import type { Measure } from '../measure.js';
import { bothRounds, type Rates, type Sizes } from '../product-rates.js';
import { addResidents } from '../residents.js';
import { alternate } from '../rounds.js';
import { withServers, type Places } from '../servers.js';
import { withClient, withSystem, type System } from '../systems/system.js';

/** With that many other jobs, a figure may be worse by this factor. */
const SLOWER = 1.5;
const LATENESS_RATE = 2_000;

export const growth: Measure = {
  name: 'growth',
  title: 'with other jobs waiting on the same servers, beside fresh servers; 3 copies',
  run: ({ rounds, pick }) =>
    withServers(3, async ({ places }) => {
      const residents = pick(300_000, 50_000);
      await fill(places, residents);
      const amounts = { schedule: pick(30_000, 5_000), drain: pick(20_000, 4_000), seconds: pick(5, 2) };
      const { ours, empty } = await alternate(rounds(2), {
        ours: () => figuresOf(amounts, places),
        empty: () => figuresOf(amounts),
      });
      const compared = (what: string, act: keyof Figures) => ({
        what: `${what}, beside ${residents.toLocaleString('en-US')} others`,
        ours: ours.map((figures) => figures[act]),
        beside: empty.map((figures) => figures[act]),
        besideName: 'fresh',
      });
      return [
        row({
          ...compared('schedule', 'schedule'),
          unit: 'jobs/s',
          target: { of: 'ratio', least: 1 / SLOWER },
        }),
        row({ ...compared('drain', 'drain'), unit: 'jobs/s', target: { of: 'ratio', least: 1 / SLOWER } }),
        row({
          ...compared('lateness at 2,000/s: p99', 'lateness'),
          unit: 'ms',
          target: { of: 'ratio', most: SLOWER },
        }),
      ];
    }),
};

interface Figures extends Rates {
  /** The 99th percentile, in ms. */
  readonly lateness: number;
}

/** The jobs of two acts, and how long the lateness is measured. */
interface Amounts extends Sizes {
  readonly seconds: number;
}

/** `places`: the servers. @default new ones */
export const figuresOf = apart(import.meta.url, 'figuresOf', (amounts: Amounts, places?: Places) => {
  const round = async (system: System): Promise<Figures> => {
    const { samples } = await latenessRound(system, {
      rate: LATENESS_RATE,
      seconds: amounts.seconds,
      handler: 0,
    });
    const { schedule, drain } = await bothRounds(system, amounts);
    return {
      schedule: schedule.jobsPerSecond,
      drain: drain.jobsPerSecond,
      lateness: percentile(samples, 0.99),
    };
  };
  return places ? withClient('nest-dq', places, round) : withSystem('nest-dq', round);
});

export const fill = apart(import.meta.url, 'fill', (places: Places, residents: number) =>
  withClient('nest-dq', places, ({ client }) => addResidents(client, residents)),
);
