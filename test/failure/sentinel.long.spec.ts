// A ledger whose Redis sentinels lead to: real ones, with a real replica, with TLS and without it.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import {
  ask,
  Authority,
  eventually,
  startRedis,
  startSentinel,
  type RedisServer,
  type SentinelServer,
} from 'test-servers';
import { BlockingProcess } from '../support/blocked-process.js';
import { record, schedule, type Start } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

/** Milliseconds. Longer than the least, so that a busy machine's threads get their turn within it. */
const LEASE = 5_000;
/** Milliseconds. What a master that dies has written last, its replica may not have. */
const JUST_BEFORE = 1_000;

const suite = clusterSuite();
let tubes = 0;

describe.each([
  ['without TLS', false],
  ['over TLS with client certificates', true],
])('with Sentinel, %s', (_, secure) => {
  let servers: RedisServer[];
  let sentinels: SentinelServer[];
  let redis: RedisOptions;
  let inspect: Redis[];
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sentinel-'));
    const tls = secure ? { tls: await (await Authority.make()).issue() } : {};
    const master = await startRedis(tls);
    const replica = await startRedis({
      ...tls,
      args: ['--replicaof', master.host, String(master.port), '--repl-diskless-sync-delay', '0'],
    });
    servers = [master, replica];
    inspect = servers.map(
      ({ host, port, tls: client }) => new Redis({ host, port, ...(client && { tls: client }) }),
    );
    for (const each of inspect) each.on('error', () => undefined); // one is killed
    await eventually('the replica follows', async () =>
      (await inspect[1]!.info('replication')).includes('master_link_status:up'),
    );
    sentinels = [
      await startSentinel({ name: 'shop', master, quorum: 2, ...tls }),
      await startSentinel({ name: 'shop', master, quorum: 2, ...tls }),
    ];
    await eventually('the sentinels know all', async () => {
      const known = await Promise.all(sentinels.map((each) => each.known()));
      return known.every((each) => each.includes('status=ok') && /slaves=1,sentinels=2/.test(each));
    });
    const { tls: client } = master;
    redis = {
      name: 'shop',
      sentinels: sentinels.map(({ host, port }) => ({ host, port })),
      // Bytes, as they come from a file: the thread that renews leases has to get them, too.
      ...(client && {
        tls: { ca: Buffer.from(client.ca), cert: Buffer.from(client.cert), key: Buffer.from(client.key) },
        enableTLSForSentinelMode: true,
        sentinelTLS: client,
      }),
    };
  }, 120_000);

  afterEach(() => {
    for (const each of sentinels.filter(({ pid }) => pid > 0)) each.thaw();
  });

  afterAll(async () => {
    for (const each of inspect) each.disconnect();
    await Promise.all([...servers, ...sentinels].map((server) => server.stop()));
    await rm(folder, { recursive: true });
  });

  it('shows the address of the master, and needs no answer of a sentinel that is frozen', async () => {
    const [master] = servers;
    sentinels[0]!.freeze();
    const { inspector } = suite.start({ redis });
    await eventually('Redis is up', async () => (await inspector.ledger()).up);
    expect(await inspector.ledger()).toMatchObject({
      servers: [{ address: `${master!.host}:${master!.port}`, role: 'master' }],
    });
  }, 60_000);

  it('has its leases renewed by the thread while the event loop is blocked', async () => {
    const tube = `sentinel${tubes++}`;
    const other = suite.start({ redis, advanced: { lease: LEASE } });
    const options = { ...optionsOf(suite.servers), redis, advanced: { lease: LEASE } };
    const blocked = new BlockingProcess(tube, options, join(folder, `go-on-${tube}`));
    const [receipt] = await schedule(other, tube, 1, () => Date.now());
    await eventually('it runs', () => blocked.starts.length === 1);
    // A blocked process holds the copy that it runs, and takes backups too: its connections last. Not these.
    await Promise.all(suite.servers.beanstalkds.map((beanstalkd) => beanstalkd.restart()));
    const others: Start[] = [];
    await record(other, tube, others);
    const since = Date.now();
    await eventually('a lease would be over, twice', () => Date.now() - since > 2.5 * LEASE);
    await blocked.release();
    await eventually('it ended', () => blocked.ends.length === 1);
    await eventually('it is done', async () => (await other.producer.find(receipt!))?.state === 'done');
    expect([blocked.starts.length, others, blocked.lostItsLease]).toEqual([1, [], false]);
  }, 120_000);

  it('works with the rights of docs/clusters.md, and not with one right less at the sentinels', async () => {
    const docs = readFileSync(new URL('../../docs/clusters.md', import.meta.url), 'utf8');
    const [ofRedis, ofSentinel] = Array.from(docs.matchAll(/^ACL SETUSER (\S+) on >(\S+) (.*)$/gm));
    const [, username, password, rights] = ofRedis!;
    const [, sentinelUsername, sentinelPassword, sentinelRights] = ofSentinel!;
    for (const each of inspect)
      await each.call('ACL', 'SETUSER', username!, 'reset', 'on', `>${password}`, ...rights!.split(' '));
    const setAtSentinels = (given: readonly string[]) =>
      Promise.all(
        sentinels.map(async (each) =>
          expect(
            await ask(
              each,
              `ACL SETUSER ${sentinelUsername} reset on >${sentinelPassword} ${given.join(' ')}`,
            ),
          ).toBe('+OK'),
        ),
      );
    const users = { username, password, sentinelUsername, sentinelPassword };
    const start = () => suite.start({ redis: { ...redis, ...users }, prefix: 'shop.', patience: 0 });
    const given = sentinelRights!.split(' ');
    await setAtSentinels(given);
    const system = start();
    await eventually('Redis is up', async () => (await system.inspector.ledger()).up);
    await expect(system.producer.delay(`sentinel${tubes++}`, 1, '1h', { key: 'k' })).resolves.toBeDefined();
    for (const right of given.filter((each) => each.startsWith('+'))) {
      await setAtSentinels(given.filter((each) => each !== right));
      const { log } = start();
      await eventually('it says so', () => /no permissions|NOPERM/.test(log.join('\n')));
    }
  }, 60_000);

  it('follows to the replica when the master is killed while jobs run', async () => {
    const tube = `sentinel${tubes++}`;
    const [one, two] = [suite.start({ redis }), suite.start({ redis })];
    const starts: Start[] = [];
    await record(one, tube, starts);
    await record(two, tube, starts);
    const now = Date.now();
    const receipts = await schedule(one, tube, 200, (i) => now + i * 30);
    await eventually('jobs run', () => starts.length > 20);
    const killedAt = Date.now();
    await servers[0]!.kill();
    await eventually('the replica is the master', async () =>
      (await inspect[1]!.info('replication')).includes('role:master'),
    );
    const later = await schedule(two, tube, 20, () => Date.now());
    const ids = () => new Set(starts.map(({ id }) => id));
    await eventually('all ran', () => ids().size === receipts.length + later.length);
    const again = starts.filter(
      ({ attempt }, i) => attempt > 1 || starts.findIndex(({ id }) => id === starts[i]!.id) < i,
    );
    const early = starts.filter(({ lateness }) => lateness < 0);
    // Jobs in flight may run again: the replica did not hear of the end.
    const inFlight = new Set(
      starts
        .filter(({ at }) => at > killedAt - JUST_BEFORE && at <= killedAt + JUST_BEFORE)
        .map(({ id }) => id),
    );
    expect([early, again.filter(({ id }) => !inFlight.has(id))]).toEqual([[], []]);
    await servers[0]!.restart();
    await eventually('the old master follows the new one', async () =>
      (await inspect[0]!.info('replication')).includes('role:slave'),
    );
    expect((await one.inspector.ledger()).servers).toMatchObject([
      { address: `127.0.0.1:${servers[1]!.port}` },
    ]);
  }, 120_000);
});
