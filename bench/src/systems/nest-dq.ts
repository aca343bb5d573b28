import 'reflect-metadata';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DqConsumer, DqModule, DqProducer, type DqOptions, type JobReceipt, type Tube } from 'nest-dq';
import { DqControl, DqInspector } from 'nest-dq/operate';
import type { Payload } from '../payload.js';
import { stderrLogger } from '../stderr-logger.js';
import type { Places } from '../servers.js';
import type { BulkJob, Client, Handle, Product } from './product.js';

type TubeOf = (queue: string) => string | Tube<Payload, Payload>;

/** A Nest application like that of a user, with the defaults of the library. */
export const nestDq = nestDqWith();

/** How a client uses the library where it differs from a plain use. */
interface Use {
  /** Defines the tube of a queue. @default by its name alone */
  readonly tubeOf?: TubeOf;
  /** Max jobs of a batch. @default no batches */
  readonly batch?: number;
}

/** The same with these options. */
export function nestDqWith(more: DqOptions = {}, use?: Use): Product {
  return {
    nodes: 3,
    connect: ({ beanstalks, redis }, options) =>
      connectNestDq({ beanstalks: [...beanstalks], redis, ...more, ...options }, use),
  };
}

export async function connectNestDq(
  options: DqOptions,
  { tubeOf = (queue) => queue, batch }: Use = {},
): Promise<Client> {
  return new NestDqClient(await contextOf(options), tubeOf, batch);
}

/** Calls `use` with an application of its own, of somebody who looks and steers. It repairs nothing by itself. */
export async function asOperator<T>(
  { beanstalks, redis }: Places,
  use: (inspector: DqInspector, control: DqControl) => Promise<T>,
): Promise<T> {
  const app = await contextOf({ beanstalks: [...beanstalks], redis, repair: false });
  try {
    return await use(app.get(DqInspector), app.get(DqControl));
  } finally {
    await app.close();
  }
}

function contextOf(options: DqOptions): Promise<INestApplicationContext> {
  return NestFactory.createApplicationContext(DqModule.forRoot(options), { logger: stderrLogger });
}

class NestDqClient implements Client {
  private readonly producer: DqProducer;

  constructor(
    private readonly app: INestApplicationContext,
    private readonly tubeOf: TubeOf,
    private readonly batch: number | undefined,
  ) {
    this.producer = app.get(DqProducer);
  }

  now(queue: string, payload: Payload): Promise<unknown> {
    return this.producer.now(this.tubeOf(queue), payload);
  }

  delay(queue: string, payload: Payload, delay: number, key?: string): Promise<unknown> {
    return this.producer.delay(this.tubeOf(queue), payload, delay, key === undefined ? undefined : { key });
  }

  at(queue: string, payload: Payload): Promise<unknown> {
    return this.producer.at(this.tubeOf(queue), payload, payload.due);
  }

  async revoke(added: unknown): Promise<void> {
    const result = await this.producer.revoke(added as JobReceipt);
    if (result !== 'revoked') throw new Error(`the job is ${result}`);
  }

  async delayMany(queue: string, jobs: readonly BulkJob[]): Promise<void> {
    await this.producer.addMany(this.tubeOf(queue), jobs);
  }

  async consume(queue: string, handle: Handle, concurrency: number): Promise<() => Promise<void>> {
    const consumption = await this.consuming(this.tubeOf(queue), handle, concurrency);
    return () => consumption.stop();
  }

  async close(): Promise<void> {
    await this.app.close();
  }

  private consuming(tube: string | Tube<Payload, Payload>, handle: Handle, concurrency: number) {
    const consumer = this.app.get(DqConsumer);
    if (this.batch === undefined) return consumer.consume(tube, handle, { concurrency });
    const all = (payloads: Payload[]) => payloads.forEach(handle);
    const batches = Math.ceil(concurrency / this.batch);
    return consumer.consume(tube, all, { concurrency: batches, batch: { size: this.batch } });
  }
}
