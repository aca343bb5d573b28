import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { turn } from '../../../spec-support/scripted-ledger.js';
import { VirtualClock } from 'nest-handlers/testing';
import type { LedgerConnection } from './connection.js';
import { RedisMaster } from './master.js';
import type { RawReply } from '../script.js';

const settings = { lease: 15_000, doneTtl: 600_000, staleAfter: 604_800_000 };

describe('RedisMaster', () => {
  let clock: VirtualClock;
  let master: RedisMaster;
  let probe: (values: string) => Promise<RawReply>;
  let complete: () => Promise<RawReply>;
  /** Why it was away, each time. */
  let reasons: string[];
  /** When it asked for another connection. */
  let reconnects: number[];

  beforeEach(() => {
    clock = new VirtualClock();
    [reasons, reconnects] = [[], []];
    const connection = {
      'dq:probe': (_count: number, _keys: string[], args: string[]) => probe(args.at(-1)!),
      'dq:complete': () => complete(),
    };
    master = new RedisMaster({
      connection: connection as unknown as LedgerConnection,
      probeKey: '',
      settings,
      clock,
      start: () => undefined,
      reconnect: () => reconnects.push(clock.now()),
    });
    master.listen({ away: ({ message }) => reasons.push(message), back: () => undefined });
    master.start();
  });

  afterEach(() => master.close());

  const reply = async (): Promise<RawReply> => [1, clock.wall() * 1_000];

  describe('that is away', () => {
    beforeEach(() => {
      probe = () =>
        Promise.reject(new Error("Stream isn't writeable and enableOfflineQueue options is false"));
    });

    const refusal = () => master.readTime().catch(({ message }: Error) => message);

    it('says why it is not connected, even after calls that were not sent', async () => {
      master.lost(new Error('connect ECONNREFUSED 10.0.0.9:6379'));
      await clock.advance(2_000);
      expect(await refusal()).toBe(
        'DQ_LEDGER_DOWN: Redis is not connected: connect ECONNREFUSED 10.0.0.9:6379',
      );
      expect(reasons).toEqual(['connect ECONNREFUSED 10.0.0.9:6379']);
    });

    it('keeps the reason when the connection is replaced, which ends the calls on it', async () => {
      const givenUp = 'Reached the max retries per request limit (which is 0).';
      probe = () => new Promise(() => undefined);
      master.connected();
      await clock.advance(2_000);
      probe = () => Promise.reject(new Error(givenUp));
      await clock.advance(2_000);
      expect(await refusal()).toMatch(/no answer within 1000 ms$/);
      expect(reasons).toEqual(['no answer within 1000 ms']);
    });

    it('says that the connection ended where a call did not survive it', async () => {
      probe = () => Promise.reject(new Error('Reached the max retries per request limit (which is 0).'));
      master.connected();
      await clock.advance(100);
      expect(reasons).toEqual(['the connection was closed']);
    });

    it('says so before anything is known of a connection', async () => {
      await clock.advance(2_000);
      expect(await refusal()).toBe('DQ_LEDGER_DOWN: Redis is not connected: no connection yet');
    });

    it('names the failures of all addresses of its host', async () => {
      const failures = [
        new Error('connect ECONNREFUSED 127.0.0.1:1'),
        new Error('connect ECONNREFUSED ::1:1'),
      ];
      master.lost(new AggregateError(failures, ''));
      expect(await refusal()).toMatch(/not connected: connect .* 127\.0\.0\.1:1, connect .* ::1:1$/);
    });

    it('does not blame the connection where the server itself refuses, or is silent', async () => {
      probe = () => Promise.reject(new Error('LOADING Redis is loading the dataset in memory'));
      master.connected();
      await turn();
      expect(await refusal()).toMatch(/: Redis answered with an error: LOADING/);
      probe = () => new Promise(() => undefined);
      await clock.advance(2_000);
      expect(await refusal()).toBe('DQ_LEDGER_DOWN: Redis did not answer: no answer within 1000 ms');
    });

    it('names a node of a Redis Cluster that has no connection', async () => {
      master.connected();
      await turn();
      expect(await refusal()).toBe(
        'DQ_LEDGER_DOWN: Redis did not answer: a connection to one of its nodes is missing',
      );
    });
  });

  describe('that answers probes and refuses calls', () => {
    /** The job count of each probe. */
    let probes: string[];
    let changes: number;
    let refuses: boolean;

    beforeEach(async () => {
      [probes, changes, refuses] = [[], 0, true];
      probe = (values) => {
        probes.push(values);
        return reply();
      };
      const MISCONF = 'MISCONF Redis is configured to save RDB snapshots, but is unable to persist to disk';
      complete = () => (refuses ? Promise.reject(new Error(MISCONF)) : reply());
      const finish = () =>
        void master.call('dq:complete', ['{t}:a'], JSON.stringify(['finish'])).catch(() => undefined);
      master.listen({ away: () => changes++, back: () => changes < 100 && finish() });
      master.connected();
      await turn();
      finish();
      await turn();
    });

    it('is probed ever more rarely while that lasts', async () => {
      await clock.advance(60_000);
      // After 0.5, 1, 2, 4, 8, and then each 10 seconds.
      expect(changes).toBe(10);
      expect(probes).toHaveLength(10);
      refuses = false;
      await clock.advance(10_000);
      expect([changes, master.away]).toEqual([10, false]);
    });

    it('is asked by a probe as large as the call, until one of that size passes', async () => {
      await clock.advance(500);
      expect(probes.map((values) => values.length > 10)).toEqual([false, true]);
      refuses = false;
      await clock.advance(1_000);
      expect(probes.map((values) => values.length > 10)).toEqual([false, true, true]);
      await clock.advance(30_000);
      expect(probes.map((values) => values.length > 10)).toEqual([false, true, true, false]);
    });
  });

  describe('with a connection', () => {
    /** The probes that wait for an answer, oldest first. */
    let calls: { answer(): void; refuse(message: string): void }[];

    beforeEach(() => {
      calls = [];
      probe = () =>
        new Promise((resolve, reject) =>
          calls.push({
            answer: () => resolve(reply()),
            refuse: (message) => reject(new Error(message)),
          }),
        );
      master.connected();
    });

    const last = () => calls.at(-1)!;

    it('gives up a connection that is silent for three seconds, although it is asked', async () => {
      await clock.advance(2_999);
      expect(master.away).toBe(true);
      expect(reconnects).toEqual([]);
      await clock.advance(1_501); // until the call fails that was sent before
      expect(reconnects).toHaveLength(1);
      expect(reconnects[0]).toBeGreaterThanOrEqual(3_000);
    });

    it('keeps one that answers now and then', async () => {
      for (let i = 0; i < 5; i++) {
        await clock.advance(1_500); // the first of them failed, the second waits
        expect(master.away).toBe(true);
        last().answer();
        await turn();
        expect(master.away).toBe(false);
        await clock.advance(30_000); // until the next is asked
      }
      expect(reconnects).toEqual([]);
    });

    it('keeps one whose server refuses', async () => {
      for (let i = 0; i < 20; i++) {
        last().refuse('LOADING Redis is loading the dataset in memory');
        await turn();
        await clock.advance(500);
      }
      expect(reconnects).toEqual([]);
    });

    it('restarts its count with the next connection', async () => {
      await clock.advance(2_600);
      master.connected();
      await clock.advance(2_000);
      expect(reconnects).toEqual([]);
    });
  });
});
