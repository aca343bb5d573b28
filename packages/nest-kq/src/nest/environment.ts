import type { LoggerService } from '@nestjs/common';
import type { DriverFactory } from '../driver/client-options.js';
import type { DriverLog, LogDriver } from '../driver/driver.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import { KqError, toError } from '../errors.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import { resolveOptions, type KqOptions, type ResolvedOptions } from './options.js';

/** Creates the clock and the log of each cluster of an application. Specs replace it. */
export interface Environment {
  readonly clock: Clock;
  /** Returns the checked options; throws `KQ_CONFIG`. `name` is the cluster's. */
  resolve(given: KqOptions, name: string | undefined): ResolvedOptions;
  /**
   * Returns the driver; throws `KQ_CONFIG`. Opens nothing, since nobody closes the log if the application's modules can't be
   * created.
   */
  driver(options: ResolvedOptions, name: string | undefined): LogDriver | Promise<LogDriver>;
  /** Waits for the handlers to stop. If absent, `stop` is simply awaited. */
  readonly stopped?: (stop: Promise<void>) => Promise<void>;
}

/** Shared by all clusters: each module provides its own. */
export const ENVIRONMENT = 'nest-kq:environment';

/** The system clock, and the driver for the brokers in the options, or a log in this process without any. */
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

/** Loaded on demand: other drivers, a log in memory and the test kit don't need kafkajs. */
async function loadKafkajs(): Promise<DriverFactory> {
  try {
    const { KafkajsDriver } = await import('../driver/kafkajs/kafkajs-driver.js');
    return (options) => new KafkajsDriver(options);
  } catch (thrown) {
    const cause = toError(thrown);
    const fact = `kafkajs cannot be loaded: ${cause.message}`;
    throw new KqError('KQ_CONFIG', `${fact}; npm install kafkajs, or set another \`driver\``, { cause });
  }
}

export function driverLog(logger: LoggerService): DriverLog {
  return {
    debug: (message) => void logger.debug?.(message),
    warn: (message) => void logger.warn(message),
    error: (message) => void logger.error(message),
  };
}
