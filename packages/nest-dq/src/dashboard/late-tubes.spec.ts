import { expect, it } from '@jest/globals';
import type { Forecast } from '../operate/forecast.js';
import type { TubeView } from '../operate/tube-view.js';
import { lateTubes } from './late-tubes.js';

const at = (minute: number) => new Date(minute * 60_000);
const HOUR = { edges: [at(0), at(60)] };
const late = (from: number) => [{ from: at(from), to: at(from + 5), upTo: 60_000 }];

function inspectorOf(tubes: Readonly<Record<string, Partial<TubeView> & Pick<Forecast, 'late'>>>) {
  const asked: string[] = [];
  return {
    asked,
    tubes: async () => ({
      tubes: Object.entries(tubes).map(([tube, view]) => ({ tube, ...view }) as unknown as TubeView),
      more: false,
      away: [],
    }),
    forecast: async (tube: unknown) => {
      asked.push(String(tube));
      return { overdue: 0, buckets: [], late: tubes[String(tube)]!.late };
    },
  };
}

it('names the tubes that will be late, by the first time', async () => {
  const inspector = inspectorOf({
    second: { waiting: 50, late: late(20) },
    prompt: { waiting: 100, late: [] },
    first: { due: 10, late: late(10) },
  });
  expect(await lateTubes(inspector, HOUR)).toEqual([
    { tube: 'first', late: late(10) },
    { tube: 'second', late: late(20) },
  ]);
});

it('asks for the ten tubes with the most jobs, and for none without', async () => {
  const tubes = Array.from({ length: 12 }, (_, i) => [`t${i}`, { listed: 10 * i, late: [] }] as const);
  const inspector = inspectorOf(Object.fromEntries([...tubes, ['unread', { late: [] }] as const]));
  expect(await lateTubes(inspector, HOUR)).toEqual([]);
  expect(inspector.asked).toEqual(['t11', 't10', 't9', 't8', 't7', 't6', 't5', 't4', 't3', 't2']);
});

it('refuses wrong edges, even without a tube', async () => {
  await expect(lateTubes(inspectorOf({}), { edges: [at(1)] })).rejects.toThrow(/^DQ_BAD_OPTION/);
});
