import type { JobReceipt } from 'nest-dq';
import { machineTime } from './clock.js';
import { payloadOf, type Payload } from './payload.js';
import type { Client } from './systems/product.js';
import { pause } from './waiting.js';

export interface TrafficSettings {
  readonly queue: string;
  /** Adds a second. */
  readonly rate: number;
  /** Milliseconds from an add to its due time. */
  readonly ahead: number;
  /** Copies of a job that was stored in full. */
  readonly copies: number;
}

/** Observations of the traffic. Can be cloned. */
export interface Seen {
  /** How long each successful add took, in ms. */
  readonly adds: readonly number[];
  /** How late the first start of each job was, in ms. */
  readonly lates: readonly number[];
  /** Adds that failed. */
  readonly failed: number;
  /** Jobs that were stored and did not run. */
  readonly notRun: number;
}

/** Adds and runs jobs at a steady rate in the background. */
export class Traffic {
  private readonly adds: number[] = [];
  private readonly lates: number[] = [];
  private failed = 0;
  /** When the adds became full again after one with too few copies, in ms since 1970; NaN if all were full. */
  fullAgain = NaN;
  private short = false;
  private added = 0;
  private readonly ran = new Set<number>();
  private readonly pending = new Set<Promise<void>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Client,
    private readonly settings: TrafficSettings,
  ) {}

  async start(concurrency: number): Promise<void> {
    const { queue, rate } = this.settings;
    await this.client.consume(queue, (payload) => this.run(payload), concurrency);
    this.timer = setInterval(() => this.track(this.add(this.added++)), 1000 / rate);
  }

  /** Waits for the last adds, and `time` ms more for their runs. */
  async stop(time: number): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.pending);
    await pause(time);
  }

  seen(): Seen {
    const { adds, lates, failed } = this;
    return { adds, lates, failed, notRun: adds.length - this.ran.size };
  }

  private run({ n, due }: Payload): void {
    if (!this.ran.has(n)) this.lates.push(machineTime() - due);
    this.ran.add(n);
  }

  private async add(n: number): Promise<void> {
    const { queue, ahead, copies } = this.settings;
    const from = performance.now();
    try {
      const payload = payloadOf(n, Math.ceil(machineTime() + ahead));
      const receipt = (await this.client.at(queue, payload)) as JobReceipt;
      this.adds.push(performance.now() - from);
      this.noteCopies(receipt.copies === copies);
    } catch {
      this.failed++; // a row shows it
    }
  }

  private noteCopies(full: boolean): void {
    if (full && this.short) this.fullAgain = machineTime();
    this.short = !full;
  }

  private track(add: Promise<void>): void {
    this.pending.add(add);
    void add.finally(() => this.pending.delete(add));
  }
}
