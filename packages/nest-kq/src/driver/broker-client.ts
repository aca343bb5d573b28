/** Shared by all parts of a driver: its settings, the clock, and reports of unreachable brokers. */
import type { Clock } from 'nest-handlers/time';
import type { ClientSettings } from './client-options.js';
import type { DriverLog } from './driver.js';

export class BrokerClient {
  readonly clock: Clock;
  readonly log: DriverLog;
  /** Failed attempts to connect since a broker last answered. */
  private inVain = 0;

  constructor(readonly settings: ClientSettings) {
    this.clock = settings.clock;
    this.log = settings.log;
  }

  /** Call when a broker has answered. */
  reportBack(): void {
    if (this.inVain > this.settings.brokers.length) this.log.warn('reconnected to Kafka');
    this.inVain = 0;
  }

  /** Call after a failed attempt. Logs once, when there was one for each known broker, until one answers. */
  reportAway(reason: string): void {
    if (++this.inVain === this.settings.brokers.length + 1)
      this.log.warn(`cannot connect to Kafka; retrying: ${reason}`);
  }

  delay(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.clock.after(milliseconds, resolve));
  }
}
