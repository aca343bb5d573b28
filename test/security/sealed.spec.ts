import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { defineTube, Discard, type DqOptions } from 'nest-dq';
import type { BadSeal } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { exchange, stamp, storeAsGoQueue } from '../go-queue/as-go-queue.js';
import { isEmpty } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

const KEYS = { a: randomBytes(32), b: randomBytes(32).toString('base64') };
const SEAL = { keys: KEYS, current: 'a' };

const suite = clusterSuite();
let tubes = 0;
/** Another one for each test. */
let tube: string;

beforeEach(() => void (tube = `sealed-${++tubes}`));

async function started(options: DqOptions = { seal: SEAL }): Promise<System & { readonly bad: BadSeal[] }> {
  const system = suite.start(options);
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
  const bad: BadSeal[] = [];
  system.events.on('badSeal').subscribe((each) => void bad.push(each));
  return Object.assign(system, { bad });
}

/** Somebody who reaches the nodes, and has no key. */
class Attacker {
  /** Stores bytes as a job of the tube on all nodes. */
  async store(name: string, body: string | Buffer): Promise<void> {
    const text = Buffer.isBuffer(body) ? body.toString('latin1') : body;
    for (const { endpoint } of suite.servers.beanstalkds) {
      const put = `use ${name}\r\nput 0 0 60 ${text.length}\r\n${text}\r\n`;
      await exchange(endpoint, put, /INSERTED (\d+)\r\n/, 'latin1');
    }
  }

  /** Reads the first copies of a tube that wait for their time, one on each node. */
  async read(name: string): Promise<Buffer[]> {
    const bodies: Buffer[] = [];
    for (const { endpoint } of suite.servers.beanstalkds) {
      const [, body] = await exchange(
        endpoint,
        `use ${name}\r\npeek-delayed\r\n`,
        /FOUND \d+ \d+\r\n([^]*)\r\n$/,
        'latin1',
      );
      bodies.push(Buffer.from(body!, 'latin1'));
    }
    return bodies;
  }
}

const attacker = new Attacker();

/** Runs what comes, and then a job of our own: when that ran, all that was stored before has been looked at. */
async function runsAfter(system: System, ...stored: (string | Buffer)[]): Promise<unknown[]> {
  for (const body of stored) await attacker.store(tube, body);
  const runs: unknown[] = [];
  await system.consumer.consume(tube, (payload) => void runs.push(payload));
  await system.producer.now(tube, 'ours');
  await eventually('ours ran', () => runs.includes('ours'));
  return runs;
}

// `npm run attacks` does more, under load; here is what the log and the events say of it.
describe('someone without the key', () => {
  it('reads no payload and no key, and makes no handler run by a job of its own', async () => {
    const system = await started();
    const receipt = await system.producer.delay(tube, { card: 'card-4111' }, '1h', { key: 'order:42' });
    for (const body of await attacker.read(tube)) {
      expect(body.toString('latin1')).not.toMatch(/card-4111|order:42/);
      expect(body.toString('latin1')).toContain(receipt.id);
    }
    const forged = `dq1 {"id":"forged","due":${Date.now()},"n":1,"i":0}\n"forged"`;
    const sealed = `dqs a 0 {"id":"forged","due":1,"n":1\n,"i":0\n${'x'.repeat(60)}`;
    expect(await runsAfter(system, forged, 'garbage', sealed)).toEqual(['ours']);
    await eventually('all are reported', () => system.bad.length === 9);
    expect(new Set(system.bad.map(({ reason }) => reason))).toEqual(
      new Set([
        'DQ_BAD_SEAL: it has no seal',
        'DQ_BAD_SEAL: it was altered, or sealed for another tube or another `seal.context`',
      ]),
    );
    expect(system.bad[0]).toMatchObject({ tube, buried: true, node: expect.stringMatching(/:\d+$/) });
    expect(system.log.join('\n')).toMatch(/did not run and was buried: DQ_BAD_SEAL/);
  });

  it('cannot change what it has read, nor use it in another tube, nor under another prefix', async () => {
    const system = await started();
    const due = Date.now() + 3_600_000;
    await system.producer.at(tube, 'original', due);
    await system.producer.at('another', 'of another tube', due);
    const [own] = await attacker.read(tube);
    const [foreign] = await attacker.read('another');
    const sooner = own!.toString('latin1').replace(`"due":${due}`, `"due":${Date.now()}`);
    const prefixed = await started({ seal: SEAL, prefix: 'shop.' });
    await prefixed.producer.at(tube, 'of another prefix', due);
    const [shop] = await attacker.read(`shop.${tube}`);
    expect(await runsAfter(system, sooner, foreign!, shop!)).toEqual(['ours']);
    await eventually('all are reported', () => system.bad.length === 9);
  });
});

describe('someone who reads all of Redis', () => {
  it('sees no payload, no key, no group and no header of a job that waits, runs and fails', async () => {
    const redis = new Redis(suite.servers.redis.url);
    await redis.config('SET', 'rdbcompression', 'no'); // so that DUMP shows texts as they are
    const all = async () => {
      const keys = await redis.keys('*');
      const values = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
      return [...keys, ...values.map((value) => value?.toString('latin1'))].join('\n');
    };
    const system = await started();
    const dumps: string[] = [];
    const options = { key: 'order:42', group: 'user-17', headers: { trace: 'header-9' } };
    const job = await system.producer.delay(tube, { card: 'card-4111' }, '300ms', options);
    await eventually('it is listed', async () => (await all()).includes(job.id));
    dumps.push(await all());
    const consumption = await system.consumer.consume(
      tube,
      async (_payload, { attempt, group }) => {
        expect(group).toBe('user-17');
        dumps.push(await all());
        if (attempt === 1) throw new Error('once');
      },
      { limit: { perGroup: 1, concurrency: 5 }, backoff: { type: 'fixed', delay: 10 } },
    );
    await eventually('it ran twice', () => dumps.length === 3);
    await consumption.stop();
    dumps.push(await all());
    redis.disconnect();
    for (const dump of dumps) {
      expect(dump).toContain(job.id);
      expect(dump).not.toMatch(/card-4111|order:42|user-17|header-9/);
    }
  });
});

describe('someone who guesses where a job is', () => {
  it("cannot name it as go-queue's producer does, unless its tube is named as one without a seal", async () => {
    const system = await started();
    const shared = defineTube<string>(tube, { wire: 'go-queue' });
    const victim = await system.producer.delay(shared, 'not mine', '1h');
    const [guessed] = victim.goQueueIds!.split(',') as (typeof victim.ref)[];
    for (const ref of [guessed!, { ref: guessed! }]) {
      for (const call of [
        system.producer.revoke(ref),
        system.producer.reschedule(ref, { delay: '2h' }),
        system.producer.find(ref),
        system.producer.tube(shared).revoke(guessed!),
        system.deadLetters.get(ref),
        system.inspector.explain(ref),
        system.inspector.payload(ref),
        system.control.runNow(ref),
      ])
        await expect(call).rejects.toMatchObject({ code: 'DQ_BAD_REF' });
    }
    await expect(system.producer.find(guessed!)).rejects.toThrow(/has no tag of `seal`.*`seal\.unsealed`/);
    expect(await system.producer.find(victim)).toMatchObject({ state: 'waiting' });

    const open = await started({ seal: { ...SEAL, unsealed: [tube] } });
    expect(await open.producer.find(guessed!)).toMatchObject({ state: 'waiting', id: victim.id });
    const elsewhere = guessed!.replace(`/${tube}/`, `/${tube}-another/`);
    const both = await started({ seal: { ...SEAL, unsealed: [tube, `${tube}-another`] } });
    expect(await both.producer.find(elsewhere as typeof victim.ref)).toBeUndefined();
    expect(await both.producer.revoke(elsewhere as typeof victim.ref)).toBe('unknown');
    expect(await open.producer.revoke(guessed!)).toBe('revoked');
  });
});

describe('someone who holds the reference of a job', () => {
  it('cannot change it into another, and the service still finds the job by it', async () => {
    const system = await started();
    const [mine, victim] = [
      await system.producer.delay(tube, 'mine', '1h'),
      await system.producer.delay(tube, 'not mine', '1h'),
    ];
    const content = JSON.parse(Buffer.from(mine.ref.split('.')[1]!, 'base64url').toString()) as unknown[];
    content[1] = victim.id;
    const text = Buffer.from(JSON.stringify(content)).toString('base64url');
    for (const forged of [
      mine.ref.replace(/\.[\w-]+\./, `.${text}.`),
      `dq1.${text}`,
    ] as (typeof mine.ref)[]) {
      for (const call of [
        system.producer.revoke(forged),
        system.producer.reschedule(forged, { delay: '2h' }),
        system.producer.find(forged),
        system.deadLetters.get(forged),
        system.inspector.explain(forged),
      ])
        await expect(call).rejects.toMatchObject({ code: 'DQ_BAD_REF' });
    }
    expect(await system.producer.find(victim)).toMatchObject({
      state: 'waiting',
      ref: expect.stringMatching(/^dqs\./),
    });
    expect(await system.producer.revoke(mine.ref)).toBe('revoked');
    expect(await system.producer.revoke((await system.producer.find(victim))!.ref)).toBe('revoked');
  });
});

describe('a change of keys', () => {
  it('loses and refuses nothing while processes with the old and the new one run side by side', async () => {
    const [first, second, third] = await Promise.all([
      started(), // before it
      started({ seal: { keys: KEYS, current: 'b' } }), // while it goes on
      started({ seal: { keys: { b: KEYS.b }, current: 'b' }, consume: false }), // after it
    ]);
    const runs: unknown[] = [];
    for (const { consumer } of [first, second])
      await consumer.consume(tube, (payload) => void runs.push(payload));
    const jobs = Array.from({ length: 300 }, (_, i) => i);
    await Promise.all(
      jobs.map((i) => [first, second, third][i % 3]!.producer.delay(tube, i, i % 7 === 0 ? 10 : '1s')),
    );
    await eventually('all ran', () => runs.length >= jobs.length);
    expect(new Set(runs)).toEqual(new Set(jobs));
    expect(runs).toHaveLength(jobs.length);
    await eventually('all copies are gone', () => isEmpty(first, tube));
    expect([first.bad, second.bad]).toEqual([[], []]);
  });

  it('names the key where it went too early: in a reference, a list, a move and a revival', async () => {
    const { a, b } = KEYS;
    const before = await started();
    const waits = await before.producer.delay(tube, 'waits', '1h', { key: 'k' });
    const consumption = await before.consumer.consume(tube, () => Discard.because('it is dead'));
    const dies = await before.producer.now(tube, 'dies');
    await eventually('it is dead', async () => (await before.deadLetters.get(dies)) !== undefined);
    await consumption.stop();
    const after = await started({ seal: { keys: { b }, current: 'b' } });
    await expect(after.producer.find(waits)).rejects.toThrow(
      /^DQ_BAD_REF: .* is sealed with the key "a", which this process does not have: expected that key in `seal\.keys`$/,
    );
    for (const call of [
      after.producer.reschedule({ tube, key: 'k' }, { delay: '2h' }),
      after.deadLetters.revive({ tube, id: dies.id }),
    ])
      await expect(call).rejects.toThrow(
        /^DQ_BAD_SEAL: job \S+ has a copy at \S+, but this process cannot read it: it is sealed with the key "a", .*: expected the key "a" in `seal\.keys`$/,
      );
    const { letters } = await after.deadLetters.list(tube);
    expect(letters).toEqual([expect.objectContaining({ id: dies.id, missingKey: 'a' })]);
    expect(letters[0]).not.toHaveProperty('payload');
    await expect(after.inspector.payload(dies)).rejects.toThrow(
      /^DQ_BAD_REF: .* is sealed with the key "a", which this process does not have/,
    );
    await expect(after.inspector.payload({ tube, id: dies.id })).rejects.toThrow(
      /^DQ_BAD_SEAL: the copies of job \S+ are sealed with the key "a", which this process does not have: expected that key in `seal\.keys`$/,
    );
    await expect(after.inspector.payload({ tube, key: 'k' })).rejects.toThrow(
      /^DQ_BAD_SEAL: job \S+ has a copy at \S+, but this process cannot read it: .*: expected the key "a" in `seal\.keys`$/,
    );
    const both = await started({ seal: { keys: { a, b }, current: 'b' } });
    expect(await both.deadLetters.get(dies)).toMatchObject({ payload: 'dies' });
    expect((await both.deadLetters.list(tube)).letters[0]).not.toHaveProperty('missingKey');
    expect(await both.deadLetters.revive(dies)).toBe('revived');
    expect(await both.producer.reschedule(waits, { delay: '2h' })).toBe('rescheduled');
  });

  it('from no seal at all takes what has none, until it ends', async () => {
    const plain = await started({});
    await plain.producer.delay(tube, 'plain', '1s');
    const between = await started({ seal: { ...SEAL, accept: 'unsealed' } });
    await between.producer.delay(tube, 'sealed', '1s');
    const runs: unknown[] = [];
    await between.consumer.consume(tube, (payload) => void runs.push(payload));
    await eventually('both ran', () => runs.length === 2);
    expect(new Set(runs)).toEqual(new Set(['plain', 'sealed']));
  });
});

describe('a tube that is shared with others', () => {
  it('has no seal if it is named, and the tubes next to it have', async () => {
    const system = await started({ seal: { ...SEAL, unsealed: [tube] } });
    await system.producer.delay(tube, 'open', '1h');
    await system.producer.delay(`${tube}-other`, 'closed', '1h');
    const [open] = await attacker.read(tube);
    const [closed] = await attacker.read(`${tube}-other`);
    expect([open!.toString('latin1', 0, 4), closed!.toString('latin1', 0, 4)]).toEqual(['dq1 ', 'dqs ']);
  });

  it("with go-queue takes go-queue's jobs, and the jobs of ours that they become are sealed", async () => {
    const system = await started();
    const shared = defineTube<string>(tube, { wire: 'go-queue' });
    const runs: unknown[] = [];
    await system.consumer.consume(
      shared,
      (payload, job) => {
        runs.push(payload);
        if (job.attempt === 1) throw new Error('once more, so that its copies wait');
      },
      { backoff: { type: 'fixed', delay: '1h' } },
    );
    await storeAsGoQueue(tube, `${stamp(Date.now())}/"from Go"`, 0, suite.servers.beanstalkds);
    await eventually('it ran', () => runs.length === 1);
    // A slow node may have none.
    await eventually('it waits', async () => (await attacker.read(`${tube}.nest`)).length >= 2);
    for (const body of await attacker.read(`${tube}.nest`))
      expect(body.toString('latin1', 0, 4)).toBe('dqs ');
  });
});
