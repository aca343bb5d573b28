import { describe, expect, it } from '@jest/globals';
import { withDeadJobs } from '../../spec-support/dead-jobs.js';
import type { DqControl } from './control.js';
import type { BulkProgress } from './bulk.js';

const SECOND = 1_000;
const TEN = Array.from({ length: 10 }, (_, i) => String(i));
const NEWEST_FIRST = TEN.toReversed();
/** More than one page has. */
const MANY = Array.from({ length: 130 }, (_, i) => String(i));

type Act = 'reviveMany' | 'discardMany';

/** All progress, to the end. */
function isFirst<T>({ done, failed, skipped, cursor }: BulkProgress<T>): boolean {
  return done + failed + skipped === 0 && cursor !== undefined;
}

/** Without the progress that comes before anything is changed. */
async function all<T>(act: AsyncIterable<BulkProgress<T>>): Promise<BulkProgress<T>[]> {
  const told: BulkProgress<T>[] = [];
  for await (const progress of act) if (!isFirst(progress)) told.push(progress);
  return told;
}

/** The last progress of the act, and the error that ended it. */
async function ended<T>(act: AsyncIterable<BulkProgress<T>>) {
  let last: BulkProgress<T> | undefined;
  try {
    for await (const progress of act) last = progress;
    return { last };
  } catch (error) {
    return { last, error: error as Error & { progress: BulkProgress<T> } };
  }
}

describe('reviveMany', () => {
  it('revives the letters that meet the filter: now, or each after a delay', async () => {
    const { control, producer, dead, letter, clock } = await withDeadJobs(3);
    const [oldest, newest] = [await letter('0'), await letter('2')];
    const told = await all(control.reviveMany('t', { diedTo: oldest.diedAt.getTime() + 1 }));
    expect(told).toEqual([{ done: 1, failed: 0, skipped: 0, failures: [], examples: [] }]);
    expect(await dead()).toEqual(['2', '1']);
    expect(await producer.find(oldest)).toMatchObject({ state: 'waiting', dueAt: new Date(clock.wall()) });
    await all(control.reviveMany('t', { diedFrom: newest.diedAt }, { delay: '1h' }));
    expect(await dead()).toEqual(['1']);
    const inAnHour = new Date(clock.wall() + 3_600_000);
    expect(await producer.find(newest)).toMatchObject({ state: 'waiting', dueAt: inAnHour });
  });

  it('deletes the copies of each letter before it reports its progress', async () => {
    const { control, copies } = await withDeadJobs(2);
    await all(control.reviveMany('t', {}));
    expect((await copies()).map(({ state }) => state)).not.toContain('buried');
  });

  it('leaves a letter alone whose copies are all out of reach, and says which; others are revived', async () => {
    const { control, cut, restore, dead, after, memory } = await withDeadJobs(2);
    const { records } = memory.tube('t');
    const [lost] = [...records.letters.values()];
    records.keepLetter({ ...lost!, places: lost!.places.slice(0, 1) });
    await cut(Number(lost!.places[0]!.location.slice(1, 2)));
    const { last } = await after(5 * SECOND, ended(control.reviveMany('t', {})));
    expect(last).toMatchObject({ done: 1, failed: 1, skipped: 0 });
    expect(last!.failures).toEqual([
      { id: lost!.id, error: expect.objectContaining({ code: 'DQ_NO_COPY' }) },
    ]);
    await restore();
    expect(await dead()).toEqual(['0']);
  });

  it('ends if too few nodes can store, and each letter stays', async () => {
    const { control, cut, restore, dead, after } = await withDeadJobs(3);
    await cut(1, 2);
    const { last, error } = await after(10 * SECOND, ended(control.reviveMany('t', {})));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', progress: { done: 0, failed: 0, skipped: 0 } });
    expect(last).toMatchObject({ done: 0 });
    await restore();
    expect(await dead()).toEqual(['2', '1', '0']);
  });

  it('does not revive a letter whose key has a newer job', async () => {
    const { control, producer, clock, kill, letter } = await withDeadJobs(0);
    await producer.now('t', 'old', { key: 'k' });
    await clock.advance(0);
    await kill('old');
    await producer.delay('t', 'new', '1h', { key: 'k' });
    expect(await all(control.reviveMany('t', {}))).toMatchObject([{ done: 0, skipped: 1 }]);
    expect(await letter('old')).toBeDefined();
    expect(await producer.find({ tube: 't', key: 'k' })).toMatchObject({ state: 'waiting' });
  });

  it('returns a cursor before it revives any letter, so that none is revived again that died again', async () => {
    const { control, kill, dead } = await withDeadJobs(2);
    const act = control.reviveMany('t', {})[Symbol.asyncIterator]();
    const { value: first } = await act.next();
    expect([first, await dead()]).toMatchObject([{ done: 0 }, ['1', '0']]);
    await act.next(); // it has revived all, and its process is killed before it has reported that
    await kill('0');
    expect(await all(control.reviveMany('t', {}, { cursor: first!.cursor }))).toMatchObject([{ done: 0 }]);
    expect(await dead()).toEqual(['0']);
  });

  it('revives no letter again that dies again meanwhile, nor one that dies for the first time', async () => {
    const { control, kill, addAndKill, dead } = await withDeadJobs(0);
    await addAndKill(MANY);
    let again = '';
    let told: { done: number } | undefined;
    for await (const progress of control.reviveMany('t', {})) {
      if (!isFirst(progress) && !told) {
        const left = await dead();
        again = MANY.find((each) => !left.includes(each))!;
        await kill(again);
        await addAndKill(['new']);
      }
      if (!isFirst(progress)) told = progress;
    }
    expect(told).toMatchObject({ done: MANY.length });
    expect(await dead()).toEqual(['new', again]);
  });
});

describe('discardMany', () => {
  it('deletes the copies that others have found since the page was read', async () => {
    const { control, memory, ledger, copies } = await withDeadJobs(2);
    const { records } = memory.tube('t');
    const letters = [...records.letters.values()];
    for (const letter of letters) records.keepLetter({ ...letter, places: [] });
    ledger.acted = () => {
      ledger.acted = () => undefined;
      for (const letter of letters) records.keepLetter(letter);
    };
    await all(control.discardMany('t', {}));
    expect(await copies()).toEqual([]);
  });

  it('gives up the letters that meet the filter, and deletes their copies', async () => {
    const { control, dead, letter, payloads, producer } = await withDeadJobs(3);
    const [{ diedAt }, oldest] = [await letter('1'), await letter('0')];
    const told = await all(control.discardMany('t', { diedTo: new Date(diedAt.getTime() + 1) }));
    expect(told).toEqual([{ done: 2, failed: 0, skipped: 0, failures: [], examples: [] }]);
    expect([await dead(), await payloads()]).toEqual([['2'], ['2', '2', '2']]);
    expect(await producer.find(oldest)).toMatchObject({ state: 'revoked' });
  });

  it.each(['lost', 'unanswered'] as const)('deletes the copies if the discard is %s first', async (fault) => {
    const { control, ledger, after, dead, payloads } = await withDeadJobs(2);
    ledger.fail('discard', fault);
    expect(await after(5 * SECOND, all(control.discardMany('t', {}, { patience: '3s' })))).toMatchObject([
      { done: 2, skipped: 0 },
    ]);
    expect([await dead(), await payloads()]).toEqual([[], []]);
  });

  it('leaves the letter of a job alone that is revived and dies again between reading and discarding', async () => {
    const { control, ledger, deadLetters, kill, dead, process } = await withDeadJobs(1);
    const other = process();
    ledger.gate = async (verb) => {
      if (verb !== 'discard') return;
      ledger.gate = () => undefined;
      const [letter] = (await deadLetters.list('t')).letters;
      expect(await other.deadLetters.revive(letter!)).toBe('revived');
      await kill('0');
    };
    expect(await all(control.discardMany('t', {}))).toMatchObject([{ done: 0, skipped: 1 }]);
    expect(await dead()).toEqual(['0']);
  });
});

describe.each<Act>(['reviveMany', 'discardMany'])('%s', (name) => {
  const begin = (control: DqControl, ...args: Parameters<DqControl['discardMany']>) => control[name](...args);

  it('in a dry run changes nothing, counts, and shows the first ten', async () => {
    const { control, addAndKill, dead, copies, ledger, events } = await withDeadJobs(0);
    await addAndKill([...TEN, 'x']);
    const operated = events.collect('operated');
    const [before, letters] = [await copies(), await dead()];
    ledger.asked.length = 0;
    const [told, ...more] = await all(begin(control, 't', {}, { dryRun: true }));
    expect(more).toEqual([]);
    expect(told).toMatchObject({ done: 11, failed: 0, skipped: 0 });
    expect(told!.examples.map(({ payload }) => payload)).toEqual(letters.slice(0, 10));
    expect(told!.latest).toEqual(told!.examples[0]!.diedAt);
    expect(told!.earliest!.getTime()).toBeLessThanOrEqual(told!.examples[9]!.diedAt.getTime());
    expect(await copies()).toEqual(before);
    expect([new Set(ledger.asked), operated]).toEqual([new Set(['letters']), []]);
  });

  it('goes through pages, reports each, and then who did it to how many', async () => {
    const { control, addAndKill, dead, events } = await withDeadJobs(0);
    await addAndKill(MANY);
    const operated = events.collect('operated');
    const told = await all(begin(control, 't', {}, { by: 'ann' }));
    expect(told.map(({ done, cursor }) => [done, cursor !== undefined])).toEqual([
      [128, true],
      [130, false],
    ]);
    expect(await dead()).toEqual([]);
    expect(operated).toEqual([{ by: 'ann', act: name, on: { tube: 't', filter: {} }, count: 130 }]);
  });

  it('ends when its caller breaks out of the loop, and continues from its cursor', async () => {
    const { control, addAndKill, dead, events } = await withDeadJobs(0);
    await addAndKill(MANY);
    const operated = events.collect('operated');
    let cursor: string | undefined;
    for await (const progress of begin(control, 't', {})) {
      if (isFirst(progress)) continue;
      cursor = progress.cursor;
      break;
    }
    expect((await dead()).length).toBe(2);
    expect(operated).toMatchObject([{ count: 128 }]);
    expect(await all(begin(control, 't', {}, { cursor }))).toMatchObject([{ done: 2 }]);
    expect(await dead()).toEqual([]);
  });

  it('stops at its limit, and continues from there', async () => {
    const { control, dead } = await withDeadJobs(3);
    const [{ cursor, done }] = (await all(begin(control, 't', { limit: 2 }))) as [BulkProgress<unknown>];
    expect([done, await dead()]).toEqual([2, ['0']]);
    expect(await all(begin(control, 't', { limit: 2 }, { cursor: cursor! }))).toMatchObject([{ done: 1 }]);
  });

  it('with a limit of exactly the number of letters reports that it is complete', async () => {
    const { control } = await withDeadJobs(2);
    const [told] = await all(begin(control, 't', { limit: 2 }));
    expect(told).not.toHaveProperty('cursor');
  });

  it('ends with an error that has its progress while the ledger is away, and continues from it', async () => {
    const { control, addAndKill, dead, ledger, after, events } = await withDeadJobs(0);
    await addAndKill(MANY);
    const operated = events.collect('operated');
    const verb = name === 'reviveMany' ? 'open' : 'discard';
    let calls = 0;
    ledger.gate = (asked) => {
      if (asked === verb && ++calls === 2) ledger.down = true;
    };
    const { last, error } = await after(10 * SECOND, ended(begin(control, 't', {}, { patience: '1s' })));
    const { progress } = error!;
    expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', progress: { failed: 0, skipped: 0 } });
    expect(error!.message).toContain(`the act ended after ${progress.done} done, 0 failed and 0 skipped`);
    expect(progress.done).toBeLessThan(MANY.length);
    expect(last?.done ?? 0).toBeLessThanOrEqual(progress.done);
    expect(operated).toEqual([expect.objectContaining({ count: progress.done, error })]);
    ledger.down = false;
    const rest = await all(begin(control, 't', {}, { cursor: progress.cursor! }));
    expect(progress.done + rest.at(-1)!.done).toBe(MANY.length);
    expect(await dead()).toEqual([]);
  });

  it('in two processes at once takes each letter once', async () => {
    const { control, process, addAndKill, dead } = await withDeadJobs(0);
    await addAndKill(NEWEST_FIRST);
    const acts = [control, process().control].map((each) => all(begin(each, 't', {})));
    const [one, other] = (await Promise.all(acts)).map((told) => told.at(-1)!);
    expect(one!.done + other!.done).toBe(TEN.length);
    expect(one!.skipped + other!.skipped).toBeLessThanOrEqual(TEN.length);
    expect(await dead()).toEqual([]);
  });

  it('fails after the close of the module', async () => {
    const { control, producer, addAndKill } = await withDeadJobs(0);
    await addAndKill(MANY);
    const { last, error } = await ended(
      (async function* () {
        for await (const progress of begin(control, 't', {})) {
          void producer.close();
          yield progress;
        }
      })(),
    );
    expect([last!.done, error]).toEqual([128, expect.objectContaining({ code: 'DQ_CLOSED' })]);
    expect(() => begin(control, 't', {})).toThrow(
      /DQ_CLOSED: the module is closed; no job can be added or changed/,
    );
  });
});
