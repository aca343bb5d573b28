/** What all parts of one driver share: its settings, the time, and where it tells of brokers that are away. */
import type { Clock } from 'nest-handlers/time';
import type { ClientSettings } from './client-options.js';
import type { DriverLog } from './driver.js';

export class BrokerClient {
  readonly clock: Clock;
  readonly log: DriverLog;
  /** Attempts to connect since a broker has answered. */
  private inVain = 0;

  constructor(readonly settings: ClientSettings) {
    this.clock = settings.clock;
    this.log = settings.log;
  }

  /** To be called when brokers have answered. */
  tellBack(): void {
    if (this.inVain > this.settings.brokers.length) this.log.warn('connected to Kafka again');
    this.inVain = 0;
  }

  /** To be called after an attempt in vain. Logs once there was one for each broker that we know, until one answers. */
  tellAway(reason: string): void {
    if (++this.inVain === this.settings.brokers.length + 1)
      this.log.warn(`cannot connect to Kafka, and goes on trying: ${reason}`);
  }

  delay(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.clock.after(milliseconds, resolve));
  }
}
