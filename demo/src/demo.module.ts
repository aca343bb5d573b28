import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Module, type DynamicModule } from '@nestjs/common';
import { DelayedHandler, DqModule, defineTube, type DqOptions } from 'nest-dq';
import { RunLog } from './run-log.js';
import { ON_PURPOSE } from './screen.js';

export interface DemoPayload {
  job: number;
  /** How many runs fail before one succeeds. */
  failures: number;
}

export const DemoJob = defineTube<DemoPayload>('demo');

const WORK = 5;
const RETRY_DELAY = 500;

@Injectable()
class DemoHandler {
  constructor(private readonly log: RunLog) {}

  @DelayedHandler(DemoJob, {
    concurrency: 50,
    attempts: 5,
    backoff: { type: 'fixed', delay: RETRY_DELAY, jitter: 0 },
  })
  async run({ job, failures }: DemoPayload): Promise<void> {
    const runs = this.log.started(job);
    await sleep(WORK);
    if (runs <= failures) {
      this.log.failed(job, RETRY_DELAY);
      throw new Error(ON_PURPOSE);
    }
    this.log.succeeded(job);
  }
}

@Module({})
export class DemoModule {
  static forRoot(options: DqOptions): DynamicModule {
    return { module: DemoModule, imports: [DqModule.forRoot(options)], providers: [DemoHandler, RunLog] };
  }
}
