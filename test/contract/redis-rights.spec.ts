// The ledger in a Redis with other settings, or for a user with few rights.
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { PresenceNews, ProcessRecord } from 'nest-dq/src/fleet/presence.js';
import { systemClock } from 'nest-handlers/time';
import { RedisFleet } from 'nest-dq/src/fleet/redis-fleet.js';
import type { RedisLedger } from 'nest-dq/src/ledger/redis/redis-ledger.js';
import { eventually } from 'test-servers';
import { claim, DOWN, open, realRedis, watch } from './real-redis.js';

describe('with one Redis', () => {
  const at = realRedis();

  describe('its settings', () => {
    afterEach(async () => {
      await at.inspect.config('SET', 'maxmemory-policy', 'noeviction');
      await at.inspect.config('SET', 'appendonly', 'yes');
    });

    it('are warned of where they lose decisions, once', async () => {
      await at.inspect.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await at.inspect.config('SET', 'appendonly', 'no');
      const warnings: string[] = [];
      const tube = open(at.server.url, { warn: (message) => warnings.push(message) }).tube('t');
      await eventually('it warned', () => warnings.length >= 2);
      const events = watch(tube);
      await at.inspect.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await eventually('it came back', () => events.length === 2);
      await claim(tube, 'warned');
      expect(warnings).toEqual([
        expect.stringContaining('allkeys-lru'),
        expect.stringContaining('append-only'),
      ]);
    });

    it('are warned of where it may not ask for them', async () => {
      const ready = jest.spyOn(console, 'warn');
      await at.inspect.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '+@all', '-info');
      const warnings: string[] = [];
      const redis = {
        host: at.server.host,
        port: at.server.port,
        username: 'app',
        password: 'secret',
      };
      const tube = open(redis, { warn: (message) => warnings.push(message) }).tube('t');
      await eventually('it warned', () => warnings.length > 0);
      expect(warnings).toEqual([expect.stringMatching(/NOPERM.*noeviction/)]);
      expect(ready).not.toHaveBeenCalled();
      await expect(claim(tube, 'acl')).resolves.toMatchObject([{ kind: 'run' }]);
    });
  });

  describe('for a user with the rights of docs/clusters.md', () => {
    const docs = readFileSync(new URL('../../docs/clusters.md', import.meta.url), 'utf8');
    const rule = /^ACL SETUSER (\S+) (on >\S+ .*)$/m.exec(docs)!;
    const rights = rule[2]!.split(' ');
    const needed = rights.filter((right) => right.startsWith('+') && right !== '+info');

    /** Its ledger, once the user has these rights and no others. */
    async function openAs(name: string, given: readonly string[]): Promise<RedisLedger> {
      await at.inspect.call('ACL', 'SETUSER', name, 'reset', ...given);
      const password = given.find((right) => right.startsWith('>'))!.slice(1);
      const redis = { host: at.server.host, port: at.server.port, username: name, password };
      return open(redis, { prefix: 'shop.' });
    }

    it('makes every call', async () => {
      const ledger = await openAs(rule[1]!, rights);
      const fleet = new RedisFleet(ledger, systemClock, () => undefined);
      const tube = ledger.tube('shop.orders');
      await expect(ledger.identity.read('0'.repeat(16))).resolves.toBe('0'.repeat(16));
      const prints = new Map([['a', '0'.repeat(16)]]);
      await expect(ledger.keyPrints.store(prints)).resolves.toEqual(prints);
      const owed = { mask: 1, unknown: false };
      const places = [{ index: 0, location: 'node:11300#instance:1' }];
      const [run] = await claim(tube, 'dead');
      const at = { generation: 0, born: 0, due: 0, attempt: 1, lastOk: tube.now() };
      const ref = { id: 'dead', ...at, fence: (run as { fence: number }).fence };
      await expect(tube.extend([ref])).resolves.toEqual(['ok']);
      const outcome = { kind: 'dead', death: { why: 'discarded' }, places } as const;
      await expect(tube.complete([{ ...ref, owed, outcome }])).resolves.toEqual(['ok']);
      await expect(tube.buried([{ id: 'dead', born: 0, generation: 0, places }])).resolves.toEqual(['dead']);
      const page = { limit: 1, after: { died: Date.now() + 60_000, id: 'z', born: 0 } };
      await expect(tube.letters(page)).resolves.toMatchObject({ letters: [{ id: 'dead' }] });
      const few = { maxAge: 60_000, maxCount: 0, limit: 1 };
      await expect(tube.surplus(few)).resolves.toMatchObject({ letters: [{ id: 'dead' }] });
      await expect(tube.ask('deaths', [{ since: 0 }])).resolves.toEqual([1]);
      await expect(tube.discard([{ id: 'dead', born: 0 }])).resolves.toMatchObject([{ id: 'dead' }]);
      const opening = { by: 'add', onDuplicate: 'replace' } as const;
      const due = Date.now() + 60_000;
      const [opened] = await tube.open([{ id: 'key', opening, due, announced: 1 }]);
      const { generation } = opened as { generation: number };
      const job = { id: 'key', opening, generation, born: generation, due };
      const stored = { ...job, announced: 1, owed, places, undecidedUntil: due };
      await ledger.handover.leave([]);
      await expect(ledger.handover.take()).resolves.toEqual([]);
      await expect(fleet.presence.markDrained('node:11300', true)).resolves.toBe(true);
      const settings = {
        prefix: 'shop.',
        replicas: 3,
        minWritten: 2,
        lease: 15_000,
        doneTtl: 600_000,
        staleAfter: 604_800_000,
      };
      const record: ProcessRecord = {
        id: 'process',
        host: 'host',
        pid: 1,
        version: '0',
        nodeVersion: '0',
        upFor: 0,
        consumes: false,
        nodes: {},
        settings,
        tubes: [],
      };
      let leave: () => Promise<void>;
      const news = await new Promise<PresenceNews>((learn) => {
        leave = fleet.presence.join({
          id: 'process',
          settings: '',
          describe: () => record,
          yields: () => true,
          learn,
        });
      });
      expect(news).toMatchObject({ drained: ['node:11300'], electedUntil: expect.any(Number) });
      await expect(fleet.presence.all()).resolves.toMatchObject([{ record }]);
      await leave!();
      await expect(fleet.presence.all()).resolves.toEqual([]);
      const minute = Math.floor(fleet.history.now() / 60_000);
      await fleet.history.add([{ minute, tube: 'orders', counts: [1] }]);
      await expect(fleet.history.quarters(Math.floor(minute / 60))).resolves.toMatchObject([{ counts: [1] }]);
      await expect(fleet.history.read('orders', minute, minute)).resolves.toMatchObject([{ counts: [1] }]);
      await fleet.acts.add(['an act']);
      await expect(fleet.acts.read(Number.MAX_SAFE_INTEGER, 1)).resolves.toMatchObject([{ text: 'an act' }]);
      const { seriesPlans } = fleet;
      const { entry } = await seriesPlans.upsert('a', { spec: '{}', payload: '' });
      await expect(seriesPlans.checked('a', entry, { next: 1, missedSince: 1 })).resolves.toBeUndefined();
      await seriesPlans.ran([{ name: 'a', text: '{}' }]);
      await expect(seriesPlans.page({ limit: 1 })).resolves.toMatchObject({ series: [{ run: '{}' }] });
      await expect(seriesPlans.take(1)).resolves.toMatchObject([{ name: 'a' }]);
      await expect(seriesPlans.missed(1)).resolves.toMatchObject([{ name: 'a' }]);
      await seriesPlans.remove('a');
      await expect(seriesPlans.forget('a')).resolves.toBe(true);
      await seriesPlans.restore('a', entry);
      await expect(seriesPlans.get('a')).resolves.toMatchObject({ entry });
      await expect(tube.commit([stored])).resolves.toMatchObject([{ kind: 'committed' }]);
      await expect(tube.find(['key'])).resolves.toMatchObject([{ state: 'waiting' }]);
      const other = { id: 'other', generation: 1, due, announced: 1, owed };
      await expect(tube.abort([other])).resolves.toEqual(['aborted']);
      await tube.settle([{ id: 'key', generation, mask: 1, unknown: false }]);
      const revoke = { id: 'key', born: undefined, due, owed, abort: false };
      await expect(tube.revoke([revoke])).resolves.toMatchObject([{ result: 'revoked' }]);
    });

    it.each(needed.map((right) => right.slice(1)))('names the right that is missing: %s', async (command) => {
      await at.inspect.script('FLUSH');
      const given = rights.filter((right) => right !== `+${command}`);
      const tube = (await openAs('less', given)).tube('shop.orders');
      // The second time it is called by its hash.
      const calls = claim(tube, 'one').then(() => claim(tube, 'two'));
      const error: unknown = await calls.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'DQ_LEDGER_DOWN',
        message: expect.stringMatching(/permission|can't run/),
      });
      expect((error as Error).message.toLowerCase()).toContain(command);
    });

    it('answers nothing about the keys of others', async () => {
      const ledger = await openAs(rule[1]!, rights);
      await expect(claim(ledger.tube('theirs.orders'), 'job')).rejects.toMatchObject({
        ...DOWN,
        message: expect.stringContaining('NOPERM'),
      });
    });
  });
});
