import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CollectingHub } from '../../spec-support/collecting-hub.js';
import { embedded } from '../../spec-support/producing.js';
import { DqError } from '../errors.js';
import { LocalSeriesPlans } from '../fleet/local-series-plans.js';
import type { DelayedJob } from '../api/job.js';
import type { PlanTexts } from '../fleet/series-plans.js';
import { Again } from '../api/outcome.js';
import { isOccurrence, SeriesKeeper } from './series-keeper.js';
import { readEntry } from './series-plan.js';

const MINUTE = 60_000;
const FIVE_MINUTES = 5 * MINUTE;
const PLAN = { spec: '{"tube":"t","every":300000}', payload: '' };
const REF = { tube: 't', key: 'series:a' };

let world: Awaited<ReturnType<typeof embedded>>;
let plans: LocalSeriesPlans;
let warnings: string[];
let keepers: SeriesKeeper[];

beforeEach(async () => {
  world = await embedded();
  plans = new LocalSeriesPlans(() => world.clock.wall());
  [warnings, keepers] = [[], []];
});

afterEach(async () => {
  await Promise.all(keepers.map((keeper) => keeper.close()));
});

function keeperOf(over: Partial<LocalSeriesPlans> = {}) {
  const events = new CollectingHub();
  const warn = (message: string) => void warnings.push(message);
  const given = Object.assign(Object.create(plans) as LocalSeriesPlans, over);
  const parts = { plans: given, producer: world.producer, events, clock: world.clock, warn };
  const keeper = new SeriesKeeper({ ...parts, prefix: '', used: () => undefined });
  keepers.push(keeper);
  return { keeper, events };
}

const job = () => world.producer.find(REF);
const upsert = async (plan: PlanTexts = PLAN) => (await plans.upsert('a', plan)).entry;
const dueIn = async () => ((await job())!.dueAt.getTime() - world.clock.wall()) / MINUTE;

describe('a series whose process died', () => {
  it('after its upsert gets its job from another process, within 45 s', async () => {
    await upsert();
    keeperOf().keeper.start();
    await world.clock.advance(45_000);
    expect(await dueIn()).toBe(5 - 0.75);
  });

  it('after an upsert whose first time has passed meanwhile runs it late', async () => {
    await upsert({ spec: '{"tube":"t","every":300000,"runAtStart":true}', payload: '' });
    keeperOf().keeper.start();
    await world.clock.advance(45_000);
    expect(await dueIn()).toBe(-0.25); // it was added at 30 s
  });

  it('after another plan was stored moves, within 45 s', async () => {
    const { keeper } = keeperOf();
    await keeper.ensure('a', await upsert());
    await upsert({ spec: '{"tube":"t","every":120000}', payload: '' });
    keeper.start();
    await world.clock.advance(45_000);
    expect(await dueIn()).toBe(2 - 0.75);
  });

  it('when its job had ended gets the next one within 75 s of its time', async () => {
    const { keeper } = keeperOf();
    await keeper.ensure('a', await upsert());
    await world.producer.revoke(REF); // as an end of which nobody here heard
    await world.clock.advance(FIVE_MINUTES - MINUTE);
    keeper.start();
    await world.clock.advance(MINUTE + 75_000);
    expect(await dueIn()).toBe(5 - 1.25);
  });

  it('after it marked it as removed is revoked, and forgotten', async () => {
    const { keeper } = keeperOf();
    await keeper.ensure('a', await upsert());
    await plans.remove('a');
    keeper.start();
    await world.clock.advance(45_000);
    expect([(await job())!.state, await plans.get('a')]).toEqual(['revoked', undefined]);
  });
});

it('checks a series about once for each occurrence, and no more often than once a minute', async () => {
  let finds = 0;
  const find = world.producer.find.bind(world.producer);
  world.producer.find = (...given) => {
    finds++;
    return find(...given);
  };
  const { keeper } = keeperOf();
  await keeper.ensure('a', await upsert());
  keeper.start();
  finds = 0;
  await world.clock.advance(4 * MINUTE);
  expect(finds).toBe(0);
  await world.clock.advance(7 * MINUTE); // overdue, as nobody runs it: at 6, 7, 9 minutes …
  expect(finds).toBeLessThanOrEqual(4);
  expect((await plans.missed(9)).map(({ name }) => name)).toEqual(['a']);
});

it('gives way to a plan that was stored while it added its job', async () => {
  const other = { spec: '{"tube":"t","every":120000}', payload: '2' };
  let upserted = false;
  const checked: LocalSeriesPlans['checked'] = async (...given) => {
    if (!upserted) await plans.upsert('a', other);
    upserted = true;
    return plans.checked(...given);
  };
  const { keeper } = keeperOf({ checked });
  await keeper.ensure('a', await upsert());
  expect(await dueIn()).toBe(2);
});

it('adds no job to a tube whose jobs are sealed, whoever wrote the plan', async () => {
  world.producer.sealsJobsOf = () => true;
  await upsert();
  keeperOf().keeper.start();
  await world.clock.advance(3 * MINUTE);
  expect(await job()).toBeUndefined();
  expect(warnings).toEqual(['ignoring series of the tube "t" in Redis: its jobs are sealed']);
});

describe('an occurrence', () => {
  const handler = () => 'went well';
  const run = (keeper: SeriesKeeper, mark: string, more: object = {}) => {
    const dueAt = new Date(world.clock.wall());
    const headers = { 'dq-series': mark };
    const given = { ...REF, dueAt, lateness: 0, headers, ...more } as unknown as DelayedJob;
    return keeper.run(handler, undefined, given);
  };
  const markOf = (entry: string) => readEntry(entry)!.mark;

  it('comes again by its plan', async () => {
    const mark = markOf(await upsert());
    expect(await run(keeperOf().keeper, mark)).toEqual(Again.at(world.clock.wall() + FIVE_MINUTES));
  });

  it('of another plan ends the job, which starts over', async () => {
    const { keeper, events } = keeperOf();
    const mark = markOf(await upsert());
    await upsert({ spec: '{"tube":"t","every":120000}', payload: '' });
    expect(await run(keeper, mark)).toBe('went well');
    const ended = { ...REF } as unknown as DelayedJob;
    events.emit('completed', { job: ended, took: 1, result: 'went well' });
    await world.clock.advance(0);
    expect(await dueIn()).toBe(2);
    expect(events.failures).toEqual([]);
  });

  it.each(['completed', 'dead', 'expired'] as const)(
    'gets the next job at once where it ended: %s',
    async (end) => {
      const { keeper, events } = keeperOf();
      await keeper.ensure('a', await upsert());
      keeper.use();
      await world.producer.revoke(REF); // stands for the end
      if (end === 'completed')
        events.emit(end, { job: { ...REF } as unknown as DelayedJob, took: 1, result: 1 });
      else if (end === 'dead') events.emit(end, { letter: { ...REF } } as never);
      else events.emit(end, { ...REF } as never);
      await world.clock.advance(0);
      expect((await job())!.state).toBe('waiting');
    },
  );

  it('of a removed series, or in a tube that it has left, does not run', async () => {
    const { keeper } = keeperOf();
    const mark = markOf(await upsert());
    expect(await run(keeper, mark, { tube: 'old' })).toBeUndefined();
    await plans.remove('a');
    expect(await run(keeper, mark)).toBeUndefined();
  });

  it('restores its series if the ledger has lost it', async () => {
    const entry = await upsert();
    plans = new LocalSeriesPlans(() => world.clock.wall());
    expect(await run(keeperOf().keeper, markOf(entry))).toEqual(Again.at(world.clock.wall() + FIVE_MINUTES));
    expect((await plans.get('a'))!.entry).toBe(entry);
  });

  it('comes again even if the ledger does not answer', async () => {
    const mark = markOf(await upsert());
    const get = () => Promise.reject(new DqError('DQ_LEDGER_DOWN', 'Redis is away'));
    expect(await run(keeperOf({ get }).keeper, mark)).toEqual(Again.at(world.clock.wall() + FIVE_MINUTES));
  });

  it('is none if its key only looks like one', () => {
    const mark = { 'dq-series': '5 {}' };
    const is = [mark, {}].map((headers) => isOccurrence({ key: 'series:a', headers }));
    expect([...is, isOccurrence({ key: 'a', headers: mark })]).toEqual([true, false, false]);
  });
});

it('warns once while the ledger is away, and continues when it is back', async () => {
  let away = true;
  const take = async (limit: number) => {
    if (away) throw new DqError('DQ_LEDGER_DOWN', 'Redis is away');
    return plans.take(limit);
  };
  await upsert();
  const { keeper } = keeperOf({ take });
  keeper.start();
  await world.clock.advance(MINUTE);
  away = false;
  await world.clock.advance(15_000);
  expect(await dueIn()).toBe(5 - 1.25);
  expect(warnings).toEqual(['checking the series failed; retrying every 15 s: Redis is away']);
});

it('ignores what nest-dq did not write, and says so once', async () => {
  await plans.restore('a', 'nonsense');
  await plans.restore('b', '5 {"tube":"t"}\n');
  keeperOf().keeper.start();
  await world.clock.advance(3 * MINUTE);
  expect(warnings).toEqual([
    'ignoring the series "a" in Redis, which is not in nest-dq\'s format',
    'ignoring the series "b" in Redis, which is not in nest-dq\'s format',
  ]);
});
