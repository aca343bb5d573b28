// The code of docs/from-nestjs-schedule.md, in its order.
import { Injectable, Module } from '@nestjs/common';
import { Again, DelayedHandler, DqModule, DqProducer, Recurring, defineTube } from 'nest-dq';
import { DqControl, DqInspector } from 'nest-dq/operate';

const beanstalks = ['10.0.0.1:11300', '10.0.0.2:11300', '10.0.0.3:11300'];

@Module({
  imports: [DqModule.forRoot({ beanstalks, redis: 'redis://10.0.0.9' })],
  providers: [],
})
export class AppModule {}

export abstract class Store {
  abstract report(): Promise<void>;
  abstract pollBank(): Promise<void>;
  abstract cancelIfUnpaid(id: string): Promise<void>;
}
export abstract class Mails {
  abstract digest(user: string): Promise<void>;
}

export const OrderCancel = defineTube<{ id: string }>('order.cancel');

@Injectable()
export class Orders {
  constructor(
    private readonly dq: DqProducer,
    private readonly store: Store,
  ) {}

  @Recurring('report.nightly', '0 3 * * *', { tz: 'Europe/Berlin' })
  async nightly() {
    await this.store.report(); // in one process
  }

  @Recurring('bank.poll', '*/10 * * * * *')
  async poll() {
    await this.store.pollBank();
  }

  async placed(id: string) {
    await this.dq.delay(OrderCancel, { id }, '15m', { key: id }); // survives a restart
  }

  async paid(id: string) {
    await this.dq.revoke({ tube: OrderCancel, key: id }); // from any process
  }

  @DelayedHandler(OrderCancel)
  async cancel({ id }: { id: string }) {
    await this.store.cancelIfUnpaid(id);
  }
}

export const Digest = defineTube<{ user: string; minutes: number }>('digest');

@Injectable()
export class Digests {
  constructor(
    private readonly dq: DqProducer,
    private readonly mails: Mails,
  ) {}

  async subscribe(user: string, minutes: number) {
    await this.dq.delay(Digest, { user, minutes }, minutes * 60_000, { key: user });
  }

  async unsubscribe(user: string) {
    await this.dq.revoke({ tube: Digest, key: user });
  }

  @DelayedHandler(Digest)
  async digest({ user, minutes }: { user: string; minutes: number }) {
    await this.mails.digest(user);
    return Again.after(minutes * 60_000);
  }
}

/** The calls in the table of the page. */
export class Controls {
  constructor(
    private readonly dq: DqProducer,
    private readonly control: DqControl,
    private readonly inspector: DqInspector,
  ) {}

  async all(tube: string, key: string, date: Date) {
    await this.dq.at(tube, undefined, date, { key });
    await this.dq.now('report.nightly', undefined);
    await this.dq.revoke({ tube, key });
    await this.control.pause('report.nightly');
    await this.control.resume('report.nightly');
    await this.dq.reschedule({ tube: 'report.nightly', key: 'recurring' }, date);
    return [
      await this.inspector.series(),
      (await this.dq.find({ tube: 'report.nightly', key: 'recurring' }))?.dueAt,
    ];
  }

  @Recurring('a', { name: 'every 90 s', next: (after) => new Date(after.getTime() + 90_000) })
  every90s() {}

  @Recurring('b', '0 3 * * *', { attempts: 1 })
  once() {}
}
