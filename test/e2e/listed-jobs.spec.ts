import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ask, eventually } from 'test-servers';
import { startServers, startSystem, type Servers, type System } from '../support/system.js';

const HOUR = 3_600_000;
let servers: Servers;
let adding: System;
let other: System;

beforeAll(async () => {
  servers = await startServers();
  adding = startSystem(servers);
  other = startSystem(servers);
  const isReady = ({ nodes }: System) => nodes.every(({ up }) => up);
  await eventually('both reach all nodes', () => isReady(adding) && isReady(other));
}, 120_000);

afterAll(async () => {
  await Promise.all([adding.stop(), other.stop()]);
  await servers.stop();
});

/** Adds a plain job, and waits until another process can list it. */
async function listed(tube: string) {
  const receipt = await adding.producer.delay(tube, { of: tube }, '1h');
  const isThere = async () => (await other.inspector.jobs(tube)).jobs.some(({ id }) => id === receipt.id);
  await eventually('it is listed', isThere);
  return { receipt, ref: { tube, id: receipt.id } };
}

async function copiesOf(tube: string): Promise<number> {
  const found = await Promise.all(servers.beanstalkds.map((node) => ask(node, `stats-tube ${tube}`)));
  return found.reduce((sum, stats) => sum + Number(/current-jobs-delayed: (\d+)/.exec(stats)?.[1] ?? 0), 0);
}

describe('a plain job of another process', () => {
  it('is listed with its reference, its state and its time', async () => {
    const { receipt } = await listed('shown');
    expect(await other.inspector.jobs('shown')).toEqual({
      jobs: [
        {
          id: receipt.id,
          ref: receipt.ref,
          tube: 'shown',
          state: 'waiting',
          dueAt: receipt.dueAt,
          attempt: 0,
        },
      ],
      listed: 1,
      about: 1,
    });
  });

  it('is listed with its key if that is asked for, and a plain one without', async () => {
    const keyed = await adding.producer.delay('keys', 1, '1h', { key: 'order «42»' });
    const moved = await adding.producer.delay('keys', 1, '1h', { key: 'moved' });
    await adding.producer.reschedule(moved, { delay: '2h' });
    const plain = await adding.producer.delay('keys', 1, '3h');
    const pageOf = (keys: boolean) => other.inspector.jobs('keys', { keys });
    await eventually('all are listed', async () => (await pageOf(false)).jobs.length === 3);
    const keysOf = async (keys: boolean) => (await pageOf(keys)).jobs.map(({ id, key }) => [id, key]);
    expect(await keysOf(true)).toEqual([
      [keyed.id, 'order «42»'],
      [moved.id, 'moved'],
      [plain.id, undefined],
    ]);
    expect((await keysOf(false)).map(([, key]) => key)).toEqual([undefined, undefined, undefined]);
  });

  it('is listed without its key while no node reports it', async () => {
    const { id } = await adding.producer.delay('silent', 1, '1h', { key: 'k' });
    const keyOf = async () => (await other.inspector.jobs('silent', { keys: true })).jobs;
    await eventually('it is listed', async () => (await keyOf()).length === 1);
    expect(await keyOf()).toMatchObject([{ id, key: 'k' }]);
    for (const node of servers.beanstalkds) node.freeze();
    try {
      const [job] = await keyOf();
      expect([job!.id, job!.key]).toEqual([id, undefined]);
    } finally {
      for (const node of servers.beanstalkds) node.thaw();
    }
  });

  it('is found by its tube and id', async () => {
    const { receipt, ref } = await listed('found');
    expect(await other.producer.find(ref)).toMatchObject({ state: 'waiting', ref: receipt.ref });
    expect(await other.producer.find({ tube: 'another', id: receipt.id })).toBeUndefined();
  });

  it('is revoked by its tube and id, with its copies and its entry', async () => {
    const { receipt, ref } = await listed('revoked');
    expect(await copiesOf('revoked')).toBe(3);
    expect(await other.producer.revoke(ref)).toBe('revoked');
    expect(await copiesOf('revoked')).toBe(0);
    expect(await adding.inspector.jobs('revoked')).toMatchObject({ jobs: [], listed: 0 });
    expect(await adding.producer.revoke(receipt)).toBe('revoked');
    expect(await adding.producer.find(receipt)).toMatchObject({ state: 'revoked' });
  });

  it('is moved by its tube and id, and is listed at its new time', async () => {
    const { receipt, ref } = await listed('moved');
    const at = new Date(receipt.dueAt.getTime() + HOUR);
    expect(await other.producer.reschedule(ref, at)).toBe('rescheduled');
    expect(await copiesOf('moved')).toBe(3);
    expect((await adding.inspector.jobs('moved')).jobs).toMatchObject([{ id: receipt.id, dueAt: at }]);
    expect(await adding.producer.revoke(ref)).toBe('revoked');
    expect(await copiesOf('moved')).toBe(0);
  });

  it('runs once at a time to which it was moved by its tube and id, and is over then', async () => {
    const { receipt, ref } = await listed('run');
    const runs: string[] = [];
    await adding.consumer.consume('run', (_payload, { id }) => void runs.push(id));
    expect(await other.producer.reschedule(ref, { delay: 0 })).toBe('rescheduled');
    await eventually('it is done', async () => (await other.producer.find(ref))?.state === 'done');
    expect(runs).toEqual([receipt.id]);
    expect(await other.producer.revoke(ref)).toBe('done');
    expect((await other.inspector.jobs('run')).jobs).toEqual([]);
  });
});

it('jobs that the index has no room for are counted and shown with the process', async () => {
  const bounded = startSystem(servers, { index: { most: 2 } });
  try {
    await bounded.producer.addMany(
      'full',
      Array.from({ length: 5 }, (_, payload) => ({ payload, delay: '1h' as const })),
    );
    const unlistedCounts = async () => (await adding.inspector.processes()).map(({ unlisted }) => unlisted);
    await eventually('three are reported', async () => (await unlistedCounts()).includes(3));
    expect((await adding.inspector.jobs('full')).listed).toBe(2);
  } finally {
    await bounded.stop();
  }
});

describe('without the index', () => {
  it.each(['revokeMany', 'rescheduleMany', 'repair'] as const)('%s is refused at the call', async (act) => {
    const without = startSystem(servers, { index: false });
    try {
      const { control } = without;
      const acts = {
        revokeMany: () => control.revokeMany('t', {}, { dryRun: true }),
        rescheduleMany: () => control.rescheduleMany('t', {}, { later: '1h' }),
        repair: () => control.repair(),
      };
      expect(acts[act]).toThrow(
        `DQ_CONFIG: \`index\` is off, so there are no listed jobs for \`${act}\` to find: expected \`index: true\` in all processes`,
      );
    } finally {
      await without.stop();
    }
  });
});
