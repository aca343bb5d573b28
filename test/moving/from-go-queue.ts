/** The code of docs/from-go-queue.md, in its order: docs.spec.ts compares them. */
import { Injectable, Module } from '@nestjs/common';
import { DelayedHandler, DqModule, DqProducer, defineTube, type DelayedJob } from 'nest-dq';

declare class Store {
  cancelIfUnpaid(id: string, fence: number): Promise<void>;
  save(id: string, timer: string): Promise<void>;
  timerOf(id: string): Promise<string | undefined>;
}

@Module({
  imports: [
    DqModule.forRoot({
      beanstalks: ['10.0.0.1:11300', '10.0.0.2:11300', '10.0.0.3:11300'],
      redis: 'redis://10.0.0.9',
    }),
  ],
})
export class AppModule {}

const OrderCancel = defineTube<{ id: string }>('order.cancel');

@Injectable()
export class Orders {
  constructor(
    private readonly dq: DqProducer,
    private readonly store: Store,
  ) {}

  async placed(id: string) {
    const { ref } = await this.dq.delay(OrderCancel, { id }, '15m');
    await this.store.save(id, ref); // or give a `key`, and keep nothing
  }

  async paid(id: string) {
    const ref = await this.store.timerOf(id);
    return ref !== undefined && (await this.dq.revoke({ ref })) === 'revoked';
  }

  @DelayedHandler(OrderCancel, { concurrency: 3 })
  async cancel({ id }: { id: string }, job: DelayedJob) {
    await this.store.cancelIfUnpaid(id, job.fence); // throws: tried again, up to 10 times
  }
}

const OrderRemind = defineTube<{ id: string }>('order.remind', { wire: 'go-queue' });

@Injectable()
export class Reminders {
  constructor(private readonly dq: DqProducer) {}

  placed(id: string) {
    return this.dq.delay(OrderRemind, { id }, '15m'); // go-queue's consumers can run it
  }

  paid(ids: string) {
    return this.dq.revoke({ ref: ids }); // a receipt of ours, or what go-queue's producer gave
  }

  @DelayedHandler(OrderRemind)
  remind({ id }: { id: string }) {
    console.log(`Order ${id} is still unpaid`); // of Go's producers and of ours
  }
}
