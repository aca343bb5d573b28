import { beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { defineTube } from 'nest-dq';
import type { DeadLetter } from 'nest-dq/src/api/dead-letter.js';
import type { DelayedJob } from 'nest-dq/src/api/job.js';
import { eventually } from 'test-servers';
import { isEmpty } from '../support/jobs.js';
import { clusterSuite, closedAfterEach } from '../support/suite.js';
import type { System } from '../support/system.js';
import { exchange, lockOf, stamp, storeAsGoQueue } from './as-go-queue.js';

interface Order {
  readonly id: string;
}

const suite = clusterSuite();
const open = closedAfterEach();
let system: System;
let redis: Redis;
let tubes = 0;
/** Another one for each test. */
let tube: string;

beforeEach(async () => {
  tube = `order.cancel-${++tubes}`;
  system = suite.start();
  redis = new Redis(suite.servers.redis.url);
  open.push({ close: async () => redis.disconnect() });
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
});

const shared = () => defineTube<Order>(tube, { wire: 'go-queue' });
const putAsGo = (body: string, delay = 0, nodes = suite.servers.beanstalkds) =>
  storeAsGoQueue(tube, body, delay, nodes);

/** Handles the tube, and notes each run. */
async function handle(
  runs: DelayedJob[],
  then: (job: DelayedJob) => unknown = () => undefined,
): Promise<void> {
  await system.consumer.consume(shared(), (_payload, job) => {
    runs.push(job as DelayedJob);
    return then(job as DelayedJob);
  });
}

const copiesAreGone = () =>
  eventually(
    'all copies are gone',
    async () => (await isEmpty(system, tube)) && isEmpty(system, `${tube}.nest`),
  );

describe('a job that go-queue stored', () => {
  it('runs once, in a tube of its own, under its lock, and leaves nothing', async () => {
    const runs: DelayedJob[] = [];
    await handle(runs);
    const body = `${stamp(Date.now())}/{"id":"A1"}`;
    await putAsGo(body);
    await eventually('it ran', () => runs.length > 0);
    expect(runs[0]).toMatchObject({
      payload: { id: 'A1' },
      key: lockOf(body),
      tube: `${tube}.nest`,
      attempt: 1,
    });
    expect(await redis.get(lockOf(body))).toMatch(/^nest-dq:\d+$/);
    await copiesAreGone();
    expect(runs).toHaveLength(1);
  });

  it('does not run before its time, though go-queue lets it surface up to a second early', async () => {
    const runs: DelayedJob[] = [];
    await handle(runs);
    const due = Date.now() + 1_900;
    await putAsGo(`${stamp(due)}/"x"`, 1);
    await eventually('it ran', () => runs.length > 0);
    expect(Date.now()).toBeGreaterThanOrEqual(due);
  });

  it('is retried after a failure, and no other copy makes it run twice', async () => {
    const runs: DelayedJob[] = [];
    await system.consumer.consume(
      shared(),
      (_payload, job) => {
        runs.push(job as DelayedJob);
        if (job.attempt < 3) throw new Error('not yet');
      },
      { backoff: { type: 'fixed', delay: 10 } },
    );
    await putAsGo(`${stamp(Date.now())}/{"id":"A2"}`);
    await eventually('it ran three times', () => runs.length === 3);
    await copiesAreGone();
    expect(runs.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  it('does not run if go-queue has its lock', async () => {
    const body = `${stamp(Date.now())}/{"id":"A3"}`;
    await redis.set(lockOf(body), 'abcdefghij012345', 'PX', 3_600_500);
    const runs: DelayedJob[] = [];
    await handle(runs);
    await putAsGo(body);
    await putAsGo(`${stamp(Date.now())}/{"id":"A4"}`);
    await eventually('the other one ran', () => runs.length > 0);
    await copiesAreGone();
    expect(runs.map(({ payload }) => payload)).toEqual([{ id: 'A4' }]);
    expect(await redis.get(lockOf(body))).toBe('abcdefghij012345');
  });

  it('is dead if it is so late that nobody can know whether go-queue has run it', async () => {
    const runs: DelayedJob[] = [];
    const dead: unknown[] = [];
    system.events.listen('dead', ({ letter }) => void dead.push(letter), 'the test');
    await handle(runs);
    await putAsGo(`${stamp(Date.now() - 56 * 60_000)}/{"id":"late"}`);
    await putAsGo(`${stamp(Date.now() - 54 * 60_000)}/{"id":"in time"}`);
    await eventually('one ran, and one is dead', () => runs.length > 0 && dead.length > 0);
    expect(runs.map(({ payload }) => payload)).toEqual([{ id: 'in time' }]);
    expect(dead[0]).toMatchObject({ why: 'stale', payload: { id: 'late' } });
  });

  it('is run all the same once an operator revives it', async () => {
    const letters: DeadLetter[] = [];
    system.events.listen('dead', ({ letter }) => void letters.push(letter), 'the test');
    const runs: DelayedJob[] = [];
    await handle(runs);
    await putAsGo(`${stamp(Date.now() - 60 * 60_000)}/{"id":"revived"}`);
    await eventually('it is dead', () => letters.length > 0);
    expect(await system.deadLetters.revive(letters[0]!)).toBe('revived');
    await eventually('it ran', () => runs.length > 0);
    expect(runs[0]!.payload).toEqual({ id: 'revived' });
    expect(await system.deadLetters.revive(letters[0]!)).not.toBe('revived');
    await copiesAreGone();
    expect(runs).toHaveLength(1);
  });

  it('is revoked while it waits for a retry, as a job of ours', async () => {
    const runs: DelayedJob[] = [];
    await system.consumer.consume(
      shared(),
      (_payload, job) => {
        runs.push(job as DelayedJob);
        throw new Error('not now');
      },
      { backoff: { type: 'fixed', delay: '1h' } },
    );
    const ids = await putAsGo(`${stamp(Date.now() + 1_000)}/{"id":"B3"}`, 1);
    const body = `${stamp(Date.now())}/{"id":"B4"}`;
    await putAsGo(body);
    await eventually('both failed', () => runs.length === 2);
    const [other] = runs;
    expect(await system.producer.revoke({ ref: other!.ref })).toBe('revoked');
    await eventually('no copy of it is left', () => isEmpty(system, tube));
    expect(await system.producer.revoke({ ref: ids })).toBe('unknown'); // no copy of it is left, which alone could tell its lock
  });

  it('is found by its reference only where that names a node as the options do, and by the producer of its tube', async () => {
    const ids = await putAsGo(`${stamp(Date.now() + 3_600_000)}/{}`, 3_600);
    const other = ids.replaceAll('127.0.0.1', 'localhost');
    await expect(system.producer.revoke({ ref: other })).rejects.toThrow(
      /names the node "localhost:.*spelt as in/,
    );
    const another = system.producer.tube(defineTube('another', { wire: 'go-queue' }));
    await expect(another.revoke({ ref: ids })).rejects.toMatchObject({ code: 'DQ_BAD_REF' });
  });

  it('is revoked by the reference that go-queue gave, even while a node is away', async () => {
    const bodies = ['B1', 'B2'].map((id) => `${stamp(Date.now() + 1_500)}/{"id":"${id}"}`);
    const [first] = [await putAsGo(bodies[0]!, 1), await putAsGo(bodies[1]!, 1)];
    const away = suite.servers.beanstalkds[2]!;
    await away.kill();
    expect(await system.producer.tube(shared()).revoke({ ref: first! })).toBe('revoked');
    await away.restart();
    const runs: DelayedJob[] = [];
    await handle(runs);
    await eventually('the other one ran', () => runs.length > 0);
    await copiesAreGone();
    expect(runs.map(({ payload }) => payload)).toEqual([{ id: 'B2' }]);
    expect(await redis.get(lockOf(bodies[0]!))).toBe('nest-dq:revoked');
  });
});

describe('a job that is stored for go-queue', () => {
  it('is the same bytes on each node, and surfaces after its time', async () => {
    const due = Date.now() + 60_000;
    await system.producer.at(shared(), { id: 'C1' }, due);
    const seen = new Set<string>();
    for (const { endpoint } of suite.servers.beanstalkds) {
      const [, body] = await exchange(endpoint, `use ${tube}\r\npeek-delayed\r\n`, /FOUND .*\r\n(.*)\r\n/);
      seen.add(body!);
    }
    expect([...seen]).toEqual([expect.stringMatching(new RegExp(`^${due}\\d{6}/\\{"id":"C1"\\}$`))]);
  });

  it('runs by our handlers once, and is revoked by its receipt', async () => {
    const [run, revoked] = [
      await system.producer.delay(shared(), { id: 'D1' }, '1s'),
      await system.producer.delay(shared(), { id: 'D2' }, '1s'),
    ];
    expect(run).toMatchObject({ tube, copies: 3, status: 'added' });
    expect(await system.producer.revoke(revoked)).toBe('revoked');
    const runs: DelayedJob[] = [];
    await handle(runs);
    await eventually('it ran', () => runs.length > 0);
    await copiesAreGone();
    expect(runs.map(({ payload }) => payload)).toEqual([{ id: 'D1' }]);
    expect(await system.producer.revoke(run)).toBe('done');
  });

  it('runs twice if it is added twice for one instant', async () => {
    const runs: DelayedJob[] = [];
    await handle(runs);
    const due = Date.now() + 100;
    await Promise.all([1, 2].map(() => system.producer.at(shared(), { id: 'E' }, due)));
    await eventually('both ran', () => runs.length === 2);
  });

  it('is stored so as well if only the name of the tube is given, where the tube is known', async () => {
    await handle([]);
    const { id } = await system.producer.delay(tube, { id: 'F' }, '1h');
    expect(id).toMatch(/^[0-9a-f]{32}$/);
  });

  it.each([
    [{ key: 'k' }, /`key` \("k"\).*go-queue has no keys/],
    [{ attempts: 3 }, /`attempts` \(3\)/],
    [{ headers: { a: 'b' } }, /`headers`/],
    [{ priority: 'high' as const }, /`priority`/],
    [{ group: 'g' }, /`group`/],
    [{ backoff: { type: 'fixed' as const, delay: 5 } }, /`backoff`/],
  ])('has no option %j', async (options, why) => {
    await expect(system.producer.delay(shared(), { id: 'G' }, '1h', options)).rejects.toThrow(why);
  });

  it('is no string that would come back as something else', async () => {
    const texts = defineTube<string>(tube, { wire: 'go-queue' });
    await expect(system.producer.delay(texts, '5', '1h')).rejects.toMatchObject({ code: 'DQ_BAD_PAYLOAD' });
  });

  it('cannot be moved, and says what to do', async () => {
    const receipt = await system.producer.delay(shared(), { id: 'H' }, '1h');
    await expect(system.producer.reschedule(receipt, { delay: '2h' })).rejects.toThrow(
      /expected a revoke and a new add/,
    );
  });
});

it('a tube that only reads what go-queue stored has jobs of ours, and runs both', async () => {
  const reading = defineTube<Order>(tube, { wire: { read: 'go-queue' } });
  const runs: unknown[] = [];
  await system.consumer.consume(reading, (payload) => void runs.push(payload.id));
  await system.producer.delay(reading, { id: 'ours' }, '10ms', { key: 'k' });
  await putAsGo(`${stamp(Date.now() - 3 * 3_600_000)}/{"id":"theirs, late"}`);
  await eventually('both ran', () => runs.length === 2);
  expect(new Set(runs)).toEqual(new Set(['ours', 'theirs, late']));
  await copiesAreGone();
});

it('a job of go-queue in a tube of ours is buried, with what is wrong', async () => {
  await system.consumer.consume(tube, () => undefined);
  await putAsGo(`${stamp(Date.now())}/{"id":"A"}`);
  await eventually('it is logged', () => system.log.some((line) => line.includes("wire: 'go-queue'")));
});
