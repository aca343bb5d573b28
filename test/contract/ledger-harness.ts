// The ledgers behind one face, for their contract suite.
import { mkdtemp, rm } from 'node:fs/promises';
import { stored } from 'nest-dq/spec-support/stored.js';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { Disk } from 'nest-dq/src/disk/disk.js';
import type { JobRecord } from 'nest-dq/src/ledger/records/job-record.js';
import { loadRecords } from 'nest-dq/src/ledger/memory/durable-records.js';
import type { Ledger, LedgerSettings, TubeLedger } from 'nest-dq/src/ledger/ledger.js';
import { MemoryLedger } from 'nest-dq/src/ledger/memory/memory-ledger.js';
import { Records } from 'nest-dq/src/ledger/records/records.js';
import { RedisLedger } from 'nest-dq/src/ledger/redis/redis-ledger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { systemClock } from 'nest-handlers/time';
import { startRedis } from 'test-servers';

export const SETTINGS: LedgerSettings & Required<Pick<LedgerSettings, 'mostIndexed'>> = {
  lease: 15_000,
  doneTtl: 600_000,
  staleAfter: 7 * 86_400_000,
  mostIndexed: 1_000,
};

export type RecordFields = Partial<Pick<JobRecord, 'fence' | 'opened' | 'floor' | 'holdEnd'>>;

export interface LedgerHarness {
  /** True if decisions survive `close` and `open`. */
  readonly survivesRestart: boolean;
  /** A new ledger over the same store. */
  open(): Promise<void>;
  close(): Promise<void>;
  tube(name: string): TubeLedger;
  /** The same tube, as a process with another lease sees it. */
  withLease(tube: string, lease: number): Promise<TubeLedger>;
  /** The same tube as seen by a process that indexes at most `most` jobs. */
  withMostIndexed(tube: string, most: number): Promise<TubeLedger>;
  /** Resolves once this instant of ledger time is over. */
  until(tube: TubeLedger, instant: number): Promise<void>;
  /** Forgets all records at once. */
  wipe(): Promise<void>;
  /** Milliseconds; Infinity for never, undefined where there is no record. */
  forgottenIn(tube: string, id: string): Promise<number | undefined>;
  /** Bytes that a record takes. */
  size(tube: string, id: string): Promise<number>;
  /** Changes an existing record as no call does: as if a clock had been elsewhere. */
  overwrite(tube: string, id: string, fields: RecordFields): Promise<void>;
  /** Gives a tube these pauses, from and to, as if they were made before. */
  pauses(tube: string, spans: readonly (readonly [from: number, to: number])[]): Promise<void>;
  /** How many pauses of a tube are remembered. */
  pauseCount(tube: string): Promise<number>;
  stop(): Promise<void>;
}

export async function memoryHarness(): Promise<LedgerHarness> {
  const clock = new VirtualClock();
  return localHarness(clock, async (settings) => new MemoryLedger({ settings, clock }));
}

/** After each call, what is on disk must be what is in memory. */
export async function diskHarness(): Promise<LedgerHarness> {
  const clock = new VirtualClock();
  const dir = await mkdtemp(join(tmpdir(), 'nest-dq-ledger-'));
  let disk: Disk;
  let ledger: MemoryLedger;
  const harness = await localHarness(clock, async (settings) => {
    disk = await Disk.open(dir, clock);
    ledger = new MemoryLedger({ settings, clock }, disk);
    await ledger.load();
    return ledger;
  });
  const compare = async (name: string): Promise<void> => {
    await disk.saved();
    const found = new Records(SETTINGS);
    await loadRecords(disk, (tube) => (tube === name ? found : new Records(SETTINGS)));
    const { byId, letters, finished, pauses, limitUse } = ledger.tube(name).records;
    const withoutLeases = [...byId].map(([id, record]) => [id, { ...record, leaseEnd: 0, holdEnd: 0 }]);
    expect(Object.fromEntries(found.byId)).toEqual(Object.fromEntries(withoutLeases));
    expect(found.letters).toEqual(letters);
    expect(found.finished.inOrder).toEqual(finished.inOrder);
    expect(found.pauses).toEqual(pauses);
    expect(found.limitUse.turn).toBe(limitUse.turn);
  };
  const compared = (name: string, tube: TubeLedger): TubeLedger =>
    new Proxy(tube, {
      get(target, call: keyof TubeLedger) {
        const member: unknown = target[call];
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => {
          const answer: unknown = member.apply(target, args);
          if (!(answer instanceof Promise)) return answer;
          return answer.then(async (value: unknown) => {
            await compare(name);
            return value;
          });
        };
      },
    });
  return {
    ...harness,
    survivesRestart: true,
    close: async () => {
      await harness.close();
      await disk.close();
    },
    tube: (name) => compared(name, harness.tube(name)),
    withLease: async (name, lease) => compared(name, await harness.withLease(name, lease)),
    withMostIndexed: async (name, most) => compared(name, await harness.withMostIndexed(name, most)),
    stop: () => rm(dir, { recursive: true }),
  };
}

async function localHarness(
  clock: VirtualClock,
  openLedger: (settings: LedgerSettings) => Promise<MemoryLedger>,
): Promise<LedgerHarness> {
  let settings: { -readonly [name in keyof typeof SETTINGS]: number };
  let ledger: MemoryLedger;
  const names = new Set<string>();
  const record = (tube: string, id: string) => ledger.tube(tube).records.byId.get(id);
  // One process has one lease: another one is had by a view that swaps the setting around each call.
  const withSettings = (name: string, others: Partial<typeof SETTINGS>) =>
    new Proxy<TubeLedger>(ledger.tube(name), {
      get(target, name: keyof TubeLedger) {
        const member: unknown = target[name];
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => {
          Object.assign(settings, others);
          try {
            return member.apply(target, args); // decides before it returns
          } finally {
            Object.assign(settings, SETTINGS);
          }
        };
      },
    });
  return {
    survivesRestart: false,
    open: async () => {
      settings = { ...SETTINGS };
      ledger = await openLedger(settings);
      ledger.start();
    },
    close: () => ledger.close(),
    tube: (name) => {
      names.add(name);
      return ledger.tube(name);
    },
    withLease: async (name, lease) => withSettings(name, { lease }),
    withMostIndexed: async (name, mostIndexed) => withSettings(name, { mostIndexed }),
    until: (tube, instant) => clock.advance(Math.max(0, Math.ceil(instant - tube.now()))),
    wipe: async () => {
      for (const name of names) {
        const { records } = ledger.tube(name);
        for (const id of records.byId.keys()) records.noteChange('records', id);
        for (const letter of records.letters.keys()) records.noteChange('letters', letter);
        records.byId.clear();
        records.letters.clear();
        records.finished.dropOldest(Infinity);
        records.index.clear();
        records.keepPauses([]);
        records.limitUse.running.clear();
        records.limitUse.groups.clear();
        records.keepTurn(0);
      }
    },
    forgottenIn: async (tube, id) => {
      const found = record(tube, id);
      return found && found.expiresAt - clock.wall();
    },
    size: async (tube, id) => JSON.stringify(record(tube, id)).length,
    overwrite: async (tube, id, fields) => {
      Object.assign(record(tube, id)!, fields);
      ledger.tube(tube).records.noteChange('records', id);
    },
    pauses: async (tube, spans) =>
      ledger.tube(tube).records.keepPauses(spans.map(([from, to]) => ({ from, to }))),
    pauseCount: async (tube) => ledger.tube(tube).records.pauses.length,
    stop: async () => undefined,
  };
}

const OVERWRITE = `
local record = cmsgpack.unpack(redis.call('GET', KEYS[1]))
for name, value in pairs(cjson.decode(ARGV[1])) do record[name] = value end
redis.call('SET', KEYS[1], cmsgpack.pack(record), 'KEEPTTL')
`;

const PAUSES = `redis.call('SET', KEYS[1], cmsgpack.pack({ pauses = cjson.decode(ARGV[1]) }))`;
const PAUSE_COUNT = `return #cmsgpack.unpack(redis.call('GET', KEYS[1])).pauses / 2`;

export const redisHarness = () => serverHarness(false);
export const clusterHarness = () => serverHarness(true);

async function serverHarness(cluster: boolean): Promise<LedgerHarness> {
  const server = await startRedis({ cluster });
  const inspect = new Redis(server.url);
  const place = { host: server.host, port: server.port };
  const users = cluster ? new Cluster([place], { lazyConnect: true }) : undefined;
  let opened: Ledger[] = [];
  const open = (settings: LedgerSettings) => {
    const redis = users ?? server.url;
    const warn = (message: string) => {
      throw new Error(`warned of a server that is fit: ${message}`);
    };
    const ledger = new RedisLedger({ redis, settings, clock: systemClock, warn });
    ledger.start();
    opened.push(ledger);
    return ledger;
  };
  const withSettings = async (name: string, others: Partial<LedgerSettings>) => {
    const tube = open({ ...SETTINGS, ...others }).tube(name);
    await tube.readTime();
    return tube;
  };
  const key = (tube: string, id: string) => `{${tube}}:${id}`;
  return {
    survivesRestart: true,
    open: async () => {
      opened = [];
      open(SETTINGS);
    },
    close: async () => {
      await Promise.all(opened.map((ledger) => ledger.close()));
    },
    tube: (name) => opened[0]!.tube(stored(name)),
    withLease: (name, lease) => withSettings(name, { lease }),
    withMostIndexed: (name, mostIndexed) => withSettings(name, { mostIndexed }),
    until: async (tube, instant) => {
      // Ledger time as known to this process may be off by a round trip.
      while (tube.now() < instant + 3) await new Promise((resolve) => setTimeout(resolve, 2));
    },
    wipe: async () => void (await inspect.flushall()),
    forgottenIn: async (tube, id) => {
      const left = await inspect.pttl(key(tube, id));
      return left === -2 ? undefined : left === -1 ? Infinity : left;
    },
    size: (tube, id) => inspect.strlen(key(tube, id)),
    overwrite: async (tube, id, fields) => {
      await inspect.eval(OVERWRITE, 1, key(tube, id), JSON.stringify(fields));
    },
    pauses: async (tube, spans) => {
      await inspect.eval(PAUSES, 1, key(tube, ':control'), JSON.stringify(spans.flat()));
    },
    pauseCount: async (tube) => (await inspect.eval(PAUSE_COUNT, 1, key(tube, ':control'))) as number,
    stop: async () => {
      inspect.disconnect();
      users?.disconnect();
      await server.stop();
    },
  };
}
