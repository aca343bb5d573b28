import type { LoggerService } from '@nestjs/common';
import type { DriverFactory } from '../driver/client-options.js';
import type { DriverLog, LogDriver } from '../driver/driver.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import { KqError, toError } from '../errors.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import { resolveOptions, type KqOptions, type ResolvedOptions } from './options.js';

/** Makes the clock and the log of every cluster of an application. Specs put another one in its place. */
export interface Environment {
  readonly clock: Clock;
  /** `KQ_CONFIG`. `name`: of the cluster. */
  resolve(given: KqOptions, name: string | undefined): ResolvedOptions;
  /** `KQ_CONFIG`. Opens nothing, because nobody closes the log of an application whose modules cannot be made. */
  driver(options: ResolvedOptions, name: string | undefined): LogDriver | Promise<LogDriver>;
  /** Waits until the handlers have stopped. Absent: just that. */
  readonly stopped?: (stop: Promise<void>) => Promise<void>;
}

/** The same for all clusters: each module has its own provider of it. */
export const ENVIRONMENT = 'nest-kq:environment';

/** The machine's time, and the brokers that the options name, by their driver; without any, a log in this process. */
export const realEnvironment: Environment = {
  clock: systemClock,
  resolve: resolveOptions,
  async driver(options) {
    const { brokers, clientId, ssl, sasl, rack, connectionTimeout, requestTimeout } = options;
    const own = { clock: this.clock, log: driverLog(options.logger) };
    if (!brokers) return new MemoryDriver(own);
    const driverOf = options.driver ?? (await loadKafkajs());
    return driverOf({ ...own, brokers, clientId, ssl, sasl, rack, connectionTimeout, requestTimeout });
  },
};

/** Only who speaks by it loads it: neither who has another driver, nor a log in memory, nor a test kit. */
async function loadKafkajs(): Promise<DriverFactory> {
  try {
    const { KafkajsDriver } = await import('../driver/kafkajs/kafkajs-driver.js');
    return (options) => new KafkajsDriver(options);
  } catch (thrown) {
    const cause = toError(thrown);
    const fact = `kafkajs cannot be loaded: ${cause.message}`;
    throw new KqError('KQ_CONFIG', `${fact}; npm install kafkajs, or name another \`driver\``, { cause });
  }
}

export function driverLog(logger: LoggerService): DriverLog {
  return {
    debug: (message) => void logger.debug?.(message),
    warn: (message) => void logger.warn(message),
    error: (message) => void logger.error(message),
  };
}
