import { describe, expect, it } from '@jest/globals';
import type { Duration, When } from 'nest-handlers/time';
import { parseRef } from '../copies/job-ref.js';
import type { JobOptions, JobRef } from '../api/job.js';
import type { DqProducer } from './producer.js';
import type { JobRecord } from '../ledger/records/job-record.js';
import { settle } from '../ledger/records/owed-copies.rule.js';
import { embedded, failure, scripted, type StoredCopy } from '../../spec-support/producing.js';
import { KEY, KINDS, waiting, generations } from '../../spec-support/waiting-job.js';

describe('reschedule', () => {
  it.each(KINDS)('gives a job another time, and deletes its old copies: %s', async (kind) => {
    const { producer, clock, ref, receipt, schedule, copies, claim, run, old, payloads } =
      await waiting(kind);
    for (const delay of [30_000, 12_000]) {
      expect(await producer.reschedule(ref, { delay })).toBe('rescheduled');
      await clock.advance(0);
      const due = clock.wall() + delay;
      expect(await schedule()).toMatchObject({
        state: 'waiting',
        due,
        attempt: 0,
        born: parseRef(receipt, '').born,
      });
      const moved = await copies();
      expect(moved.map(({ header }) => [header.id, header.index, header.due, header.born])).toEqual(
        [0, 1, 2].map((index) => [receipt.id, index, due, parseRef(receipt, '').born]),
      );
      expect(generations(moved)).toEqual(Array(3).fill((await schedule())!.generation));
      expect(moved.map(({ delay: seconds }) => seconds)).toEqual([
        Math.floor((delay - 25) / 1_000),
        delay / 1_000 + 2,
        delay / 1_000 + 4,
      ]);
      expect(await claim(moved[0]!)).toMatchObject({ kind: 'wait' });
      await clock.advance(1);
    }
    expect(await payloads()).toEqual(['old', 'old', 'old']);
    await clock.advance(11_998);
    const [primary] = await copies();
    expect(await claim(primary!)).toEqual({ kind: 'wait', ms: 1 });
    await clock.advance(1);
    const { attempt, finish } = await run(primary!);
    expect([attempt, await finish('done')]).toEqual([1, 'ok']);
    for (const copy of old) expect(await claim(copy)).toEqual({ kind: 'gone' });
  });

  it.each(KINDS)('knows the new places, which the old ones give way to: %s', async (kind) => {
    const { producer, clock, ref, schedule, copies } = await waiting(kind);
    await producer.reschedule(ref, { delay: '5m' });
    await clock.advance(0);
    const places = (await copies()).map(({ node, copyId, header }) => ({
      index: header.index,
      location: expect.stringMatching(new RegExp(`^n${node}:1#.*:${copyId}$`)),
    }));
    const known = (await schedule())!.places.toSorted((a, b) => a.index - b.index);
    expect(known).toEqual(places);
  });

  it.each(KINDS)('owes old and new copies from its opening on: %s', async (kind) => {
    const { producer, ref, receipt, ledger, memory, schedule } = await waiting(kind);
    const records: JobRecord[] = [];
    ledger.acted = (call) => {
      if (call === 'open') records.push({ ...memory.tube('t').records.byId.get(receipt.id)! });
    };
    const before = (await schedule())?.generation ?? 0;
    await producer.reschedule(ref, { delay: '1m' });
    const [record] = records as [JobRecord];
    const owes = () => record.sum > 0 || record.owed !== undefined;
    const settleCopies = (generation: number, mask: number) =>
      settle(record, { id: receipt.id, generation, mask, unknown: false });
    settleCopies(before, 0b111);
    settleCopies(record.opened, 0b110);
    expect(owes()).toBe(true);
    settleCopies(record.opened, 0b001);
    expect(owes()).toBe(false);
    expect(settleCopies(before, 0b111)).toBe(false);
  });

  it('settles the old copies, once that is certain', async () => {
    const { producer, clock, ref, receipt, ledger } = await waiting('plain');
    await producer.reschedule(ref, { delay: '1h' });
    await clock.advance(65_000);
    expect(ledger.settled).toEqual([{ id: receipt.id, generation: 0, mask: 0b111, unknown: false }]);
  });

  it.each(KINDS)('leaves a job all that it was given: %s', async (kind) => {
    const options: JobOptions = {
      priority: 'low',
      attempts: 7,
      backoff: { type: 'fixed', delay: '5s', max: '6s', jitter: 0 },
      headers: { tenant: 'ä' },
      group: 'user-17',
    };
    const { producer, clock, ref, old, copies } = await waiting(kind, options);
    await producer.reschedule(ref, { delay: '5m' });
    await clock.advance(0);
    const [{ header }] = (await copies()) as [StoredCopy];
    const { id, key, priority, attempts, backoff, headers, group } = old[0]!.header;
    expect(header).toMatchObject({ id, priority, attempts, backoff, headers, group });
    expect(group).toBe('user-17');
    expect([header.key, header.priority, header.attempts]).toEqual([key, 2, 7]);
    expect(key).toBe(kind === 'keyed' ? 'k' : undefined);
  });

  it.each<[unknown, string]>([
    ['new', 'new'],
    [{ a: new Date(0) }, '{"a":"1970-01-01T00:00:00.000Z"}'],
    [null, 'null'],
    [0, '0'],
    ['', ''],
    [undefined, 'old'],
  ])('takes another payload, if one is given: %p', async (payload, stored) => {
    const { producer, clock, ref, payloads } = await waiting('keyed');
    expect(await producer.reschedule(ref, { delay: '5m' }, { payload })).toBe('rescheduled');
    await clock.advance(0);
    expect(await payloads()).toEqual([stored, stored, stored]);
  });

  it('keeps bytes as they are', async () => {
    const { producer, copies, clock } = await embedded();
    const receipt = await producer.delay('t', Buffer.from('bytes'), '1m');
    await producer.reschedule(receipt, { delay: '5m' });
    await clock.advance(0);
    expect((await copies()).map(({ payload }) => payload)).toEqual(['bytes', 'bytes', 'bytes']);
  });

  it.each(KINDS)('makes a job due at once: %s', async (kind) => {
    const { producer, clock, ref, copies, claim, run } = await waiting(kind);
    expect(await producer.reschedule(ref, { delay: 0 })).toBe('rescheduled');
    await clock.advance(0);
    const [primary] = await copies();
    expect([primary!.state, (await claim(primary!)).kind]).toEqual(['ready', 'run']);
    await clock.advance(15_000);
    expect((await run(primary!)).attempt).toBe(2);
  });

  it('works by the ref of a view, by a receipt, after it was moved, and by key', async () => {
    const { producer, clock, receipt } = await waiting('keyed');
    const view = await producer.find(KEY);
    for (const ref of [KEY, receipt, receipt.ref, view!.ref, (await producer.find(receipt))!, KEY]) {
      expect(await producer.reschedule(ref, { delay: '5m' })).toBe('rescheduled');
      await clock.advance(1);
    }
  });

  it.each<[string, (now: number) => When | { delay: Duration }, number]>([
    ['a delay in ms', () => ({ delay: 1_500 }), 1_500],
    ['a delay with a unit', () => ({ delay: '2 h' }), 7_200_000],
    ['a Date', (now) => new Date(now + 90_000), 90_000],
    ['ms since 1970', (now) => now + 90_000, 90_000],
    ['an instant of Temporal', (now) => ({ epochMilliseconds: now + 90_000 }), 90_000],
    ['just over', (now) => now - 1_000, -1_000],
  ])('takes %s', async (_what, when, ahead) => {
    const { producer, clock, ref, schedule } = await waiting('plain');
    const now = clock.wall();
    expect(await producer.reschedule(ref, when(now))).toBe('rescheduled');
    expect((await schedule())!.due - now).toBe(ahead);
  });

  it('takes the past only where that is allowed, and then means now', async () => {
    const { producer, clock, ref, schedule, ledger } = await waiting('plain');
    const past = new Date(clock.wall() - 1_001);
    expect((await failure(producer.reschedule(ref, past))).code).toBe('DQ_PAST_TIME');
    expect(ledger.asked).toEqual([]);
    expect(await producer.reschedule(ref, past, { allowPast: true })).toBe('rescheduled');
    expect((await schedule())!.due).toBe(clock.wall());
  });

  it('counts from ledger time', async () => {
    const { producer, clock, ref, schedule, ledger } = await waiting('plain');
    ledger.ahead = 5_000;
    await producer.reschedule(ref, { delay: '1m' });
    expect((await schedule())!.due).toBe(clock.wall() + 65_000);
  });

  it.each<[string, JobRef, unknown, unknown]>([
    ['DQ_BAD_REF', { ref: 'x' }, { delay: 1 }, undefined],
    ['DQ_BAD_REF', { tube: 't', key: '' }, { delay: 1 }, undefined],
    ['DQ_BAD_TUBE', { tube: 'no tube', key: 'k' }, { delay: 1 }, undefined],
    ['DQ_BAD_DURATION', KEY, { delay: '900' }, undefined],
    ['DQ_BAD_DURATION', KEY, { delay: 1_900_000_000_000 }, undefined],
    ['DQ_BAD_TIME', KEY, '2030-01-01', undefined],
    ['DQ_BAD_TIME', KEY, 1_900_000_000, undefined],
    ['DQ_BAD_TIME', KEY, undefined, undefined],
    ['DQ_TOO_FAR', KEY, 1e15, undefined],
    ['DQ_BAD_PAYLOAD', KEY, { delay: 1 }, { payload: 5n }],
    ['DQ_BAD_OPTION', KEY, { delay: 1, at: 3 }, undefined],
    ['DQ_BAD_OPTION', KEY, { delay: 1 }, null],
    ['DQ_BAD_OPTION', KEY, { delay: 1 }, { allowPast: 'yes' }],
    ['DQ_BAD_OPTION', KEY, { delay: 1 }, { priority: 'high' }],
  ])('refuses as %s before anything is asked: %p %p %p', async (code, ref, when, options) => {
    const { producer, ledger, words } = await scripted();
    const call = producer.reschedule(ref, when as When, options as { payload?: unknown });
    expect(await failure(call)).toMatchObject({ code, indeterminate: false });
    expect([ledger.asked, words()]).toEqual([[], []]);
  });

  it.each<[string, (producer: DqProducer) => Promise<unknown>, string]>([
    ['reschedule', (dq) => dq.reschedule(KEY, 5_000), 'write { delay: 5000 };'],
    ['at', (dq) => dq.at('t', 1, 5_000), 'write delay(tube, payload, 5000);'],
    ['at, with a text', (dq) => dq.at('t', 1, '5s' as unknown as When), "write delay(tube, payload, '5s');"],
  ])(
    'says how a delay is given where a time from now was given as an instant: %s',
    async (_call, ask, how) => {
      const { producer } = await scripted();
      const { message } = await failure(ask(producer));
      expect(message).toMatch(/^DQ_BAD_TIME: the time is .*: that looks like a time from now; write /);
      expect(message).toContain(how);
    },
  );

  it('says how a delay is given where one was given as a string', async () => {
    const { producer } = await scripted();
    const error = await failure(producer.reschedule(KEY, '15m' as unknown as When));
    expect(error.message).toMatch(/"15m": .*\{ delay: '15m' \}/);
  });

  it.each(KINDS)('refuses a payload that is too large, and changes nothing: %s', async (kind) => {
    const { producer, ref, ledger, copies, old, schedule } = await waiting(kind);
    const before = await schedule();
    const call = producer.reschedule(ref, { delay: 1 }, { payload: 'x'.repeat(65_536) });
    expect((await failure(call)).code).toBe('DQ_BAD_PAYLOAD');
    expect(ledger.asked).toEqual(['find']);
    expect([await copies(), await schedule()]).toEqual([old, before]);
  });
});

describe('reschedule of a job that waits for a retry', () => {
  it('resets its attempts', async () => {
    const { producer, clock, ref, old, copies, run, claim } = await waiting('claimed before');
    await clock.advance(5_000);
    expect(await producer.reschedule(ref, { delay: '20s' })).toBe('rescheduled');
    await clock.advance(20_000);
    const [primary, ...backups] = await copies();
    expect(backups).toHaveLength(2);
    expect((await run(primary!)).attempt).toBe(1);
    for (const copy of old) expect(await claim(copy)).toEqual({ kind: 'gone' });
  });
});

describe('reschedule of a job that does not wait', () => {
  it.each(['plain', 'keyed'] as const)('says what it is, and stores nothing: %s', async (kind) => {
    const { producer, clock, ref, old, run, copies, ledger, schedule } = await waiting(kind);
    await clock.advance(10_000);
    const { finish } = await run(old[0]!);
    const reschedule = () => producer.reschedule(ref, { delay: '1m' }, { payload: 'new' });
    expect(await reschedule()).toBe('running');
    await finish('done');
    const done = await schedule();
    expect(await reschedule()).toBe('done');
    expect([await schedule(), ledger.asked]).toEqual([done, ['find', 'find']]);
    expect((await copies()).map(({ payload }) => payload)).toEqual(['old', 'old', 'old']);
  });

  it.each(['plain', 'keyed'] as const)('says that it is dead, or revoked: %s', async (kind) => {
    const dead = await waiting(kind);
    await dead.clock.advance(10_000);
    await (await dead.run(dead.old[0]!)).finish('dead');
    expect(await dead.producer.reschedule(dead.ref, { delay: 1 })).toBe('dead');
    const revoked = await waiting(kind);
    await revoked.producer.revoke(revoked.ref);
    expect(await revoked.producer.reschedule(revoked.ref, { delay: 1 })).toBe('revoked');
    expect(await revoked.copies()).toEqual([]);
  });

  it('does not know a key that was never used, nor a receipt of a replaced job', async () => {
    const { producer, clock, receipt, payloads } = await waiting('keyed');
    expect(await producer.reschedule({ tube: 't', key: 'never' }, { delay: 1 })).toBe('unknown');
    await producer.delay('t', 'new', '1m', { key: 'k' });
    await clock.advance(0);
    expect(await producer.reschedule(receipt, { delay: 1 }, { payload: 'old' })).toBe('unknown');
    expect(await payloads()).toEqual(['new', 'new', 'new']);
  });

  it.each(['plain', 'keyed'] as const)('of a forgotten job finds it by its copies: %s', async (kind) => {
    const { producer, clock, receipt, memory, schedule, copies, run } = await waiting(kind);
    memory.tube('t').records.byId.clear();
    expect(await producer.reschedule(receipt, { delay: '20s' })).toBe('rescheduled');
    await clock.advance(20_000);
    expect(await schedule()).toMatchObject({ state: 'waiting', born: parseRef(receipt, '').born });
    expect(await copies()).toHaveLength(3);
    expect((await run((await copies())[0]!)).attempt).toBe(1);
  });

  it('of a forgotten job without copies writes nothing', async () => {
    const { producer, receipt, memory, ledger } = await waiting('plain');
    await producer.revoke(receipt);
    memory.tube('t').records.byId.clear();
    ledger.asked.length = 0;
    expect(await producer.reschedule(receipt, { delay: 1 })).toBe('unknown');
    expect([ledger.asked, memory.tube('t').records.byId.size]).toEqual([['find', 'find'], 0]);
  });
});
