// Waiting with a limit: whoever waits says for what, and the error repeats it.
import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_PAUSE = 5;
const LONGEST_PAUSE = 50;

/** The promise's own result, or an error that says that `what` was awaited for `limit` milliseconds. */
export async function within<T>(limit: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${limit / 1000} s for ${what}, in vain`)), limit);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Asks again, at growing intervals of up to 50 ms, until `check` says yes. A check that throws ends the wait. */
export async function until(
  limit: number,
  what: string,
  check: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + limit;
  for (let pause = FIRST_PAUSE; !(await check()); pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    if (performance.now() > deadline) throw new Error(`waited ${limit / 1000} s for ${what}, in vain`);
    await sleep(pause);
  }
}
