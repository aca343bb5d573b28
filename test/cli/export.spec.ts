import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { defineTube } from 'nest-dq';
import { eventually } from 'test-servers';
import { PROGRAM } from './nest-dq-process.js';
import { cliSuite, TUBE } from './cluster-suite.js';

const suite = cliSuite();
const CLI = `${process.execPath} ${PROGRAM}`;

interface Line {
  readonly id: string;
  readonly [name: string]: unknown;
}

async function exported(args: readonly string[]) {
  const { code, stdout, stderr } = await suite.nestDq(['export', ...args]);
  const lines = stdout.split('\n').filter((line) => line !== '');
  return { code, stderr, jobs: lines.map((line) => JSON.parse(line) as Line) };
}

async function listed(tube: string, count: number): Promise<void> {
  const isSo = async () => (await suite.system.inspector.jobs(tube)).listed === count;
  await eventually(`${count} jobs are listed`, isSo);
}

describe('nest-dq export', () => {
  it('prints each job that waits, with what only its copies have', async () => {
    const { producer } = suite.system;
    const plain = await producer.delay('all.kinds', { order: 1 }, '1h');
    const keyed = await producer.delay('all.kinds', 'text', '2h', {
      key: 'k',
      priority: 'high',
      attempts: 3,
      headers: { tenant: 'a' },
    });
    const bytes = await producer.delay('all.kinds', Buffer.from([0, 255]), '3h');
    const empty = await producer.delay('all.kinds', undefined, '4h');
    const codec = { name: 'own', encode: (given: unknown) => given as string, decode: String };
    const own = defineTube<string | Buffer>('all.kinds', { codec });
    const encoded = await producer.delay(own, 'ä', '5h');
    const packed = await producer.delay(own, Buffer.from([0, 255]), '6h');
    await listed('all.kinds', 6);
    const { code, jobs, stderr } = await exported(['all.kinds']);
    const common = { tube: 'all.kinds', state: 'waiting', attempt: 0, priority: 'normal' };
    const at = ({ dueAt }: { dueAt: Date }) => dueAt.toISOString();
    expect(jobs).toEqual([
      { ...common, id: plain.id, ref: plain.ref, dueAt: at(plain), payload: { order: 1 } },
      {
        ...common,
        id: keyed.id,
        ref: expect.any(String),
        dueAt: at(keyed),
        payload: 'text',
        key: 'k',
        priority: 'high',
        attempts: 3,
        headers: { tenant: 'a' },
      },
      { ...common, id: bytes.id, ref: bytes.ref, dueAt: at(bytes), payload: { base64: 'AP8=' } },
      { ...common, id: empty.id, ref: empty.ref, dueAt: at(empty) },
      {
        ...common,
        id: encoded.id,
        ref: encoded.ref,
        dueAt: at(encoded),
        payload: { codec: 'own', text: 'ä' },
      },
      {
        ...common,
        id: packed.id,
        ref: packed.ref,
        dueAt: at(packed),
        payload: { codec: 'own', base64: 'AP8=' },
      },
    ]);
    expect([code, stderr]).toEqual([0, 'nest-dq: 6 jobs; the tube had 6 listed of about 6 waiting\n']);
  });

  it('prints the dead letters if they are asked for', async () => {
    await suite.prepare();
    expect((await exported([TUBE])).jobs.map(({ state }) => state)).toEqual(['waiting']);
    const { code, jobs, stderr } = await exported([TUBE, '--dead']);
    expect(code).toBe(0);
    expect(jobs).toEqual([
      expect.objectContaining({ state: 'waiting', key: 'order-42', payload: { order: 42 } }),
      expect.objectContaining({
        state: 'dead',
        key: 'order-13',
        why: 'discarded',
        payload: { order: 13, bad: true },
        error: expect.objectContaining({ message: 'the order has no user' }),
      }),
    ]);
    expect(stderr).toMatch(/\nnest-dq: 1 dead letter\n$/);
  });

  describe('of many pages', () => {
    const MANY = 350;
    beforeAll(async () => {
      const payload = 'x'.repeat(1_000);
      const jobs = Array.from({ length: MANY }, () => ({ payload, delay: '1h' as const }));
      await suite.system.producer.addMany('many', jobs);
      await listed('many', MANY);
    });

    it('prints each once', async () => {
      const { stderr } = await suite.shell(`${CLI} export many > many.jsonl`, suite.folder);
      expect(stderr).toBe('nest-dq: 350 jobs; the tube had 350 listed of about 350 waiting\n');
      const lines = (await readFile(join(suite.folder, 'many.jsonl'), 'utf8')).trimEnd().split('\n');
      const jobs = lines.map((line) => JSON.parse(line) as { id: string; dueAt: string; payload: string });
      expect(new Set(jobs.map(({ id }) => id)).size).toBe(MANY);
      expect(jobs.map(({ dueAt }) => dueAt)).toEqual(jobs.map(({ dueAt }) => dueAt).toSorted());
      expect(jobs.every(({ payload }) => payload.length === 1_000)).toBe(true);
    });

    it('ends when nobody reads it any more', async () => {
      const { stdout } = await suite.shell(`{ ${CLI} export many; echo $? >&2; } | head -n 1`, suite.folder);
      expect(JSON.parse(stdout)).toMatchObject({ tube: 'many', state: 'waiting' });
    });
  });

  it('prints a job of which no reachable copy, and ends with 1', async () => {
    const { producer } = suite.system;
    const { id } = await producer.delay('gone', { order: 7 }, '1h');
    await listed('gone', 1);
    const nodes = { DQ_BEANSTALKS: '127.0.0.1:1,127.0.0.1:2' };
    const { code, stdout, stderr } = await suite.nestDq(['export', 'gone'], nodes);
    expect(JSON.parse(stdout)).toMatchObject({ id, tube: 'gone', copy: false });
    expect(JSON.parse(stdout)).not.toHaveProperty('payload');
    expect(code).toBe(1);
    expect(stderr).toContain('nest-dq: 1 without a payload: no reachable copy\n');
  });

  it('refuses an invalid tube, and ends with 2 where Redis is away', async () => {
    expect(await suite.nestDq(['export', 'a b'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('DQ_BAD_TUBE'),
    });
    expect(await suite.nestDq(['export', TUBE], { DQ_REDIS: 'redis://127.0.0.1:1' })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('Redis unusable from here: connect ECONNREFUSED'),
    });
  });
});
