// Real time, also under fake timers: Jest and Vitest replace the globals, and not the module `node:timers`. Only the test
// kit may use this file.
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';

/** Resolves once all input that is waiting now was read. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Calls back as `setImmediate` does. */
export function soon(callback: () => void): void {
  setImmediate(callback);
}

/** Whether a promise resolves within so many real milliseconds. */
export async function within(ms: number, promise: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, ms, false)));
  try {
    return await Promise.race([promise.then(() => true), over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Milliseconds since 1970, as the code under test has it: by fake timers if there are any. */
export function present(): number {
  return Date.now();
}

/** The clock behind the timers that Jest or Vitest fakes. */
export interface FakeTimers {
  countTimers(): number;
  tick(ms: number): void;
  /** Lets promises resolve between one timer and the next. */
  tickAsync(ms: number): Promise<unknown>;
}

/** What `jest.useFakeTimers()` or `vi.useFakeTimers()` has put in place, as long as it is there. */
export function fakeTimers(): FakeTimers | undefined {
  for (const faked of [globalThis.setTimeout, globalThis.Date]) {
    const { clock } = faked as { clock?: Partial<FakeTimers> };
    if (typeof clock?.tickAsync === 'function') return clock as FakeTimers;
  }
  return undefined;
}
