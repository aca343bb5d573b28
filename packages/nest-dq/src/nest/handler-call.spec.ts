import { beforeEach, describe, expect, it } from '@jest/globals';
import { concat, lastValueFrom, of, throwError, type Observable } from 'rxjs';
import { Discard } from '../api/job.js';
import { HandlerCall } from './handler-call.js';

const discard = Discard.because('never');
const slip = new Error('slip');

describe('HandlerCall', () => {
  let call: HandlerCall;
  beforeEach(() => {
    call = new HandlerCall();
  });

  it('keeps the outcome that the handler returned, unless there is another', async () => {
    await expect(call.run(async () => discard)).resolves.toBe(discard);
    expect(call.resultOf({ data: discard })).toBe(discard);
    expect(call.resultOf(Object.assign({}, discard))).toBe(discard);
    const another = Discard.because('another');
    expect(call.resultOf(another)).toBe(another);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a value', async () => 'fine'],
    ['a failure', () => Promise.reject(slip)],
  ])('forgets what the handler returned when it is called again: %s', async (_what, next) => {
    await call.run(async () => discard);
    await call.run(next).catch(() => undefined);
    expect(call.resultOf('caught')).toBe('caught');
  });

  it('goes by the last value of an Observable, and by none where it failed', async () => {
    const run = async (result: Observable<unknown>) =>
      lastValueFrom((await call.run(async () => result)) as Observable<unknown>);
    await expect(run(of(1, discard))).resolves.toBe(discard);
    expect([call.resultOf('wrapped'), call.returned]).toEqual([discard, true]);
    await run(of(discard, 1));
    expect([call.resultOf('wrapped'), call.returned]).toEqual(['wrapped', true]);
    await expect(
      run(
        concat(
          of(discard),
          throwError(() => slip),
        ),
      ),
    ).rejects.toBe(slip);
    expect([call.resultOf('caught'), call.returned]).toEqual(['caught', false]);
  });

  it('is unfinished while a handler runs, and says when all have ended, however', async () => {
    expect(call.unfinished).toBeUndefined();
    const settle: (() => void)[] = [];
    const runs = [
      call.run(() => new Promise<void>((resolve) => settle.push(resolve))),
      call.run(() => new Promise<void>((_resolve, reject) => settle.push(() => reject(slip)))),
    ];
    let finished = false;
    const unfinished = call.unfinished!.then(() => (finished = true));
    settle[0]!();
    await runs[0];
    expect([call.returned, finished]).toEqual([true, false]);
    settle[1]!();
    await expect(runs[1]).rejects.toBe(slip);
    await unfinished;
    expect(call.unfinished).toBeUndefined();
  });
});
