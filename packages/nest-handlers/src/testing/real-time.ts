// Real time, even under fake timers: Jest and Vitest replace the globals, not the module `node:timers`. Only for the test kit.
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';

/** Resolves once all pending input has been read. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Calls back as `setImmediate` does. */
export function soon(callback: () => void): void {
  setImmediate(callback);
}

/** Resolves with whether a promise resolves within `ms` of real time. */
export async function within(ms: number, promise: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, ms, false)));
  try {
    return await Promise.race([promise.then(() => true), over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns ms since 1970 as the code under test sees it: from fake timers if there are any. */
export function present(): number {
  return Date.now();
}

/** The clock of timers faked by Jest or Vitest. */
export interface FakeTimers {
  countTimers(): number;
  tick(ms: number): void;
  /** Lets promises resolve between timers. */
  tickAsync(ms: number): Promise<unknown>;
}

/** Returns what `jest.useFakeTimers()` or `vi.useFakeTimers()` has installed, if active. */
export function fakeTimers(): FakeTimers | undefined {
  for (const faked of [globalThis.setTimeout, globalThis.Date]) {
    const { clock } = faked as { clock?: Partial<FakeTimers> };
    if (typeof clock?.tickAsync === 'function') return clock as FakeTimers;
  }
  return undefined;
}
