// The logs behind one face, for their conformance suite.
import { it } from '@jest/globals';
import type { DriverLog, LogDriver } from 'nest-kq/src/driver/driver.js';
import { createRequire } from 'node:module';
import { confluent } from 'nest-kq/src/driver/confluent/confluent-driver.js';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import type { DriverFactory } from 'nest-kq/src/driver/client-options.js';
import { MemoryDriver } from 'nest-kq/src/driver/memory/memory-driver.js';
import { systemClock } from 'nest-handlers/time';
import { findConfluent, startKafka } from 'test-servers';

export interface LogHarness {
  /** One more client of the same log. */
  open(): LogDriver;
  /** Rejects if the log had anything to tell an operator. */
  stop(): Promise<void>;
}

export async function memoryHarness(): Promise<LogHarness> {
  const { log, check } = silentLog();
  const driver = new MemoryDriver({ clock: systemClock, log, autoCreate: false });
  return {
    open: () => driver,
    stop: async () => {
      await driver.close();
      check();
    },
  };
}

/** The broker would create a topic that is missing for any client that lets it. */
export const kafkajsHarness = () => kafkaHarness((options) => new KafkajsDriver(options));

/** Undefined if its client is not on this machine. */
export const confluentDriver = loadConfluent();

function loadConfluent(): DriverFactory | undefined {
  const folder = findConfluent();
  return folder === undefined ? undefined : confluent(createRequire(import.meta.url)(folder));
}

/** Says in the report why facts about Confluent's client are missing. */
export function noteNotBuilt(): void {
  it.skip('is not tested, as its client is not built: npm run confluent', () => {});
}

export const confluentHarness = confluentDriver && (() => kafkaHarness(confluentDriver));

async function kafkaHarness(driverOf: DriverFactory): Promise<LogHarness> {
  const server = await startKafka({ autoCreateTopics: true });
  const { log, check } = silentLog();
  const opened: LogDriver[] = [];
  return {
    open: () => {
      const driver = driverOf({ brokers: [server.endpoint], clock: systemClock, log });
      opened.push(driver);
      return driver;
    },
    stop: async () => {
      await Promise.all(opened.map((driver) => driver.close()));
      await server.stop();
      check();
    },
  };
}

function silentLog() {
  const lines: string[] = [];
  const add = (message: string) => void lines.push(message);
  const log: DriverLog = {
    debug: process.env.DEBUG_LOG ? console.log : () => undefined,
    warn: add,
    error: add,
  };
  const check = () => {
    if (lines.length > 0) throw new Error(`the log reported:  ${lines.join(' | ')}`);
  };
  return { log, check };
}
