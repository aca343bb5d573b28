import { expect, it } from '@jest/globals';
import { concat, lastValueFrom, of, throwError, type Observable } from 'rxjs';
import { NOTES, Skip } from '../spec-support/notes.js';
import { HandlerCall } from './handler-call.js';

const skip = new Skip();
const slip = new Error('slip');

it.each<[string, (call: HandlerCall) => Promise<unknown>]>([
  [
    'fails when it is called again',
    async (call) => {
      await call.run(async () => skip);
      expect(call.resultOf('wrapped')).toBe(skip);
      return call.run(() => Promise.reject(slip));
    },
  ],
  [
    'returns an Observable that fails after an outcome',
    async (call) => {
      const failing = concat(
        of(skip),
        throwError(() => slip),
      );
      return lastValueFrom((await call.run(async () => failing)) as Observable<unknown>);
    },
  ],
])('no outcome is heard of a handler that %s', async (_what, runs) => {
  const call = new HandlerCall(NOTES);
  await expect(runs(call)).rejects.toBe(slip);
  expect([call.resultOf('caught by an interceptor'), call.returned]).toEqual([
    'caught by an interceptor',
    false,
  ]);
});
