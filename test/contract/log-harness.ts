// The logs behind one face, for their conformance suite.
import type { DriverLog, LogDriver } from 'nest-kq/src/driver/driver.js';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { MemoryDriver } from 'nest-kq/src/driver/memory/memory-driver.js';
import { systemClock } from 'nest-kq/src/time/clock.js';
import { startKafka } from 'test-servers';

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
export async function kafkajsHarness(): Promise<LogHarness> {
  const server = await startKafka({ autoCreateTopics: true });
  const { log, check } = silentLog();
  const opened: KafkajsDriver[] = [];
  return {
    open: () => {
      const driver = new KafkajsDriver({ brokers: [server.endpoint], clock: systemClock, log });
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
  const told: string[] = [];
  const tell = (message: string) => void told.push(message);
  const log: DriverLog = {
    debug: process.env.DEBUG_LOG ? console.log : () => undefined,
    warn: tell,
    error: tell,
  };
  const check = () => {
    if (told.length > 0) throw new Error(`the log told: ${told.join(' | ')}`);
  };
  return { log, check };
}
