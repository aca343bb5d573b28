import { describe, expect, it } from '@jest/globals';
import { LastCauses } from './last-causes.js';
import type { Problems, TubeProblem } from './problems.js';
import type { TubeView } from './tube-view.js';

const DOWN: Problems['cluster'] = [{ code: 'ledger-down', level: 'failure', cause: 'refused' }];

function problem(tube: string, code: TubeProblem['code'], more: Partial<TubeProblem> = {}): TubeProblem {
  return { tube, code, level: 'warning', jobs: 3, due: 3, ...more };
}

function looking() {
  const causes = new LastCauses();
  return (
    now: number,
    tubes: readonly TubeProblem[],
    more: {
      cluster?: Problems['cluster'];
      blind?: string[];
      uncounted?: string[];
      gone?: string[];
      away?: string[];
      settling?: boolean;
    } = {},
  ) => {
    const { cluster = [], blind = [], uncounted = [], gone = [], away = [], settling = false } = more;
    const views: TubeView[] = ['a', 'b', 'c']
      .filter((tube) => !gone.includes(tube))
      .map((tube) => ({
        tube,
        nodes: 1,
        ...(!uncounted.includes(tube) && { waiting: 3, due: 0 }),
        ...(cluster.length === 0 && !blind.includes(tube) && { dead: 0, consumers: 0 }),
      }));
    const list = { tubes: views, more: false, away };
    return causes.look({ cluster, tubes }, { tubes: list, now, settling }).tubes;
  };
}

describe('the last causes', () => {
  it('stay with their age and figures while the ledger is down, next to what is known without it', () => {
    const look = looking();
    const lost = problem('a', 'no-consumer', { jobs: 300, due: 0, trend: 'steady' });
    expect(look(1, [lost])).toEqual([lost]);
    const { trend: _trend, ...kept } = lost;
    const effects = [
      problem('a', 'ledger-down', { jobs: 6 }),
      problem('b', 'ledger-down', { level: 'note' }),
    ];
    for (const now of [2, 3])
      expect(look(now, effects, { cluster: DOWN })).toEqual([{ ...kept, asOf: new Date(1) }, effects[1]]);
    expect(look(4, [])).toEqual([]);
    expect(look(5, [], { cluster: DOWN })).toEqual([]);
  });

  it('stay for a tube of which the ledger alone says nothing', () => {
    const look = looking();
    const paused = problem('a', 'paused', { level: 'note' });
    look(1, [paused, problem('b', 'behind')]);
    expect(look(2, [], { blind: ['a'] })).toEqual([{ ...paused, asOf: new Date(1) }]);
  });

  it('stay for a tube whose jobs the nodes counted too slowly, and for one that only nodes have that are away', () => {
    const look = looking();
    const lost = [problem('a', 'no-consumer'), problem('b', 'no-consumer')];
    expect(look(1, lost)).toEqual(lost);
    const kept = lost.map((each) => ({ ...each, asOf: new Date(1) }));
    expect(look(2, [], { uncounted: ['a'], gone: ['b'], away: ['n:1'] })).toEqual(kept);
    expect(look(3, [lost[0]!])).toEqual([lost[0]]);
  });

  it('go with their tube', () => {
    const look = looking();
    look(1, [problem('a', 'paused')]);
    expect(look(2, [], { gone: ['a'] })).toEqual([]);
  });

  it('that only processes can confirm stay until they have announced themselves again', () => {
    const look = looking();
    const lost = problem('a', 'no-consumer');
    look(1, [lost, problem('b', 'paused')]);
    look(2, [], { cluster: DOWN });
    const settling = problem('c', 'settling', { level: 'note' });
    const unsure = [problem('a', 'settling', { level: 'note' }), settling];
    expect(look(3, unsure, { settling: true })).toEqual([lost, settling]);
    const more = problem('a', 'settling', { level: 'note', jobs: 400, due: 7 });
    expect(look(3, [more], { settling: true })).toEqual([{ ...lost, jobs: 400, due: 7 }]);
    expect(look(4, [], { settling: true })).toEqual([{ ...lost, asOf: new Date(1) }]);
    expect(look(5, [lost])).toEqual([lost]);
  });
});
