import { Queue, Worker, type Job } from 'bullmq';
import type { Payload } from '../payload.js';
import type { BulkJob, Client, Handle, Product } from './product.js';

/** Queues and workers as `@nestjs/bullmq` makes them, but without Nest. */
export const bullMq: Product = {
  nodes: 0,
  connect: ({ redis }) => Promise.resolve(new BullMqClient(redis)),
};

const JOB = 'job';

class BullMqClient implements Client {
  private readonly connection: { readonly host: string; readonly port: number };
  private readonly queues = new Map<string, Queue<Payload>>();
  private readonly workers: Worker<Payload>[] = [];

  constructor(redis: string) {
    const { hostname, port } = new URL(redis);
    this.connection = { host: hostname, port: Number(port) };
  }

  now(queue: string, payload: Payload): Promise<unknown> {
    return this.queue(queue).add(JOB, payload);
  }

  delay(queue: string, payload: Payload, delay: number, key?: string): Promise<unknown> {
    return this.queue(queue).add(JOB, payload, { delay, ...(key !== undefined && { jobId: key }) });
  }

  /** BullMQ has no `at`. It adds the delay to the timestamp, so the job is due at the exact millisecond. */
  at(queue: string, payload: Payload): Promise<unknown> {
    const timestamp = Date.now();
    return this.queue(queue).add(JOB, payload, { delay: Math.max(0, payload.due - timestamp), timestamp });
  }

  revoke(added: unknown): Promise<void> {
    return (added as Job<Payload>).remove();
  }

  delayMany(queue: string, jobs: readonly BulkJob[]): Promise<unknown> {
    return this.queue(queue).addBulk(
      jobs.map(({ payload, delay, key }) => ({
        name: JOB,
        data: payload,
        opts: { delay, ...(key !== undefined && { jobId: key }) },
      })),
    );
  }

  async consume(queue: string, handle: Handle, concurrency: number): Promise<() => Promise<void>> {
    const worker = new Worker<Payload>(queue, ({ data }) => Promise.resolve(handle(data)), {
      connection: this.connection,
      concurrency,
      removeOnComplete: { count: 0 }, // for throughput, as its users do: BullMQ removes finished jobs at once
    });
    worker.on('error', (error) => process.stderr.write(`BullMQ: ${String(error)}\n`));
    this.workers.push(worker);
    await worker.waitUntilReady();
    return () => worker.close();
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.close()));
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
  }

  private queue(name: string): Queue<Payload> {
    let queue = this.queues.get(name);
    if (!queue) {
      queue = new Queue(name, { connection: this.connection });
      this.queues.set(name, queue);
    }
    return queue;
  }
}
