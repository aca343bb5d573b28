import { describe, expect, it } from '@jest/globals';
import { Cluster } from './cluster/cluster.js';
import { ClusterNode } from './cluster/cluster-node.js';
import { EmbeddedNode } from './embedded/embedded-node.js';
import { unwrap, type Envelope } from './envelope.js';
import { DqError } from './errors.js';
import { parseRef } from './job-ids.js';
import type { JobReceipt } from './job.js';
import type { RevokeRequest, SettledCopies } from './ledger/ledger.js';
import { MemoryLedger } from './ledger/memory-ledger.js';
import type { MemoryTubeLedger } from './ledger/memory-tube-ledger.js';
import { SettleQueue } from './ledger/settle-queue.js';
import { ClusterProducer } from './producer.js';
import { ScriptedNode } from './testing/scripted-node.js';
import { VirtualClock } from './testing/virtual-clock.js';
import type { When } from './time.js';

const SETTINGS = { lease: 15_000, doneTtl: 60_000, staleAfter: 604_800_000 };
const DOWN = new DqError('DQ_LEDGER_DOWN', 'Redis did not answer');
const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/** The memory ledger, with what a spec changes of it. */
class ChangedLedger extends MemoryLedger {
  readonly revokes: RevokeRequest[] = [];
  readonly settled: SettledCopies[] = [];
  readonly asked: string[] = [];
  /** Its clock is so much ahead of the machine's. */
  ahead = 0;
  down = false;
  readTime: () => Promise<void> = async () => undefined;

  constructor(private readonly clock: VirtualClock) {
    super({ settings: SETTINGS, clock });
  }

  override tube(name: string): MemoryTubeLedger {
    const tube = super.tube(name);
    return Object.assign(Object.create(tube) as MemoryTubeLedger, {
      now: () => this.clock.wall() + this.ahead,
      readTime: () => {
        this.asked.push(name);
        return this.readTime();
      },
      revoke: async (requests: readonly RevokeRequest[]) => {
        this.revokes.push(...requests);
        if (this.down) throw DOWN;
        return tube.revoke(requests);
      },
      settle: async (settled: readonly SettledCopies[]) => void this.settled.push(...settled),
    });
  }
}

interface Server {
  dial(): ReturnType<EmbeddedNode['dial']>;
}

async function setup<S extends Server>(servers: S[], clock: VirtualClock, prefix = '') {
  const ledger = new ChangedLedger(clock);
  const nodes = servers.map((_, i) => new ClusterNode(`n${i}:1`, () => servers[i]!.dial(), clock));
  const replicas = Math.min(3, nodes.length);
  const cluster = new Cluster(nodes, { replicas, minWritten: Math.min(2, replicas) });
  Object.assign(cluster, { turn: 0 }); // the first job's primary goes to the first node
  const settleQueue = new SettleQueue(ledger, clock);
  const producer = new ClusterProducer(cluster, ledger, settleQueue, clock, { prefix, backupDelay: 2_000 });
  cluster.start();
  await clock.advance(0);
  /** The result of a call that takes some time: its value, or its error. */
  const after = async <T>(ms: number, call: Promise<T>): Promise<T> => {
    const settled = Promise.allSettled([call]);
    await clock.advance(ms);
    const [result] = await settled;
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  };
  return { clock, servers, ledger, nodes, cluster, settleQueue, producer, after };
}

/** Nodes that answer as a spec says. */
async function scripted(count = 3, prefix = '') {
  const clock = new VirtualClock();
  const all = await setup(
    Array.from({ length: count }, (_, i) =>
      Object.assign(new ScriptedNode(clock), { instance: `instance${i}` }),
    ),
    clock,
    prefix,
  );
  for (const server of all.servers) server.answers['delete'] = () => 'DELETED';
  const copies = (): { line: string; envelope: Envelope }[] =>
    all.servers
      .flatMap(({ arrived }) => arrived)
      .filter(({ line }) => line.startsWith('put '))
      .map(({ line, body }) => ({ line, envelope: unwrap(body) as Envelope }))
      .sort((a, b) => a.envelope.header.index - b.envelope.header.index);
  const words = (): string[] => all.servers.flatMap((server) => server.words);
  return { ...all, copies, words };
}

/** Real, embedded nodes. */
async function embedded(count = 3) {
  const clock = new VirtualClock();
  const servers = Array.from({ length: count }, () => new EmbeddedNode(clock));
  const all = await setup(servers, clock);
  /** Copies of the tube that any node still has. */
  const left = async (tube: string): Promise<number> => {
    let sum = 0;
    for (const node of all.nodes) {
      const lane = node.connectLane(() => undefined);
      if (!lane) continue;
      const stats = await lane.ask<Readonly<Record<string, string>> | 'NOT_FOUND'>((done) =>
        lane.statsTube(tube, done),
      );
      lane.close();
      if (stats === 'NOT_FOUND') continue;
      for (const kind of ['ready', 'reserved', 'delayed', 'buried'])
        sum += Number(stats[`current-jobs-${kind}`]);
    }
    return sum;
  };
  return { ...all, left };
}

const failure = async (call: Promise<unknown>): Promise<DqError> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DqError);
  return error as DqError;
};

describe('an add', () => {
  it('is due by ledger time, to the millisecond', async () => {
    const { clock, ledger, producer } = await scripted();
    ledger.ahead = 12_345.6;
    const now = clock.wall();
    const due = async (receipt: Promise<JobReceipt>) => (await receipt).dueAt.getTime() - now;
    expect(await due(producer.delay('t', 1, '1m'))).toBe(72_346);
    expect(await due(producer.delay('t', 1, 1))).toBe(12_347);
    expect(await due(producer.now('t', 1))).toBe(12_345);
    expect(await due(producer.at('t', 1, now + 60_000))).toBe(60_000);
    expect(await due(producer.at('t', 1, new Date(now + 60_000)))).toBe(60_000);
  });

  it('stores what the job is, and when its copies surface', async () => {
    const { clock, ledger, producer, copies } = await scripted(3, 'app.');
    ledger.ahead = 500;
    const options = { priority: 'high', attempts: 4, headers: { tenant: 'x' } } as const;
    const receipt = await producer.delay('t', { a: 1 }, '1m', options);
    const due = clock.wall() + 60_500;
    expect(
      copies().map(({ envelope: { header, content } }) => [header.index, content.bytes.toString()]),
    ).toEqual([
      [0, '{"a":1}'],
      [1, '{"a":1}'],
      [2, '{"a":1}'],
    ]);
    expect(copies()[0]!.envelope.header).toMatchObject({
      id: receipt.id,
      due,
      generation: 0,
      copies: 3,
      priority: 0,
      attempts: 4,
      headers: { tenant: 'x' },
    });
    const delays = copies().map(({ line }) => Number(line.split(' ')[2]));
    expect(delays).toEqual([59, 62, 64]);
    expect(ledger.asked).toEqual(['app.t']);
  });

  it('returns a receipt that finds every copy, also after JSON', async () => {
    const { producer, clock } = await scripted();
    const receipt = await producer.delay('t', 1, '1m');
    expect(receipt).toMatchObject({ tube: 't', copies: 3, dueAt: new Date(clock.wall() + 60_000) });
    expect(receipt.id).toMatch(ULID);
    const ids = parseRef(JSON.parse(JSON.stringify(receipt)) as JobReceipt);
    expect(ids).toMatchObject({
      id: receipt.id,
      tube: 't',
      born: 0,
      due: receipt.dueAt.getTime(),
      copies: 3,
    });
    expect(ids.places.map(({ index, location }) => `${index} ${location}`).sort()).toEqual([
      '0 n0:1#instance0:1',
      '1 n1:1#instance1:1',
      '2 n2:1#instance2:1',
    ]);
  });

  it('gives each job an id of its own', async () => {
    const { producer } = await scripted();
    const receipts = await Promise.all(Array.from({ length: 200 }, () => producer.delay('t', 1, '1m')));
    expect(new Set(receipts.map(({ id }) => id)).size).toBe(200);
  });

  it('keeps payload and headers as they were at the call', async () => {
    const { producer, copies } = await scripted();
    const payload = { a: 1 };
    const headers = { tenant: 'x' };
    const added = producer.delay('t', payload, '1m', { headers });
    payload.a = 2;
    headers.tenant = 'y';
    await added;
    expect(copies()[0]!.envelope.content.bytes.toString()).toBe('{"a":1}');
    expect(copies()[0]!.envelope.header.headers).toEqual({ tenant: 'x' });
  });

  it('of a past time that is allowed is due now, and not stale', async () => {
    const { clock, producer } = await scripted();
    const now = clock.wall();
    const past = new Date(now - 86_400_000);
    expect((await producer.at('t', 1, past, { allowPast: true })).dueAt).toEqual(new Date(now));
    expect((await producer.at('t', 1, now - 1_000)).dueAt).toEqual(new Date(now));
    expect(await failure(producer.at('t', 1, now - 1_001))).toMatchObject({
      code: 'DQ_PAST_TIME',
      indeterminate: false,
    });
  });

  it('takes the past by ledger time', async () => {
    const { clock, ledger, producer } = await scripted();
    ledger.ahead = 10_000;
    expect((await failure(producer.at('t', 1, clock.wall() + 5_000))).code).toBe('DQ_PAST_TIME');
  });

  it('goes as far ahead as beanstalkd can count', async () => {
    const { clock, producer, words } = await scripted();
    const most = (2 ** 32 - 1) * 1_000;
    expect((await failure(producer.at('t', 1, clock.wall() + most + 1))).code).toBe('DQ_TOO_FAR');
    expect((await failure(producer.at('t', 1, 1e16))).code).toBe('DQ_TOO_FAR');
    expect(words()).toEqual([]);
    expect((await producer.at('t', 1, clock.wall() + most)).copies).toBe(3);
  });

  it.each<[string, (producer: ClusterProducer) => Promise<unknown>]>([
    ['DQ_BAD_TUBE', (producer) => producer.now('no tube', 1)],
    ['DQ_BAD_PAYLOAD', (producer) => producer.now('t', 5n)],
    ['DQ_BAD_DURATION', (producer) => producer.delay('t', 1, '900')],
    ['DQ_BAD_DURATION', (producer) => producer.delay('t', 1, 1_900_000_000_000)],
    ['DQ_BAD_TIME', (producer) => producer.at('t', 1, 1_900_000_000)],
    ['DQ_BAD_TIME', (producer) => producer.at('t', 1, '2030-01-01' as unknown as When)],
    ['DQ_BAD_OPTION', (producer) => producer.now('t', 1, { attempts: 0 })],
  ])('refuses as %s before anything is asked', async (code, add) => {
    const { producer, ledger, words } = await scripted();
    expect((await failure(add(producer))).code).toBe(code);
    expect([ledger.asked, words()]).toEqual([[], []]);
  });

  it('refuses a payload that is too large for any node, before any put', async () => {
    const { producer, words } = await scripted();
    const error = await failure(producer.now('t', 'x'.repeat(65_536)));
    expect(error).toMatchObject({ code: 'DQ_BAD_PAYLOAD', indeterminate: false });
    expect(error.message).toContain('expected 65535 at most');
    expect(words()).toEqual([]);
    expect((await producer.now('t', 'x'.repeat(65_000))).copies).toBe(3);
  });

  it('takes a large payload while a node with the same large limit was never in reach', async () => {
    const clock = new VirtualClock();
    const servers = [0, 1, 2].map((i) => {
      const server = new ScriptedNode(clock);
      server.answers['stats'] = () => server.ok(`id: i${i}\nmax-job-size: 1000000`);
      return server;
    });
    servers[2]!.refusing = true;
    const { producer } = await setup(servers, clock);
    expect((await producer.now('t', 'x'.repeat(500_000))).copies).toBe(2);
  });
});

describe('the first add', () => {
  it('waits for ledger time, which its delay does not, and those after it do not', async () => {
    const { clock, ledger, producer, words } = await scripted();
    let known!: () => void;
    ledger.readTime = () => new Promise<void>((resolve) => (known = resolve));
    const first = producer.delay('t', 1, '1m');
    await clock.advance(499);
    expect(words()).toEqual([]);
    ledger.ahead = 7_000;
    known();
    expect((await first).dueAt.getTime()).toBe(clock.wall() - 499 + 67_000);
    expect((await producer.delay('t', 1, '1m')).dueAt.getTime()).toBe(clock.wall() + 67_000);
    expect(ledger.asked).toEqual(['t']);
  });

  it('waits no longer than 500 ms', async () => {
    const { clock, ledger, producer, words } = await scripted();
    ledger.readTime = () => new Promise<void>(() => undefined);
    const first = producer.delay('t', 1, '1m');
    await clock.advance(499);
    expect(words()).toEqual([]);
    await clock.advance(1);
    expect((await first).copies).toBe(3);
  });

  it('goes on at once when the ledger does not answer', async () => {
    const { ledger, producer } = await scripted();
    ledger.readTime = () => Promise.reject(DOWN);
    ledger.down = true;
    expect((await producer.delay('t', 1, '1m')).copies).toBe(3);
  });
});

describe('an add that finds too few nodes', () => {
  it('stores nothing, and says why, when no node is there', async () => {
    const { clock, servers, ledger, producer, after } = await scripted();
    for (const server of servers) {
      server.refusing = true;
      server.cut();
    }
    await clock.advance(0);
    const error = await failure(after(2_000, producer.delay('t', 1, '1m')));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect(error.message).toMatch(/stored on 0 of 3 nodes, need 2: .*n\d:1: .*; nothing of it will run$/);
    expect(Object.keys(error.nodes!).length).toBeGreaterThanOrEqual(2);
    expect(ledger.revokes).toEqual([]);
  });

  it('takes back what it stored, and needs no ledger for that', async () => {
    const { servers, ledger, producer, words, after } = await scripted();
    ledger.down = true;
    servers[0]!.answers['put'] = () => 'DRAINING';
    servers[1]!.answers['put'] = () => 'DRAINING';
    const error = await failure(after(2_000, producer.delay('t', 1, '1m')));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect(error.nodes).toEqual({
      'n0:1': expect.stringContaining('DRAINING'),
      'n1:1': expect.stringContaining('DRAINING'),
    });
    expect(words().filter((word) => word === 'delete')).toHaveLength(1);
    expect(ledger.revokes).toEqual([]);
  });

  it.each<[string, 'delay' | 'now']>([
    ['a job to come', 'delay'],
    ['a job that is due', 'now'],
  ])('has the ledger refuse what it cannot take back: %s', async (_name, kind) => {
    const { servers, ledger, producer, after } = await scripted();
    for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
    const add = kind === 'now' ? producer.now('t', 1) : producer.delay('t', 1, '1m');
    const error = await failure(after(2_000, add));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect(ledger.revokes).toHaveLength(1);
    const [{ id, due, owed }] = ledger.revokes as [RevokeRequest];
    expect(owed).toEqual({ mask: 0b110, unknown: true });
    // A copy that surfaces after all is turned away.
    const claim = { id, generation: 0, due, token: 'x', attempts: 10 };
    expect(await ledger.tube('t').claim([claim])).toEqual([{ kind: 'gone' }]);
  });

  it('says that the job may still run when neither nodes nor ledger answer', async () => {
    const { servers, ledger, producer, after } = await scripted();
    ledger.down = true;
    for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
    const error = await failure(after(2_000, producer.delay('t', 1, '1m')));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: true });
    expect(error.message).toContain('it may still run');
  });

  it('says so too when the job was started in the meantime', async () => {
    const { clock, servers, ledger, producer, copies } = await scripted();
    for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
    const add = failure(producer.now('t', 1));
    await clock.advance(0);
    const { id, due } = copies()[0]!.envelope.header;
    await ledger.tube('t').claim([{ id, generation: 0, due, token: 'x', attempts: 10 }]);
    await clock.advance(2_000);
    expect(await add).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: true });
  });

  it('says so when the ledger is closed under it', async () => {
    const { servers, ledger, producer, after } = await scripted();
    for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
    const add = failure(after(2_000, producer.now('t', 1)));
    await ledger.close();
    expect(await add).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: true });
  });

  it('is none with backups alone', async () => {
    const { servers, producer, after } = await scripted();
    servers[0]!.answers['put'] = () => undefined;
    const receipt = await after(2_000, producer.delay('t', 1, '1m'));
    expect(receipt.copies).toBe(2);
    expect(parseRef(receipt).places.map(({ location }) => location)).toContain('n0:1#instance0:?');
  });
});

describe('revoke', () => {
  it('decides in the ledger, then deletes every copy', async () => {
    const { producer, ledger, servers, left } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    expect(await left('t')).toBe(3);
    let atDecision = 0;
    const tube = ledger.tube.bind(ledger);
    ledger.tube = (name) => {
      const made = tube(name);
      const revoke = made.revoke.bind(made);
      return Object.assign(made, {
        revoke: async (requests: readonly RevokeRequest[]) => {
          const answers = await revoke(requests);
          atDecision = await left('t');
          return answers;
        },
      });
    };
    expect(await producer.revoke(receipt)).toBe('revoked');
    expect([atDecision, await left('t')]).toEqual([3, 0]);
    const { id } = receipt;
    const claim = { id, generation: 0, due: 0, token: 'x', attempts: 10 };
    expect(await ledger.tube('t').claim([claim])).toEqual([{ kind: 'gone' }]);
    expect(servers).toHaveLength(3);
  });

  it('takes a receipt, its ids, and a receipt after JSON', async () => {
    const { producer } = await embedded();
    const receipts = await Promise.all([1, 2, 3].map((i) => producer.delay('t', i, '1m')));
    expect(await producer.revoke(receipts[0]!)).toBe('revoked');
    expect(await producer.revoke(receipts[1]!.ids)).toBe('revoked');
    expect(await producer.revoke(JSON.parse(JSON.stringify(receipts[2])) as JobReceipt)).toBe('revoked');
  });

  it('deletes nothing when the ledger does not answer', async () => {
    const { producer, ledger, left } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    ledger.down = true;
    expect((await failure(producer.revoke(receipt))).code).toBe('DQ_LEDGER_DOWN');
    expect(await left('t')).toBe(3);
  });

  it('tells that a job runs, or is done, and leaves its copies alone', async () => {
    const { producer, ledger, left, clock } = await embedded();
    const receipt = await producer.now('t', 1);
    const { id, due } = parseRef(receipt);
    const claim = { id, generation: 0, due, token: 'x', attempts: 10 };
    const [answer] = await ledger.tube('t').claim([claim]);
    expect(await producer.revoke(receipt)).toBe('running');
    const fence = answer!.kind === 'run' ? answer!.fence : 0;
    await ledger.tube('t').finish([
      {
        id,
        generation: 0,
        due,
        fence,
        attempt: 1,
        lastOk: clock.wall(),
        owed: { mask: 0b111, unknown: false },
        outcome: { kind: 'done' },
      },
    ]);
    expect(await producer.revoke(receipt)).toBe('done');
    expect(await left('t')).toBe(3);
  });

  it('is in time for a job so long overdue that its end may be forgotten, when every copy was still there', async () => {
    const { producer, left, clock } = await embedded();
    const receipt = await producer.now('t', 1);
    await clock.advance(60_000);
    expect(await producer.revoke(receipt)).toBe('revoked');
    expect(await left('t')).toBe(0);
  });

  it('does not know about such a job when a copy was missing', async () => {
    const { producer, nodes, clock } = await embedded();
    const receipt = await producer.now('t', 1);
    await clock.advance(60_000);
    const lane = nodes[1]!.connectLane(() => undefined)!;
    await lane.ask((done) => lane.watch('t', done));
    await lane.ask((done) => lane.reserveWithTimeout(0, done));
    expect(await producer.revoke(receipt)).toBe('unknown');
    lane.close();
  });

  it('does not delete the innocent jobs of nodes that came back empty', async () => {
    const { producer, nodes, servers, clock, left } = await embedded();
    const old = await producer.delay('t', 'old', '1h');
    for (const [i, server] of servers.entries()) {
      server.close();
      servers[i] = new EmbeddedNode(clock);
    }
    await clock.advance(3_000);
    expect(nodes.map(({ up }) => up)).toEqual([true, true, true]);
    const innocent = await producer.delay('t', 'innocent', '1h');
    const copyIds = (receipt: JobReceipt) =>
      parseRef(receipt).places.map(({ location }) => location.slice(location.lastIndexOf(':')));
    expect(copyIds(innocent)).toEqual(copyIds(old));
    expect(await producer.revoke(old)).toBe('revoked');
    expect(await left('t')).toBe(3);
    expect(await producer.revoke(innocent)).toBe('revoked');
    expect(await left('t')).toBe(0);
  });

  it('settles what it deleted, once that is certain', async () => {
    const { producer, ledger, clock, left } = await embedded();
    const receipt = await producer.delay('t', 1, '1h');
    await producer.revoke(receipt);
    expect(await left('t')).toBe(0);
    await clock.advance(65_000);
    expect(ledger.settled).toEqual([{ id: receipt.id, generation: 0, mask: 0b111, unknown: false }]);
  });

  it.each<unknown>(['', 'x', undefined, null, 5, {}, { ids: 'dq1.x' }])('refuses %p', async (ref) => {
    const { producer, ledger } = await scripted();
    expect((await failure(producer.revoke(ref as string))).code).toBe('DQ_BAD_REF');
    expect(ledger.revokes).toEqual([]);
  });
});

describe('a closed producer', () => {
  it('takes nothing any more', async () => {
    const { producer, words } = await scripted();
    const receipt = await producer.delay('t', 1, '1m');
    const before = words().length;
    producer.close();
    producer.close();
    for (const call of [
      producer.now('t', 1),
      producer.delay('t', 1, '1m'),
      producer.at('t', 1, 1e13),
      producer.revoke(receipt),
    ]) {
      expect(await failure(call)).toMatchObject({ code: 'DQ_CLOSED', indeterminate: false });
    }
    expect(words()).toHaveLength(before);
  });

  it('fails the add that was waiting for ledger time', async () => {
    const { producer, ledger, cluster, words, after } = await scripted();
    ledger.readTime = () => new Promise<void>(() => undefined);
    const add = failure(after(500, producer.delay('t', 1, '1m')));
    producer.close();
    cluster.close();
    expect((await add).code).toBe('DQ_CLOSED');
    expect(words()).toEqual([]);
  });
});
