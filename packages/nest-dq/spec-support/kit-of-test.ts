import { afterEach, beforeEach } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { DelayedJob } from '../src/api/job.js';
import { defineTube } from '../src/api/tube.js';
import { DqTestKit } from '../src/test-kit/dq-test-kit.js';

export const Orders = defineTube<{ id: string }>('orders');
export const START = new Date('2030-01-01T00:00:00Z');
export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;
export const NONE = { started: 0, completed: 0, failed: 0, dead: 0, expired: 0 };

/** Waits in real time. */
export const really = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Gives each test of a file a kit of its own. A test may replace it. */
export class KitOfTest {
  kit!: DqTestKit;

  constructor() {
    beforeEach(() => {
      Logger.overrideLogger(false);
      this.kit = new DqTestKit({ now: START });
    });
    afterEach(() => this.kit.close());
  }

  /** Milliseconds since the start. */
  elapsed(): number {
    return this.kit.now.getTime() - START.getTime();
  }

  /** Runs the jobs of the tube, and notes the id in the payload and the time of each run. */
  async noting(handle: (job: DelayedJob<{ id: string }>) => unknown = () => undefined, options = {}) {
    const runs: [id: string, at: number][] = [];
    await this.kit.consumer.consume(
      Orders,
      ({ id }, job) => {
        runs.push([id, this.elapsed()]);
        return handle(job);
      },
      options,
    );
    return runs;
  }
}
