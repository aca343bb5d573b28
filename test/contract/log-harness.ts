// The logs behind one face, for their conformance suite.
import { MemoryDriver } from 'nest-kq/src/driver/memory/memory-driver.js';
import { systemClock } from 'nest-kq/src/time/clock.js';
import type { DriverLog, LogDriver } from 'nest-kq/src/driver/driver.js';

export interface LogHarness {
  /** One more client of the same log. */
  open(): LogDriver;
  stop(): Promise<void>;
}

/** A log of these facts has nothing to tell. */
export const SILENT: DriverLog = {
  debug: () => undefined,
  warn: (message) => {
    throw new Error(`warned: ${message}`);
  },
  error: (message) => {
    throw new Error(`told an error: ${message}`);
  },
};

export async function memoryHarness(): Promise<LogHarness> {
  const driver = new MemoryDriver({ clock: systemClock, log: SILENT, autoCreate: false });
  return { open: () => driver, stop: () => driver.close() };
}
