import { describe, expect, it } from '@jest/globals';
import type { TubeList, TubeView } from '../operate/tube-view.js';
import { timelines } from './reads.js';

const EDGES = [Date.UTC(2030, 0, 1), Date.UTC(2030, 0, 1, 0, 1)];

function inspectorOf(tubes: readonly TubeView[], away: readonly string[] = []) {
  const asked: string[] = [];
  const inspector = {
    tubes: (): Promise<TubeList> => Promise.resolve({ tubes, more: false, away }),
    timeline: (tube: unknown) => {
      asked.push(String(tube));
      return Promise.resolve([{ from: new Date(0), to: new Date(60_000), jobs: 7 }]);
    },
  };
  return { inspector, asked };
}

describe('the timelines of all tubes', () => {
  it('are those with jobs, the largest first', async () => {
    const { inspector, asked } = inspectorOf([
      { tube: 'few', nodes: 3, waiting: 1, due: 0 },
      { tube: 'none', nodes: 3, waiting: 0, due: 0, listed: 0 },
      { tube: 'many', nodes: 3, waiting: 5, due: 4 },
      { tube: 'listed', nodes: 0, listed: 3 },
    ]);
    expect(await timelines(inspector, { edges: EDGES })).toMatchObject({ others: 0, away: [] });
    expect(asked).toEqual(['many', 'listed', 'few']);
  });

  it('have a tube that nobody counted in time: its jobs are unknown, not none', async () => {
    const { inspector } = inspectorOf([{ tube: 'slow', nodes: 0, dead: 0 }], ['a:1']);
    const { tubes, away } = await timelines(inspector, { edges: EDGES });
    expect([tubes.map(({ tube, buckets }) => [tube, buckets[0]!.jobs]), away]).toEqual([
      [['slow', 7]],
      ['a:1'],
    ]);
  });

  it('are refused if no node named its tubes in time, and empty if there are none', async () => {
    await expect(timelines(inspectorOf([], ['a:1']).inspector, { edges: EDGES })).rejects.toMatchObject({
      status: 503,
      code: 'NODES_AWAY',
    });
    const { inspector } = inspectorOf([]);
    expect(await timelines(inspector, { edges: EDGES })).toEqual({ tubes: [], others: 0, away: [] });
  });
});
