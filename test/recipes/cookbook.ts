import { Injectable } from '@nestjs/common';
import {
  Again,
  DelayedHandler,
  Discard,
  DqProducer,
  OnDq,
  Retry,
  defineTube,
  duration,
  type DelayedJob,
  type DqEventMap,
} from 'nest-dq';
import { DqControl } from 'nest-dq/operate';

// The code of docs/recipes.md, in its order. cookbook.spec.ts runs it, and docs.spec.ts compares it with the page.

export abstract class SearchIndex {
  abstract update(id: string): Promise<void>;
}
export abstract class Crm {
  abstract push(id: string): Promise<void>;
}
export abstract class Mails {
  abstract send(id: string, text: string): Promise<void>;
}
export abstract class Appointments {
  abstract exists(id: string): Promise<boolean>;
}
export abstract class Stock {
  abstract reserve(id: string): Promise<void>;
  abstract release(id: string): Promise<void>;
}
export abstract class Payments {
  abstract refund(id: string): Promise<void>;
  abstract charge(id: string, period: string): Promise<boolean>;
}
export interface Order {
  readonly step: 'payment' | 'packing' | 'shipped' | 'failed';
  readonly paid: boolean;
  readonly deadline: Date;
}
export abstract class OrderTable {
  abstract create(id: string, order: Order): Promise<void>;
  abstract find(id: string): Promise<Order | undefined>;
  abstract move(id: string, from: Order['step'], to: Partial<Order>): Promise<boolean>;
}
export interface Subscription {
  readonly step: 'notice' | 'charge' | 'ended';
  readonly nextAt: Date;
  readonly paidUntil: Date;
  readonly failures: number;
}
export abstract class SubscriptionTable {
  abstract find(id: string): Promise<Subscription | undefined>;
  abstract save(id: string, subscription: Partial<Subscription>): Promise<void>;
}
export abstract class Endpoints {
  abstract disable(id: string, why: string): Promise<void>;
}
export abstract class Accounts {
  abstract deletionOf(id: string): Promise<Date | undefined>;
  abstract markForDeletion(id: string, at: Date | undefined): Promise<void>;
  abstract erase(id: string): Promise<void>;
}

export const Reindex = defineTube<{ id: string }>('search.reindex');

@Injectable()
export class Search {
  constructor(
    private readonly dq: DqProducer,
    private readonly index: SearchIndex,
  ) {}

  async edited(id: string) {
    await this.dq.debounce(Reindex, { id }, { key: id, wait: '5s', max: '1m' });
  }

  @DelayedHandler(Reindex)
  async reindex({ id }: { id: string }) {
    await this.index.update(id);
  }
}

export const Sync = defineTube<{ id: string }>('crm.sync');

@Injectable()
export class CrmSync {
  constructor(
    private readonly dq: DqProducer,
    private readonly crm: Crm,
  ) {}

  async changed(id: string) {
    await this.dq.throttle(Sync, { id }, { key: id, per: '1m' });
  }

  @DelayedHandler(Sync)
  async sync({ id }: { id: string }) {
    await this.crm.push(id); // reads the row as it is now
  }
}

const BEFORE = ['24h', '1h'] as const;
export const Reminder = defineTube<{ id: string; before: string }>('appointment.reminder');

@Injectable()
export class Reminders {
  constructor(
    private readonly dq: DqProducer,
    private readonly appointments: Appointments,
    private readonly mails: Mails,
  ) {}

  /** For a new appointment, and for one that was moved. */
  async set(id: string, at: Date) {
    for (const before of BEFORE) {
      const when = at.getTime() - duration(before);
      if (when < Date.now()) await this.dq.revoke({ tube: Reminder, key: `${id}:${before}` });
      else await this.dq.at(Reminder, { id, before }, when, { key: `${id}:${before}` });
    }
  }

  /** Returns whether no reminder will go out any more. */
  async undo(id: string) {
    const refs = BEFORE.map((before) => ({ tube: Reminder, key: `${id}:${before}` }));
    const results = await Promise.all(refs.map((ref) => this.dq.revoke(ref)));
    return results.every((result) => result === 'revoked');
  }

  @DelayedHandler(Reminder)
  async remind({ id, before }: { id: string; before: string }) {
    if (await this.appointments.exists(id)) await this.mails.send(id, `Your appointment is in ${before}`);
  }
}

export const Deadline = defineTube<{ id: string }>('checkout.deadline');
const inMs = (ms: number) => new Date(Date.now() + ms);

@Injectable()
export class Checkout {
  constructor(
    private readonly dq: DqProducer,
    private readonly orders: OrderTable,
    private readonly stock: Stock,
    private readonly payments: Payments,
  ) {}

  async start(id: string) {
    const deadline = inMs(duration('15m'));
    await this.dq.at(Deadline, { id }, deadline, { key: id });
    await this.orders.create(id, { step: 'payment', paid: false, deadline });
    await this.stock.reserve(id);
  }

  async paid(id: string) {
    const packing = { step: 'packing', paid: true, deadline: inMs(duration('2d')) } as const;
    if (!(await this.orders.move(id, 'payment', packing))) await this.payments.refund(id); // too late
  }

  async shipped(id: string) {
    if (await this.orders.move(id, 'packing', { step: 'shipped' })) {
      await this.dq.revoke({ tube: Deadline, key: id });
    }
  }

  @DelayedHandler(Deadline)
  async deadline({ id }: { id: string }, job: DelayedJob) {
    const order = await this.orders.find(id);
    if (!order || order.step === 'shipped') return;
    if (order.step !== 'failed') {
      if (order.deadline > job.dueAt) return Again.at(order.deadline); // it is in a later step
      if (!(await this.orders.move(id, order.step, { step: 'failed' }))) return Again.after('1s');
    }
    if (order.paid) await this.payments.refund(id);
    await this.stock.release(id);
  }
}

export const Renewal = defineTube<{ id: string }>('subscription.renewal');
const DUNNING = [1, 3, 5]; // days until the next try
const days = (from: Date, n: number) => new Date(from.getTime() + n * 86_400_000);

@Injectable()
export class Subscriptions {
  constructor(
    private readonly dq: DqProducer,
    private readonly table: SubscriptionTable,
    private readonly mails: Mails,
    private readonly payments: Payments,
  ) {}

  async startTrial(id: string) {
    const paidUntil = days(new Date(), 14);
    const nextAt = days(paidUntil, -3);
    await this.dq.at(Renewal, { id }, nextAt, { key: id });
    await this.table.save(id, { step: 'notice', nextAt, paidUntil, failures: 0 });
  }

  async cancel(id: string) {
    await this.table.save(id, { step: 'ended' });
    await this.dq.revoke({ tube: Renewal, key: id });
  }

  @DelayedHandler(Renewal)
  async renew({ id }: { id: string }, job: DelayedJob) {
    const row = await this.table.find(id);
    if (!row || row.step === 'ended') return;
    if (row.nextAt > job.dueAt) return Again.at(row.nextAt); // this step is done
    if (row.step === 'notice') {
      await this.mails.send(id, `You will be charged on ${row.paidUntil.toDateString()}`);
      return this.next(id, { step: 'charge', nextAt: row.paidUntil });
    }
    if (await this.payments.charge(id, row.paidUntil.toISOString())) {
      const paidUntil = days(row.paidUntil, 30);
      return this.next(id, { step: 'notice', nextAt: days(paidUntil, -3), paidUntil, failures: 0 });
    }
    const wait = DUNNING[row.failures];
    await this.mails.send(id, wait ? 'We could not charge you' : 'Your subscription has ended');
    if (!wait) return this.table.save(id, { step: 'ended' });
    return this.next(id, { nextAt: days(row.nextAt, wait), failures: row.failures + 1 });
  }

  private async next(id: string, row: Partial<Subscription> & { nextAt: Date }) {
    await this.table.save(id, row);
    return Again.at(row.nextAt);
  }
}

export const Webhook = defineTube<{ endpoint: string; url: string; body: string }>('webhook');

@Injectable()
export class Webhooks {
  constructor(
    private readonly dq: DqProducer,
    private readonly control: DqControl,
    private readonly endpoints: Endpoints,
  ) {}

  async send(endpoint: string, url: string, body: string) {
    await this.dq.now(Webhook, { endpoint, url, body }, { group: endpoint });
  }

  @DelayedHandler(Webhook, {
    attempts: 8,
    backoff: { type: 'exponential', delay: '10s', max: '6h' },
    timeout: '15s',
    limit: { rate: 50, perGroup: 2 }, // 50 a second, two at a time of each endpoint
  })
  async deliver({ url, body }: { url: string; body: string }, job: DelayedJob) {
    const headers = { 'content-type': 'application/json', 'idempotency-key': job.id };
    const response = await fetch(url, { method: 'POST', body, headers, signal: job.signal });
    if (response.status === 410) return Discard.because('the endpoint is gone');
    if (response.status === 429) {
      return Retry.after(1_000 * (Number(response.headers.get('retry-after')) || 60));
    }
    if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  }

  @OnDq('dead')
  async dead({ letter }: DqEventMap['dead']) {
    if (letter.tube !== Webhook.name || !letter.payload) return;
    const { endpoint } = letter.payload as { endpoint: string };
    await this.endpoints.disable(endpoint, letter.error?.message ?? letter.why);
  }

  /** After an outage on the other side. */
  async redeliver(since: Date) {
    let revived = 0;
    for await (const { done } of this.control.reviveMany(Webhook, { diedFrom: since })) revived = done;
    return revived;
  }
}

export const Deletion = defineTube<{ id: string }>('account.deletion');
const NOTICES = [7, 1, 0]; // days before the deletion

@Injectable()
export class AccountDeletion {
  constructor(
    private readonly dq: DqProducer,
    private readonly accounts: Accounts,
    private readonly mails: Mails,
  ) {}

  async request(id: string) {
    const at = days(new Date(), 30);
    await this.dq.at(Deletion, { id }, days(at, -7), { key: id });
    await this.accounts.markForDeletion(id, at);
  }

  async keep(id: string) {
    await this.accounts.markForDeletion(id, undefined);
    return this.dq.revoke({ tube: Deletion, key: id }, { confirmed: true });
  }

  @DelayedHandler(Deletion, { attempts: 50 })
  async step({ id }: { id: string }, job: DelayedJob) {
    const at = await this.accounts.deletionOf(id);
    if (!at) return; // kept
    if (at <= job.dueAt) return this.accounts.erase(id);
    await this.mails.send(id, `Your account will be deleted on ${at.toDateString()}`);
    return Again.at(NOTICES.map((n) => days(at, -n)).find((when) => when > job.dueAt)!);
  }
}
