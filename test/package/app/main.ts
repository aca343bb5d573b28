// An application as a user would write it, against the packed library: it reports what happens as lines of JSON.
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, DelayedJob, DqModule, DqProducer, Retry, defineTube } from 'nest-dq';

const OrderCancel = defineTube<{ id: string; at: Date }>('order.cancel');
const Slow = defineTube<{ ms: number }>('slow');

function say(event: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

@Injectable()
class Orders {
  constructor(private readonly dq: DqProducer) {}

  async play(): Promise<void> {
    const at = new Date();
    await this.dq.now(OrderCancel, { id: 'now', at });
    await this.dq.delay(OrderCancel, { id: 'delay', at }, '1s');
    await this.dq.at(OrderCancel, { id: 'at', at }, new Date(Date.now() + 1_200));
    await this.dq.now(OrderCancel, { id: 'retried', at });
    const receipt = await this.dq.delay(OrderCancel, { id: 'revoked', at }, '1500ms');
    say({ event: 'revoke', result: await this.dq.revoke(receipt.ids) });
    await this.dq.now(Slow, { ms: 700 });
    await this.dq.now(Slow, { ms: 600_000 });
  }

  @DelayedHandler(OrderCancel, { concurrency: 5 })
  cancel({ id, at }: { id: string; at: string }, job: DelayedJob): Retry | undefined {
    say({ event: 'ran', id, at: typeof at, lateness: job.lateness, attempt: job.attempt });
    return id === 'retried' && job.attempt === 1 ? Retry.after('100ms') : undefined;
  }

  @DelayedHandler(Slow)
  async slow({ ms }: { ms: number }, job: DelayedJob): Promise<void> {
    say({ event: 'slow began', ms, attempt: job.attempt });
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(resolve, ms);
      job.signal.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(job.signal.reason as Error);
      });
    });
    say({ event: 'slow ended', ms });
  }
}

@Module({
  imports: [
    DqModule.forRoot({
      beanstalks: process.env['DQ_BEANSTALKS']!.split(','),
      redis: process.env['DQ_REDIS']!,
      drainLimit: '2s',
    }),
  ],
  providers: [Orders],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks();
if (process.env['PLAY']) await app.get(Orders).play();
say({ event: 'ready' });
