import { expect, it } from '@jest/globals';
import type { StoredTube } from '../api/tube.js';
import type { WaitingJob, WaitingList } from '../ledger/waiting/waiting-jobs.js';
import { WaitingWalk } from './waiting-walk.js';

/** Jobs due at these times; `undefined` is an entry whose job is done. */
type Due = readonly (number | undefined)[];

/** Lists whose pages have two entries; an entry that is done is due in its place, in tenths. */
function walkOf(tubes: Readonly<Record<string, Due>>, pages: number) {
  const page = async (tube: StoredTube, { after }: { readonly after?: { readonly due: number } }) => {
    const entries = tubes[tube]!.map((due, i) => ({ due: due ?? i / 10, isDone: due === undefined }));
    const left = entries.filter(({ due }) => after === undefined || due > after.due);
    const last = left[1];
    const list: WaitingList = {
      jobs: left
        .slice(0, 2)
        .filter(({ isDone }) => !isDone)
        .map(({ due }) => ({ id: `${tube}${due}`, due }) as WaitingJob),
      ...(left.length > 2 && { next: { due: last!.due, id: `${tube}${last!.due}` } }),
    };
    return list;
  };
  return new WaitingWalk({ page }, { limit: 2 }, pages);
}

async function rest(walk: WaitingWalk): Promise<number[]> {
  const dues: number[] = [];
  for (let next = await walk.next(); next; next = await walk.next()) dues.push(next.job.due);
  return dues;
}

it('has the jobs of all tubes in order, past pages without a job', async () => {
  const walk = walkOf({ a: [undefined, undefined, undefined, 3, 5], b: [1, 2, 4] }, 10);
  await walk.begin(['a', 'b'] as StoredTube[], undefined);
  expect(await rest(walk)).toEqual([1, 2, 3, 4, 5]);
  expect(walk.goesOn).toBe(false);
});

it('ends where it may read no page, and continues from there without leaving out a job', async () => {
  const tubes = { a: [undefined, undefined, undefined, 3, 5], b: [1, 2, 4] };
  const names = ['a', 'b'] as StoredTube[];
  const dues: number[] = [];
  let position: WaitingWalk['position'];
  let walks = 0;
  for (let goesOn = true; goesOn; walks++) {
    const walk = walkOf(tubes, 0);
    await walk.begin(names, position);
    dues.push(...(await rest(walk)));
    ({ position, goesOn } = walk);
  }
  expect(dues).toEqual([1, 2, 3, 4, 5]);
  expect(walks).toBeGreaterThan(1);
});
