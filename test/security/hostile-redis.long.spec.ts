// Foreign data in our Redis, or a hostile server in its place, stops nothing else, and is logged.
import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from 'test-servers';
import { HostileNode } from '../support/hostile-node.js';
import { record, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

const suite = clusterSuite();
const GIANT = 'x'.repeat(3_000_000);
/** A line of a log that nobody wrote, and what a terminal obeys. */
const NOISE = '\x1b[2J\nERROR all is well';
const closing: (() => unknown)[] = [];
let prefixes = 0;

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function inspect(): Redis {
  const redis = new Redis(suite.servers.redis.url);
  closing.push(() => redis.disconnect());
  return redis;
}

async function runsOne({ producer }: System, tube: string, starts: readonly Start[]): Promise<void> {
  const { id } = await producer.now(tube, 1);
  await eventually('it has run', () => starts.some((start) => start.id === id));
}

function expectOneLineEach(log: readonly string[]): void {
  // oxlint-disable-next-line no-control-regex
  for (const line of log) expect(line).not.toMatch(/[\0-\x1f\x7f-\x9f]/);
  for (const line of log) expect(line.length).toBeLessThan(1_000);
}

describe('what another program writes into Redis', () => {
  it.each([
    ['no JSON', NOISE],
    ['JSON of another form', '{"id":5,"tubes":"all"}'],
    ['3 MB', GIANT],
    ['deep JSON', '['.repeat(100_000)],
  ])(
    'as %s shows nothing of the others in another way, and jobs run',
    async (_what, text) => {
      const redis = inspect();
      const prefix = `noise${++prefixes}.`;
      const system = suite.start({ prefix });
      const starts: Start[] = [];
      await record(system, 'tube', starts);
      await runsOne(system, 'tube', starts);
      await eventually('it is present', async () => (await system.inspector.processes()).length === 1);
      const base = `{${prefix}:}:`;
      await redis.hset(`${base}:processes`, 'theirs', text);
      await redis.zadd(`${base}:seen`, Date.now() + 60_000, 'theirs');
      await redis.zadd(`${base}:acts`, 1, text);
      await redis.zadd(`${base}:left`, 1, text);
      const hour = Math.floor(Date.now() / 3_600_000);
      await redis.hset(`${base}:history:${hour}`, '59:0', text, '0:0', text, 'tubes', text);
      const letters = `{${prefix}tube}:`;
      await redis.zadd(`${letters}:dead`, Date.now(), 'theirs:0');
      await redis.hset(`${letters}:letters`, 'theirs:0', text, 'theirs:0:l', text);

      const [own, ...others] = await system.inspector.processes();
      expect([own!.pid, others]).toEqual([process.pid, []]);
      const { acts } = await system.inspector.acts();
      expect(acts).toMatchObject([{ by: 'unknown', act: expect.stringMatching(/^unreadable: "/) }]);
      expectOneLineEach(acts.map(({ act }) => act));
      const now = Date.now();
      await system.inspector.history({ from: new Date(now - 3_600_000), to: new Date(now) });
      const { letters: found } = await system.deadLetters.list('tube');
      expect(found).toMatchObject([
        {
          id: 'theirs',
          why: 'invalid',
          error: { message: expect.stringMatching(/not what nest-dq writes$/) },
        },
      ]);
      await expect(system.deadLetters.discard(found[0]!.ref)).resolves.toBe('discarded');
      await expect(system.ledger.handover!.take()).resolves.toEqual([]);
      const logged = system.log.filter((line) => line.includes("is not in nest-dq's format"));
      expect(logged.filter((line) => line.startsWith('ignoring a process record in Redis'))).toHaveLength(1);
      expect(
        logged.filter((line) => line.startsWith('ignoring handover data of a process in Redis')),
      ).toHaveLength(1);
      expectOneLineEach(system.log);
      await runsOne(system, 'tube', starts);
    },
    60_000,
  );

  it('in place of what processes announce is reported, and jobs run', async () => {
    const redis = inspect();
    const prefix = `noise${++prefixes}.`;
    await redis.set(`{${prefix}:}::seen`, NOISE);
    const system = suite.start({ prefix });
    await eventually('it is logged', () =>
      system.log.some((line) => /^ignoring the data of processes in Redis, .*WRONGTYPE /.test(line)),
    );
    const starts: Start[] = [];
    await record(system, 'tube', starts);
    await runsOne(system, 'tube', starts);
    expectOneLineEach(system.log);
  });

  it('in place of a record holds up that job, and no other, and is reported', async () => {
    const redis = inspect();
    const system = suite.start();
    const { producer } = system;
    const tube = 'damaged-record';
    const receipt = await producer.delay(tube, 'bad', '1s', { key: 'k' });
    await redis.set(`{${tube}}:${receipt.id}`, GIANT);
    const starts: Start[] = [];
    await record(system, tube, starts);
    await eventually('it is logged', () =>
      system.log.some((line) => line.startsWith(`the ledger failed on job ${receipt.id} of ${tube}`)),
    );
    await runsOne(system, tube, starts);
    expect(starts.some(({ id }) => id === receipt.id)).toBe(false);
    expectOneLineEach(system.log);
  }, 60_000);
});

describe('what is no pause, in the place of a pause in Redis,', () => {
  const pauses = (list: string) => `return redis.call('SET', KEYS[1], cmsgpack.pack({ pauses = ${list} }))`;

  it.each([
    ['rubbish', `return redis.call('SET', KEYS[1], 'rubbish')`],
    ['3 MB', `return redis.call('SET', KEYS[1], string.rep('x', 3000000))`],
    ['an empty text', `return redis.call('SET', KEYS[1], '')`],
    ['a list of Redis', `return redis.call('RPUSH', KEYS[1], 'a')`],
    ['a record without pauses', `return redis.call('SET', KEYS[1], cmsgpack.pack({ a = 1 }))`],
    ['texts', pauses(`{ 'a', 'b' }`)],
    ['a begin without an end', pauses('{ 5 }')],
    ['an end that no clock reaches', pauses('{ 5, 1e300 }')],
    ['no numbers', pauses('{ 0/0, 0/0 }')],
  ])(
    'as %s stops that tube, and no other, until someone resumes it',
    async (_what, script) => {
      const redis = inspect();
      const system = suite.start();
      const { control, inspector, producer } = system;
      const tube = `damaged-pause-${++prefixes}`;
      await redis.eval(script, 1, `{${tube}}::control`);
      const starts: Start[] = [];
      await record(system, tube, starts);
      const receipt = await producer.now(tube, 1);
      const because = async () => (await inspector.explain(receipt)).because;
      await eventually('it is explained as paused', async () => (await because()) === 'paused');
      const others: Start[] = [];
      await record(system, `${tube}-other`, others);
      await runsOne(system, `${tube}-other`, others);
      const pause = { since: new Date(1) };
      expect([starts, (await inspector.tube(tube)).paused]).toEqual([[], pause]);
      expect(await control.resume(tube)).toEqual({ ended: pause });
      await eventually('it has run', () => starts.some(({ id }) => id === receipt.id));
      expect((await inspector.tube(tube)).paused).toBeUndefined();
      const until = new Date(Date.now() + 60_000);
      expect(await control.pause(tube, { until })).toMatchObject({ until });
    },
    60_000,
  );
});

describe('a number that no page can show, from another program in Redis,', () => {
  const HUGE = '1e300';

  it('hides nothing else, and is left out, or shown as unreadable', async () => {
    const redis = inspect();
    const prefix = `huge${++prefixes}.`;
    const system = suite.start({ prefix });
    const { deadLetters, inspector, producer } = system;
    const { id } = await producer.delay('tube', 1, '1h', { key: 'k' });
    await eventually('it is present', async () => (await inspector.processes()).length === 1);
    const base = `{${prefix}:}:`;
    const [own] = Object.values(await redis.hgetall(`${base}:processes`));
    const theirs = (own as string)
      .replace(/"upFor":\d+/, `"upFor":${HUGE}`)
      .replace(/"id":"[^"]+"/, '"id":"theirs"');
    expect(theirs).toContain(HUGE);
    await redis.hset(`${base}:processes`, 'theirs', theirs);
    await redis.zadd(`${base}:seen`, HUGE, 'theirs', 'inf', 'others');
    const act = { id: 'a', by: 'b', act: 'c', on: {}, count: 1 };
    await redis.zadd(`${base}:acts`, 1, JSON.stringify({ ...act, at: 1 }).replace('"at":1', `"at":${HUGE}`));
    await redis.zadd(`${base}:acts`, 2, JSON.stringify({ ...act, at: 1, on: { tube: 5 } }));
    const far = ['+inf', '1e300', '-1e300', '-inf'].flatMap((place) => [place, `far ${place}`]);
    await redis.zadd(`${base}:acts`, ...far);
    const hour = Math.floor(Date.now() / 3_600_000);
    const minute = Math.floor((Date.now() / 60_000) % 60);
    await redis.hset(`${base}:history:${hour}`, `${minute}:0`, `[${HUGE}]`);
    const tube = `{${prefix}tube}:`;
    await redis.zadd(`${tube}:dead`, Date.now(), 'theirs:0');
    const letter = `{"why":"stale","generation":0,"due":${HUGE},"attempt":1,"died":1}`;
    await redis.hset(`${tube}:letters`, 'theirs:0', letter);
    await redis.zadd(`${tube}:index`, HUGE, 'late', '-1e300', 'early', '-inf', 'first');

    const found = {
      processes: await inspector.processes(),
      acts: (await inspector.acts()).acts,
      history: await inspector.history({ from: new Date(Date.now() - 3_600_000), to: new Date() }),
      letters: (await deadLetters.list('tube')).letters,
      jobs: (await inspector.jobs('tube')).jobs,
      tube: await inspector.tube('tube'),
      timeline: await inspector.timeline('tube', {
        from: new Date(),
        to: new Date(Date.now() + 7_200_000),
        buckets: 2,
      }),
    };
    expect(JSON.stringify(found)).not.toMatch(/e\+300|Infinity/);
    for (const time of datesIn(found)) expect(Number.isNaN(time.getTime())).toBe(false);
    expect(found.processes.map(({ pid }) => pid)).toEqual([process.pid]);
    expect(found.acts).toHaveLength(2);
    for (const each of found.acts) expect(each.act).toMatch(/^unreadable: /);
    expect(found.letters).toMatchObject([{ id: 'theirs', why: 'invalid' }]);
    expect(found.jobs.map((job) => job.id)).toContain(id);
    expectOneLineEach(system.log);
  }, 60_000);

  it.each([
    ['a time that no Date has', HUGE],
    ['no number', '"soon"'],
  ])('as %s in a record leaves out that job of a list, and reports it', async (_what, due) => {
    const redis = inspect();
    const system = suite.start();
    const { inspector, producer } = system;
    const tube = `damaged-list-${++prefixes}`;
    const receipts = [];
    for (const key of ['a', 'b', 'c']) receipts.push(await producer.delay(tube, key, '1h', { key }));
    const [first, bad, last] = receipts.map(({ id }) => id);
    const damage = `local record = cmsgpack.unpack(redis.call('GET', KEYS[1]))
      record.due = cjson.decode(ARGV[1])[1]
      redis.call('SET', KEYS[1], cmsgpack.pack(record))`;
    await redis.eval(damage, 1, `{${tube}}:${bad}`, `[${due}]`);
    const { jobs } = await inspector.jobs(tube);
    expect(jobs.map(({ id }) => id).sort()).toEqual([first!, last!].sort());
    await inspector.jobs(tube);
    const logged = system.log.filter((line) => line.includes(`the list of ${tube} omits job ${bad}`));
    expect(logged).toHaveLength(1);
    await redis.set(`{${tube}}:${bad}`, GIANT);
    expect((await inspector.jobs(tube)).jobs).toHaveLength(2);
    expectOneLineEach(system.log);
  });
});

/** All that are somewhere in a value. */
function datesIn(value: unknown): Date[] {
  if (value instanceof Date) return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(datesIn) : [];
}

describe('a server in the place of Redis that', () => {
  it.each([
    ['answers as a web server', 'HTTP/1.1 400 Bad\r\n\r\n'],
    ['sends lists in lists without end', '*1\r\n'.repeat(1_000_000)],
    ['announces 2^53 bytes', `$${2 ** 53}\r\nabc`],
    ['announces more entries than a list has', '*4294967296\r\n'],
    ['answers with an error of 1 MB for terminals', `-ERR ${NOISE.replace('\n', '')}${GIANT}\r\n`],
    ['answers an empty list', '*0\r\n'],
    ['answers with a time that is none', '*3\r\n:1\r\n:-5\r\n$0\r\n\r\n'],
  ])(
    '%s is away, with the reason; no copy is deleted, and no job runs',
    async (_what, bytes) => {
      const server = await HostileNode.start(() => bytes);
      closing.push(() => server.close());
      const { beanstalkds } = suite.servers;
      const system = suite.start({ redis: `redis://${server.endpoint}` });
      await eventually('it is logged', () => system.log.some((line) => line.startsWith('Redis is down')));
      const starts: Start[] = [];
      await record(system, 'kept', starts);
      const { copies } = await system.producer.delay('kept', 1, '1h');
      expect([copies, starts]).toEqual([beanstalkds.length, []]);
      expectOneLineEach(system.log);
    },
    60_000,
  );
});
