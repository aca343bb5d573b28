import type { Clock } from 'nest-handlers/time';

/** Nothing was heard of a call within its limit. Whether it acted is unknown. */
export class NoAnswer extends Error {
  constructor(limit: number) {
    super(`no answer within ${limit} ms`);
  }
}

/** What the call comes to, or a NoAnswer after `limit` ms. */
export function withinLimit<T>(clock: Clock, limit: number, call: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // After a blocked event loop timers come before the replies that wait in the socket: those are read first.
    const timer = clock.after(limit, () => clock.soon(() => reject(new NoAnswer(limit))));
    call.then(resolve, reject).finally(() => timer.cancel());
  });
}
