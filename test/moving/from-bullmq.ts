/** The code of docs/from-bullmq.md, in its order: the specs in this folder compare them, and run what moves jobs. */
import { Injectable, Module } from '@nestjs/common';
import type { Queue } from 'bullmq';
import {
  Again,
  DelayedHandler,
  Discard,
  DqModule,
  DqProducer,
  OnDq,
  defineTube,
  type DelayedJob,
  type DqEventMap,
} from 'nest-dq';
import { DqDeadLetters } from 'nest-dq/operate';

declare class Store {
  find(id: string): Promise<{ open: boolean } | undefined>;
  cancelIfUnpaid(id: string, fence: number): Promise<void>;
}
declare class Bank {
  transferOf(id: string): Promise<{ state: 'open' | 'booked' }>;
}

const beanstalks = ['10.0.0.1:11300', '10.0.0.2:11300', '10.0.0.3:11300'];

@Module({
  imports: [DqModule.forRoot({ beanstalks, redis: 'redis://10.0.0.9' })],
  providers: [],
})
export class AppModule {}

export const OrderCancel = defineTube<{ id: string }>('order.cancel');

@Injectable()
export class Orders {
  constructor(
    private readonly dq: DqProducer,
    private readonly store: Store,
  ) {}

  async placed(id: string) {
    await this.dq.delay(OrderCancel, { id }, '15m', { key: id, attempts: 3 });
  }

  async paid(id: string) {
    await this.dq.revoke({ tube: OrderCancel, key: id });
  }

  @DelayedHandler(OrderCancel, { concurrency: 1 })
  async cancel({ id }: { id: string }, job: DelayedJob) {
    if (!(await this.store.find(id))) return Discard.because('no such order');
    await this.store.cancelIfUnpaid(id, job.fence);
  }

  @OnDq('dead')
  dead({ letter }: DqEventMap['dead']) {
    console.error(letter.tube, letter.key, letter.error?.message);
  }
}

@Injectable()
export class Transfers {
  constructor(private readonly bank: Bank) {}

  @DelayedHandler('transfer.check')
  async check({ id }: { id: string }) {
    const { state } = await this.bank.transferOf(id);
    if (state === 'open') return Again.after('10m');
  }
}

@Injectable()
export class Repair {
  constructor(private readonly dead: DqDeadLetters) {}

  async retryAll() {
    const { letters } = await this.dead.list(OrderCancel, { limit: 1_000 });
    for (const { ref } of letters) await this.dead.revive({ ref });
  }
}

@Injectable()
export class OrderTimers {
  constructor(
    private readonly dq: DqProducer,
    private readonly queue: Queue<{ id: string }>,
  ) {}

  async placed(id: string) {
    await this.dq.delay(OrderCancel, { id }, '15m', { key: id });
  }

  async paid(id: string) {
    await this.dq.revoke({ tube: OrderCancel, key: id });
    await this.queue.remove(`order-${id}`);
  }
}

/** Takes over what waits for more than a minute. Safe to run again, and while both systems work. */
export async function takeOver(queue: Queue<{ id: string }>, dq: DqProducer) {
  for (const job of await queue.getDelayed()) {
    const due = job.timestamp + job.delay;
    if (job.attemptsMade > 0 || due < Date.now() + 60_000) continue; // the old worker runs it
    await dq.at(OrderCancel, job.data, due, { key: job.data.id, onDuplicate: 'keep' });
    await queue.remove(job.id!);
  }
}
