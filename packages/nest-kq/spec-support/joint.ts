/** Applications of nest-kq and nest-dq, all in this process. */
import { afterEach } from '@jest/globals';
import { Injectable, type DynamicModule, type Provider } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DqModule } from 'nest-dq';
import type { KqMessage } from '../src/api/received.js';
import { KqDqModule } from '../src/dq/kq-dq-module.js';
import type { TopicHandlerOptions } from '../src/nest/handler-options.js';
import { KqModule } from '../src/nest/kq-module.js';
import { TopicHandler } from '../src/nest/topic-handler.js';
import { CollectingLogger } from './collecting-logger.js';

export interface Run {
  readonly value: unknown;
  readonly message: KqMessage;
  readonly at: number;
}

/** Body of a handler. `of`: all its runs so far, including this one. */
export type Act = (run: Run, of: readonly Run[]) => unknown;

export const logger = new CollectingLogger();
const apps: TestingModule[] = [];

/** Call it at the top of a spec. */
export function closeApps(): void {
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });
}

/** A handler of `topic` that notes its runs. */
export class Noted {
  readonly runs: Run[] = [];
  private readonly waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor(private readonly act: Act) {}

  run(value: unknown, message: KqMessage): unknown {
    const run = { value, message, at: Date.now() };
    this.runs.push(run);
    for (const { count, resolve } of this.waiting) if (this.runs.length >= count) resolve();
    return this.act(run, this.runs);
  }

  async until(count: number): Promise<readonly Run[]> {
    if (this.runs.length < count) await new Promise<void>((resolve) => this.waiting.push({ count, resolve }));
    return this.runs;
  }
}

export function handlerOf(noted: Noted, options: TopicHandlerOptions & { batch?: undefined } = {}): Provider {
  @Injectable()
  class Handlers {
    @TopicHandler('orders', { group: 'shop', ...options })
    handle(value: any, message: KqMessage<any>): unknown {
      return noted.run(value, message);
    }
  }
  return Handlers;
}

export async function start(providers: Provider[], ...imports: DynamicModule[]): Promise<TestingModule> {
  const joint = imports.length > 0 ? imports : [DqModule.forRoot({ logger }), KqDqModule.forRoot()];
  const app = await Test.createTestingModule({
    imports: [KqModule.forRoot({ logger }), ...joint],
    providers,
  })
    .setLogger(logger)
    .compile();
  apps.push(app);
  await app.init();
  return app;
}

export const failing: Act = () => {
  throw new Error('no stock');
};
