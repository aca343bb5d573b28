import { describe, expect, it } from '@jest/globals';
import type { When } from 'nest-handlers/time';
import { parseRef } from '../copies/job-ref.js';
import type { JobReceipt } from '../api/job.js';
import { failure, scripted } from '../../spec-support/producing.js';
import type { ClusterProducer } from './cluster-producer.js';

const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

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
    const { clock, ledger, producer, puts } = await scripted(3, 'app.');
    ledger.ahead = 500;
    const options = { priority: 'high', attempts: 4, headers: { tenant: 'x' } } as const;
    const receipt = await producer.delay('t', { a: 1 }, '1m', options);
    const due = clock.wall() + 60_500;
    expect(
      puts().map(({ envelope: { header, content } }) => [header.index, content.bytes.toString()]),
    ).toEqual([
      [0, '{"a":1}'],
      [1, '{"a":1}'],
      [2, '{"a":1}'],
    ]);
    expect(puts()[0]!.envelope.header).toMatchObject({
      id: receipt.id,
      due,
      generation: 0,
      copies: 3,
      priority: 0,
      attempts: 4,
      headers: { tenant: 'x' },
    });
    const delays = puts().map(({ line }) => Number(line.split(' ')[2]));
    expect(delays).toEqual([59, 62, 64]);
    expect(ledger.timesRead).toEqual(['app.t']);
  });

  it('returns a receipt that finds every copy, even after JSON', async () => {
    const { producer, clock } = await scripted();
    const receipt = await producer.delay('t', 1, '1m');
    expect(receipt).toMatchObject({ tube: 't', copies: 3, dueAt: new Date(clock.wall() + 60_000) });
    expect(receipt.id).toMatch(ULID);
    const ref = parseRef(JSON.parse(JSON.stringify(receipt)) as JobReceipt, '');
    expect(ref).toMatchObject({
      id: receipt.id,
      tube: 't',
      born: 0,
      due: receipt.dueAt.getTime(),
      copies: 3,
    });
    expect(ref.places.map(({ index, location }) => `${index} ${location}`).sort()).toEqual([
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
    const { producer, puts } = await scripted();
    const payload = { a: 1 };
    const headers = { tenant: 'x' };
    const added = producer.delay('t', payload, '1m', { headers });
    payload.a = 2;
    headers.tenant = 'y';
    await added;
    expect(puts()[0]!.envelope.content.bytes.toString()).toBe('{"a":1}');
    expect(puts()[0]!.envelope.header.headers).toEqual({ tenant: 'x' });
  });

  it('of a past time that is allowed is due now, and not stale', async () => {
    const { clock, producer } = await scripted();
    const now = clock.wall();
    const past = new Date(now - 86_400_000);
    expect((await producer.at('t', 1, past, { allowPast: true })).dueAt).toEqual(new Date(now));
    expect((await producer.at('t', 1, now - 1_000)).dueAt).toEqual(new Date(now - 1_000));
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
    const far = await failure(producer.at('t', 1, Date.UTC(2300, 0, 1)));
    expect(far.message).toMatch(
      /^DQ_TOO_FAR: the time is 2300-01-01T00:00:00.000Z: expected \d{4}-.*Z or sooner$/,
    );
    expect(words()).toEqual([]);
    expect((await producer.at('t', 1, clock.wall() + most)).copies).toBe(3);
  });

  it.each<[string, (producer: ClusterProducer) => Promise<unknown>]>([
    ['DQ_BAD_TUBE', (producer) => producer.now('no tube', 1)],
    ['DQ_BAD_PAYLOAD', (producer) => producer.now('t', 5n)],
    ['DQ_BAD_DURATION', (producer) => producer.delay('t', 1, '900' as '900s')],
    ['DQ_BAD_DURATION', (producer) => producer.delay('t', 1, 1_900_000_000_000)],
    ['DQ_BAD_TIME', (producer) => producer.at('t', 1, 1_900_000_000)],
    ['DQ_BAD_TIME', (producer) => producer.at('t', 1, '2030-01-01' as unknown as When)],
    ['DQ_BAD_OPTION', (producer) => producer.now('t', 1, { attempts: 0 })],
  ])('refuses as %s before anything is asked', async (code, add) => {
    const { producer, ledger, words } = await scripted();
    expect((await failure(add(producer))).code).toBe(code);
    expect([ledger.timesRead, ledger.asked, words()]).toEqual([[], [], []]);
  });

  it('refuses a payload that is too large for any node, before any put', async () => {
    const { producer, words } = await scripted();
    const error = await failure(producer.now('t', 'x'.repeat(65_536)));
    expect(error).toMatchObject({ code: 'DQ_BAD_PAYLOAD', indeterminate: false });
    expect(error.message).toMatch(/: expected at most 65535, the max-job-size of n0:1 \(beanstalkd -z\)$/);
    expect(words()).toEqual([]);
    expect((await producer.now('t', 'x'.repeat(65_000))).copies).toBe(3);
  });

  it('takes a large payload while a node with the same large limit was never in reach', async () => {
    const { producer } = await scripted(3, '', (server, i) => {
      server.answers['stats'] = () => server.ok(`id: i${i}\nmax-job-size: 1000000`);
      server.refusing = i === 2;
    });
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
    expect(ledger.timesRead).toEqual(['t']);
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

  it('continues at once when the ledger does not answer', async () => {
    const { ledger, producer } = await scripted();
    ledger.readTime = () => Promise.reject(new Error('away'));
    ledger.down = true;
    expect((await producer.delay('t', 1, '1m')).copies).toBe(3);
  });
});

describe('a closed producer', () => {
  it('accepts nothing more', async () => {
    const { producer, deadLetters, ledger, words } = await scripted();
    const receipt = await producer.delay('t', 1, '1m');
    const before = words().length;
    void producer.close();
    void producer.close();
    for (const call of [
      producer.now('t', 1),
      producer.delay('t', 1, '1m'),
      producer.at('t', 1, 1e13),
      producer.revoke(receipt),
      producer.reschedule(receipt, { delay: 1 }),
      producer.find(receipt),
      deadLetters.list('t'),
      deadLetters.get(receipt),
      deadLetters.revive(receipt),
      deadLetters.discard(receipt),
    ]) {
      expect(await failure(call)).toMatchObject({ code: 'DQ_CLOSED', indeterminate: false });
    }
    expect(words()).toHaveLength(before);
    expect(ledger.asked).toEqual([]);
  });

  it('fails the add that was waiting for ledger time', async () => {
    const { producer, ledger, cluster, words, after } = await scripted();
    ledger.readTime = () => new Promise<void>(() => undefined);
    const add = failure(after(500, producer.delay('t', 1, '1m')));
    void producer.close();
    cluster.close();
    expect((await add).code).toBe('DQ_CLOSED');
    expect(words()).toEqual([]);
  });

  it('waits for the deletions of what was revoked', async () => {
    const { producer, servers, clock } = await scripted();
    const receipt = await producer.delay('t', 1, '1m');
    servers[0]!.freeze();
    await producer.revoke(receipt);
    let closed = false;
    const closing = producer.close().then(() => (closed = true));
    await clock.advance(400);
    expect(closed).toBe(false);
    servers[0]!.thaw();
    await clock.advance(0);
    await closing;
    expect(closed).toBe(true);
  });
});
