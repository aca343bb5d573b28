import type { Clock } from 'nest-handlers/time';

/** A call that got no answer within its limit. Whether it took effect is unknown. */
export class NoAnswer extends Error {
  constructor(limit: number) {
    super(`no answer within ${limit} ms`);
  }
}

/** Settles as the call does, or rejects with a NoAnswer after `limit` ms. */
export function withinLimit<T>(clock: Clock, limit: number, call: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // After a blocked event loop, timers fire before replies waiting in the socket are read: read those first.
    const timer = clock.after(limit, () => clock.soon(() => reject(new NoAnswer(limit))));
    call.then(resolve, reject).finally(() => timer.cancel());
  });
}
