// The ledger in a Redis Cluster while the slot of a tube moves from one master to another.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import type { TubeLedger } from 'nest-dq/src/ledger/ledger.js';
import { LedgerIndex } from 'nest-dq/src/ledger/ledger-index.js';
import { RedisLedger } from 'nest-dq/src/ledger/redis/redis-ledger.js';
import { systemClock } from 'nest-handlers/time';
import { stored } from 'nest-dq/spec-support/stored.js';
import { eventually, type RedisServer, startRedis } from 'test-servers';
import { SETTINGS } from './ledger-harness.js';

const OWED = { mask: 1, unknown: false };

let servers: RedisServer[];
/** To the master that has all slots, and to the one that gets the tube's. */
let source: Redis;
let target: Redis;
let client: Cluster;
let ledger: RedisLedger;
let tube: TubeLedger;
let slot: number;

beforeAll(async () => {
  servers = await Promise.all([startRedis({ cluster: true }), startRedis({ cluster: 'no slots' })]);
  [source, target] = servers.map(({ url }) => new Redis(url)) as [Redis, Redis];
  const [{ host, port }, other] = servers as [RedisServer, RedisServer];
  await source.cluster('MEET', other.host, other.port);
  await eventually('they are one cluster', async () => {
    const all = await Promise.all([source, target].map((each) => each.cluster('INFO')));
    return all.every((info) => info.includes('cluster_known_nodes:2') && info.includes('cluster_state:ok'));
  });
  slot = await source.cluster('KEYSLOT', '{moving}:job');
  // A master of its own right: every five seconds ioredis closes its connections to those that hold no slot.
  await giveToTarget((slot + 1) % 16_384);
  client = new Cluster([{ host, port }], { lazyConnect: true });
  ledger = new RedisLedger({ redis: client, settings: SETTINGS, clock: systemClock, warn: () => undefined });
  ledger.start();
  tube = ledger.tube('moving');
  await tube.readTime();
}, 120_000);

afterAll(async () => {
  await ledger.close();
  for (const each of [source, target, client]) each.disconnect();
  await Promise.all(servers.map((server) => server.stop()));
});

async function beginMoving(of = slot): Promise<void> {
  await target.cluster('SETSLOT', of, 'IMPORTING', await source.cluster('MYID'));
  await source.cluster('SETSLOT', of, 'MIGRATING', await target.cluster('MYID'));
}

async function move(...keys: string[]): Promise<void> {
  const { host, port } = servers[1]!;
  await source.call('MIGRATE', host, port, '', 0, 5_000, 'KEYS', ...keys);
}

async function endMoving(of = slot): Promise<void> {
  await move(...(await source.cluster('GETKEYSINSLOT', of, 1_000)));
  await giveToTarget(of);
}

async function giveToTarget(given: number): Promise<void> {
  const id = await target.cluster('MYID');
  for (const each of [target, source]) await each.cluster('SETSLOT', given, 'NODE', id);
}

const copy = (id: string) => {
  const due = Math.floor(tube.now()) - 1_000;
  return { id, generation: 0, born: 0, due, token: id, attempts: 10 };
};
const runOf = (id: string, answer: unknown) => {
  const { fence } = answer as { fence: number };
  return { id, generation: 0, born: 0, due: 0, fence, attempt: 1, lastOk: tube.now() };
};

it('keeps serving old jobs and new ones, on whichever master they are, and is away for nobody', async () => {
  const events: string[] = [];
  ledger.listen({ away: ({ message }) => events.push(message), back: () => events.push('back') });
  const [stays, moves, dies] = await tube.claim(['stays', 'moves', 'dies'].map(copy));
  await beginMoving();
  await move('{moving}:moves');

  const claimed = await tube.claim(['new', 'stays', 'moves', 'newer'].map(copy), {
    settled: [{ id: 'stays', generation: 0, mask: 2, unknown: false }],
  });
  expect(claimed.map(({ kind }) => kind)).toEqual(['run', 'run', 'run', 'run']);
  const runs = [runOf('stays', stays), runOf('moves', moves), runOf('new', claimed[0])];
  await expect(tube.extend(runs)).resolves.toEqual(['ok', 'ok', 'ok']);
  const done = { kind: 'done' } as const;
  const finishes = runs.map((run) => ({ ...run, owed: OWED, outcome: done }));
  await expect(tube.complete(finishes)).resolves.toEqual(['ok', 'ok', 'ok']);
  await tube.settle(runs.map(({ id }) => ({ id, generation: 0, mask: 1, unknown: false })));

  const opening = { by: 'add', onDuplicate: 'replace' } as const;
  const due = Date.now() + 60_000;
  const keys = ['one', 'two'];
  const opened = await tube.open(keys.map((id) => ({ id, opening, due, owed: OWED, announced: 1 })));
  const commits = opened.map((answer, i) => {
    const { generation } = answer as { generation: number };
    const stored = { generation, due, owed: OWED, announced: 1, places: [] };
    return { ...stored, id: keys[i]!, opening, born: generation, undecidedUntil: due };
  });
  await expect(tube.commit(commits)).resolves.toMatchObject([{ kind: 'committed' }, { kind: 'committed' }]);
  await expect(tube.find([...keys, 'moves'])).resolves.toMatchObject([
    { state: 'waiting' },
    { state: 'waiting' },
    { state: 'done' },
  ]);
  const revokes = keys.map((id) => ({ id, born: undefined, due, owed: OWED, abort: false }));
  await expect(tube.revoke(revokes)).resolves.toMatchObject([{ result: 'revoked' }, { result: 'revoked' }]);

  // A dead letter is more than one key: it waits until the slot has moved.
  const dead = { kind: 'dead', death: { why: 'discarded' }, places: [] } as const;
  const death = [{ ...runOf('dies', dies), owed: OWED, outcome: dead }];
  await expect(tube.complete(death)).rejects.toMatchObject({ code: 'DQ_LEDGER_DOWN' });
  await expect(ledger.tube('elsewhere').claim([copy('other')])).resolves.toMatchObject([{ kind: 'run' }]);
  await endMoving();
  await expect(tube.complete(death)).resolves.toEqual(['ok']);
  await expect(tube.letters({ limit: 10, after: undefined })).resolves.toMatchObject({
    letters: [{ id: 'dies' }],
  });
  expect(events).toEqual([]);
}, 60_000);

it('completes a job while its slot moves, though its end is kept only before and after', async () => {
  const keeping = ledger.tube('keeping');
  const own = await source.cluster('KEYSLOT', '{keeping}:job');
  const run = { took: 1, attempt: 1, process: 'host:7' };
  const outcome = { kind: 'done', kept: { run, period: 60_000, max: 10 } } as const;
  const answers = await keeping.claim(['before', 'meanwhile', 'after'].map(copy));
  const complete = (id: string, index: number) =>
    keeping.complete([{ ...runOf(id, answers[index]), owed: OWED, outcome }]);
  await expect(complete('before', 0)).resolves.toEqual(['ok']);
  await beginMoving(own);
  await move('{keeping}::ends');
  await expect(complete('meanwhile', 1)).resolves.toEqual(['ok']);
  await expect(keeping.find(['meanwhile'])).resolves.toMatchObject([{ state: 'done' }]);
  await expect(keeping.ask('finished', [{ limit: 10 }])).rejects.toMatchObject({ code: 'DQ_LEDGER_DOWN' });
  await endMoving(own);
  await expect(complete('after', 2)).resolves.toEqual(['ok']);
  const [list] = await keeping.ask('finished', [{ limit: 10 }]);
  expect(list!.jobs.map(({ id }) => id)).toEqual(['after', 'before']);
}, 60_000);

it('drops a job from the list that ended while its slot moved, as soon as someone looks', async () => {
  const listing = ledger.tube('listing');
  const index = new LedgerIndex({ tube: () => listing });
  const any = stored('any');
  const own = await source.cluster('KEYSLOT', '{listing}:job');
  const due = Math.floor(tube.now()) - 1_000;
  const places = [{ index: 0, location: 'n:11300#i:1' }];
  await listing.ask(
    'index',
    ['ended', 'waits'].map((id) => ({ id, due, places })),
  );
  await beginMoving(own);
  await move('{listing}::index');
  const [answer] = await listing.claim([{ ...copy('ended'), due }]);
  const completed = { ...runOf('ended', answer), owed: OWED, outcome: { kind: 'done' } } as const;
  await expect(listing.complete([completed])).resolves.toEqual(['ok']);
  await endMoving(own);
  await expect(index.counts(any)).resolves.toMatchObject({ listed: 2 });
  const { jobs } = await index.page(any, { limit: 10 });
  expect(jobs.map(({ id }) => id)).toEqual(['waits']);
  await expect(index.counts(any)).resolves.toMatchObject({ listed: 1 });
}, 60_000);
