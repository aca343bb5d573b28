// Waits with a limit. The caller says what it waits for, and the error repeats it.
import { setTimeout as pause } from 'node:timers/promises';

const FIRST_PAUSE = 5;
const LONGEST_PAUSE = 50;

/** Settles as the promise does. Rejects with an error that names `what` if that takes more than `limit` milliseconds. */
export async function within<T>(limit: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${limit / 1000} s: ${what}`)), limit);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Resolves when the condition holds. Checks it at growing intervals of up to 50 ms. Rejects with an error that names `what`
 * after `limit` milliseconds. Also rejects when the condition throws, or the signal aborts.
 */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  limit = 30_000,
  signal?: AbortSignal,
): Promise<void> {
  const end = performance.now() + limit;
  for (let wait = FIRST_PAUSE; !(await condition()); wait = Math.min(2 * wait, LONGEST_PAUSE)) {
    if (performance.now() > end) throw new Error(`not within ${limit / 1000} s: ${what}`);
    await pause(wait, undefined, { signal });
  }
}
