import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import type { SeriesView } from '../operate/series-view.js';
import { TubeWatch } from './tube-watch.js';

function watched() {
  const clock = new VirtualClock();
  const is = { elected: true };
  let looks = 0;
  const watch = new TubeWatch({
    clock,
    elected: () => is.elected,
    look: async () => ({
      tubes: [{ tube: 'mail', nodes: 3, due: (looks += 1) }],
      redis: [{ address: 'r:6379', up: true, memory: 1_000 }],
    }),
  });
  return { clock, is, watch, looks: () => looks };
}

describe('TubeWatch', () => {
  it('asks the servers every 15 s, and not at each call', async () => {
    const { clock, watch, looks } = watched();
    expect(watch.tubes()).toBeUndefined();
    await clock.advance(0);
    for (let i = 0; i < 3; i++) expect(watch.tubes()).toMatchObject([{ due: 1 }]);
    expect(watch.redis()).toMatchObject([{ memory: 1_000 }]);
    await clock.advance(14_999);
    expect(looks()).toBe(1);
    await clock.advance(1);
    expect(watch.tubes()).toMatchObject([{ due: 2 }]);
  });

  it('asks nothing before the first call, and nothing once it is closed', async () => {
    const { clock, watch, looks } = watched();
    await clock.advance(60_000);
    expect(looks()).toBe(0);
    watch.tubes();
    watch.close();
    await clock.advance(60_000);
    expect(looks()).toBe(1);
  });

  it('asks nothing and reports nothing while another process is elected, and nothing old after that', async () => {
    const { clock, is, watch, looks } = watched();
    watch.tubes();
    await clock.advance(0);
    is.elected = false;
    expect(watch.tubes()).toBeUndefined();
    await clock.advance(60_000);
    expect(looks()).toBe(1);
    is.elected = true;
    expect(watch.tubes()).toBeUndefined();
    await clock.advance(1_000);
    expect(watch.tubes()).toMatchObject([{ due: 2 }]);
  });

  it('keeps the series as they were while the ledger does not answer', async () => {
    const clock = new VirtualClock();
    const report = { tube: 'report' } as SeriesView;
    const answers: (readonly SeriesView[] | undefined)[] = [[report], undefined, []];
    const look = async () => ({ tubes: [], redis: [], series: answers.shift() });
    const watch = new TubeWatch({ clock, elected: () => true, look });
    expect(watch.series()).toBeUndefined();
    await clock.advance(0);
    expect(watch.series()).toEqual([report]);
    await clock.advance(15_000);
    expect(watch.series()).toEqual([report]);
    await clock.advance(15_000);
    expect(watch.series()).toEqual([]);
  });
});
