import { describe, expect, it } from '@jest/globals';
import { restartsOnDisk } from '../../../spec-support/restarts-on-disk.js';
import type { ClaimAnswer, ClaimRequest, CompleteRequest, RunRef } from '../requests.js';
import { MemoryLedger } from './memory-ledger.js';
import type { MemoryTubeLedger } from './memory-ledger.js';

const settings = { lease: 15_000, doneTtl: 600_000, staleAfter: 7 * 86_400_000 };
const NOTHING = { mask: 0, unknown: false };

let ledger: MemoryLedger;
let tube: MemoryTubeLedger;
let deliveries = 0;

const folder = restartsOnDisk(async (disk, clock) => {
  ledger = new MemoryLedger({ settings, clock }, disk);
  await ledger.load();
  tube = ledger.tube('orders.cancel;1');
  return () => ledger.close();
});

const copy = (id = 'job'): ClaimRequest => ({
  id,
  generation: 0,
  born: 0,
  due: tube.now() - 1_000,
  token: `delivery ${++deliveries}`,
  attempts: 3,
});

async function claim(id = 'job'): Promise<ClaimAnswer> {
  return (await tube.claim([copy(id)]))[0]!;
}

async function run(id = 'job'): Promise<RunRef> {
  const answer = await claim(id);
  if (answer.kind !== 'run') throw new Error(`claimed in vain: ${answer.kind}`);
  const { due, fence, attempt } = answer;
  return { id, generation: 0, born: 0, due, fence, attempt, lastOk: tube.now() };
}

const complete = async (ref: RunRef, outcome: CompleteRequest['outcome'], owed = NOTHING) =>
  (await tube.complete([{ ...ref, owed, outcome }]))[0];

describe('a ledger on a disk, after a restart', () => {
  it('knows what is done', async () => {
    expect(await complete(await run(), { kind: 'done' })).toBe('ok');
    await folder.restart();
    expect(await claim()).toEqual({ kind: 'gone' });
    expect(await tube.find(['job'])).toMatchObject([{ state: 'done', attempt: 1 }]);
  });

  it('restores a pause, and ends it', async () => {
    const pause = await tube.pause();
    await folder.restart();
    expect(await tube.paused()).toEqual(pause);
    expect(await claim()).toMatchObject({ kind: 'paused' });
    expect(await tube.resume()).toEqual(pause);
    await folder.restart();
    expect(await tube.paused()).toBeUndefined();
    expect(await claim()).toMatchObject({ kind: 'run' });
  });

  it('restores the turn of a rate', async () => {
    const claimOf = (id: string) =>
      tube.claim([{ id, generation: 0, born: 0, due: tube.now(), token: id, attempts: 1 }], {
        limits: { interval: 60_000_000 },
      });
    expect(await claimOf('a')).toMatchObject([{ kind: 'run' }]);
    await folder.restart();
    expect(await claimOf('b')).toMatchObject([{ kind: 'limited', by: 'rate' }]);
    await folder.restart(60_000);
    expect(await claimOf('b')).toMatchObject([{ kind: 'run' }]);
  });

  it('lets a job whose runner is gone run at once, and counts the attempt', async () => {
    const before = await run();
    await folder.restart();
    const answer = await claim();
    expect(answer).toMatchObject({ kind: 'run', attempt: 2 });
    expect(answer.kind === 'run' && answer.fence).toBeGreaterThan(before.fence);
    expect(await complete(before, { kind: 'done' })).toBe('refused');
  });

  it('lets a retry wait for its time', async () => {
    const due = tube.now() + 60_000;
    await complete(await run(), { kind: 'retry', due });
    await folder.restart(10_000);
    expect(await claim()).toEqual({ kind: 'wait', ms: 50_000 });
  });

  it('has the errors of a job that is retried', async () => {
    const failure = { attempt: 1, startedAt: 5, took: 6, process: 'host:7', name: 'Error', message: 'no ☂' };
    await complete(await run(), { kind: 'retry', due: tube.now() - 1, failure });
    await folder.restart();
    expect(await tube.ask('trace', ['job'])).toMatchObject([{ attempt: 1, failures: [failure] }]);
    await complete(await run(), { kind: 'dead', death: { why: 'attempts' }, places: [] });
    await folder.restart();
    expect(await tube.letter([{ id: 'job', born: 0 }])).toMatchObject([{ failures: [failure] }]);
  });

  it('has its dead letters, as they were', async () => {
    const error = { name: 'Error', message: 'no ☂', stack: 'at' };
    await complete(await run('a'), { kind: 'dead', death: { why: 'discarded', error }, places: [] });
    await complete(await run('b'), { kind: 'dead', death: { why: 'attempts' }, places: [] });
    const before = await tube.letters({ limit: 10, after: undefined });
    await folder.restart();
    expect(before.letters).toHaveLength(2);
    expect(await tube.letters({ limit: 10, after: undefined })).toEqual(before);
    await tube.discard([{ id: 'a', born: undefined }]);
    await folder.restart();
    expect((await tube.letters({ limit: 10, after: undefined })).letters).toMatchObject([{ id: 'b' }]);
    expect(await claim('a')).toEqual({ kind: 'gone' });
  });

  it('refuses what was revoked', async () => {
    await tube.revoke([{ id: 'job', born: 0, due: tube.now(), owed: NOTHING, abort: false }]);
    await folder.restart();
    expect(await claim()).toEqual({ kind: 'gone' });
  });

  it('keeps the key of a job that waits', async () => {
    const opening = { by: 'add', onDuplicate: 'keep' } as const;
    const due = tube.now() + 60_000;
    const [opened] = await tube.open([{ id: 'job', opening, due, announced: 0 }]);
    const generation = opened!.kind === 'opened' ? opened!.generation : -1;
    const places = [{ index: 0, location: 'embedded#1:1' }];
    const stored = { generation, due, announced: 0, owed: NOTHING, places };
    await tube.commit([{ ...stored, id: 'job', opening, born: generation, undecidedUntil: due }]);
    await folder.restart();
    expect(await tube.find(['job'])).toMatchObject([{ state: 'waiting', generation, due, places }]);
    expect(await tube.open([{ id: 'job', opening, due, announced: 0 }])).toMatchObject([
      { kind: 'refused', why: 'taken' },
    ]);
  });

  it('keeps tubes apart', async () => {
    await complete(await run(), { kind: 'done' });
    await folder.restart();
    tube = ledger.tube('orders.cancel');
    expect(await claim()).toMatchObject({ kind: 'run' });
  });

  it('no longer has what has expired', async () => {
    await complete(await run(), { kind: 'done' });
    await folder.clock.advance(settings.doneTtl);
    for (let call = 0; call < 4; call++) await tube.find(['other']);
    await folder.disk.saved();
    const keys: string[] = [];
    await folder.disk.read('record ', (key) => keys.push(key));
    expect(keys).toEqual([]);
  });

  it('keeps nothing of tubes that come and go, in the folder and in memory', async () => {
    for (let i = 0; i < 50; i++) {
      tube = ledger.tube(`gone ${i}`);
      await complete(await run(), { kind: 'done' });
    }
    tube = ledger.tube('another');
    const kept = () => (Reflect.get(ledger.records, 'byName') as ReadonlyMap<string, unknown>).size;
    expect(kept()).toBeGreaterThanOrEqual(50);
    await folder.clock.advance(settings.doneTtl);
    for (let round = 0; round < 3; round++) {
      await tube.find(Array.from({ length: 100 }, String));
      await folder.disk.saved();
    }
    expect(kept()).toBeLessThanOrEqual(1); // the one that was asked
    await folder.restart();
    const keys: string[] = [];
    await folder.disk.read('record ', (key) => keys.push(key));
    expect(keys).toEqual([]);
  });

  it('does not go back in time with the machine’s clock', async () => {
    await complete(await run(), { kind: 'done' });
    const before = tube.now();
    await folder.restart(-3_600_000);
    expect(tube.now()).toBeGreaterThanOrEqual(before);
  });
});

describe('a ledger whose disk fails', () => {
  it('is away, and promises nothing that is not stored', async () => {
    const heard: string[] = [];
    ledger.listen({ away: ({ message }) => heard.push(message), back: () => heard.push('back') });
    tube.listen({ away: ({ message }) => heard.push(message), back: () => heard.push('back') });
    folder.disk.add({
      collect: () => {
        throw new Error('no space left');
      },
    });
    await expect(claim()).rejects.toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: true });
    expect(heard).toEqual(Array(2).fill(expect.stringContaining('no space left')));
    expect(tube.away).toBe(true);
    await expect(tube.find(['job'])).rejects.toMatchObject({ code: 'DQ_LEDGER_DOWN' });
    await expect(claim()).rejects.toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: false });
  });
});
