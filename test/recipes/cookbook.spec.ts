// Each recipe of docs/recipes.md does what its paragraph says.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DqModule } from 'nest-dq';
import { DqDeadLetters } from 'nest-dq/operate';
import { DqTestKit } from 'nest-dq/testing';
import * as book from './cookbook.js';

const NOW = new Date('2027-03-01T12:00:00Z');
const DAY_MS = 86_400_000;
const nothing = () => undefined;

let kit: DqTestKit;
let app: TestingModule;
/** Calls of what the recipes get injected, with the time of each. */
let calls: string[];

beforeEach(() => {
  jest.useFakeTimers({ now: NOW, doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
  calls = [];
  kit = new DqTestKit({ now: NOW });
});

afterEach(async () => {
  await app.close();
  await kit.close();
  jest.useRealTimers();
});

const log = (call: string) => void calls.push(`${kit.now.toISOString().slice(5, 19)} ${call}`);

/** Starts one recipe with what it gets injected. */
async function start<T>(recipe: Type<T>, ...parts: [abstract: unknown, fake: object][]): Promise<T> {
  const logger = { log: nothing, warn: nothing, error: nothing };
  const providers = parts.map(([provide, useValue]) => ({ provide: provide as Type, useValue }));
  const building = Test.createTestingModule({
    imports: [DqModule.forRoot({ logger })],
    providers: [recipe, ...providers],
  });
  app = await kit.override(building).compile();
  await app.init();
  return app.get(recipe);
}

const mails: [unknown, object] = [
  book.Mails,
  { send: async (id: string, text: string) => log(`mail ${id}: ${text}`) },
];

describe('debounce', () => {
  const index: [unknown, object] = [book.SearchIndex, { update: async (id: string) => log(`update ${id}`) }];

  it('runs once, five seconds after the last of many edits', async () => {
    const search = await start(book.Search, index);
    for (let i = 0; i < 3; i++) {
      await search.edited('a');
      await kit.advance('3s');
    }
    await kit.advance('1h');
    expect(calls).toEqual(['03-01T12:00:11 update a']);
  });

  it('runs within a minute where the edits never stop', async () => {
    const search = await start(book.Search, index);
    for (let i = 0; i < 25; i++) {
      await search.edited('a');
      await kit.advance('3s');
    }
    expect(calls).toEqual(['03-01T12:01:00 update a']);
  });
});

describe('throttle', () => {
  it('runs at once, then at most once a minute, and after the last change', async () => {
    let change: (() => Promise<void>) | undefined;
    const push = async (id: string) => {
      log(`push ${id}`);
      await change?.();
    };
    const sync = await start(book.CrmSync, [book.Crm, { push }]);
    for (let i = 0; i < 10; i++) {
      await sync.changed('a');
      await kit.advance('1s');
    }
    change = () => ((change = undefined), sync.changed('a')); // during the run
    await kit.advance('10m');
    expect(calls).toEqual(['03-01T12:00:00 push a', '03-01T12:01:00 push a', '03-01T12:02:00 push a']);
  });
});

describe('reminders', () => {
  const exists = async () => true;

  it('follow an appointment that moves, and stay away after an undo', async () => {
    const reminders = await start(book.Reminders, [book.Appointments, { exists }], mails);
    await reminders.set('a', new Date(NOW.getTime() + 10 * DAY_MS));
    await reminders.set('a', new Date(NOW.getTime() + 2 * DAY_MS));
    await reminders.set('b', new Date(NOW.getTime() + 2 * DAY_MS));
    expect(await reminders.undo('b')).toBe(true);
    await reminders.set('c', new Date(NOW.getTime() + 3_600_000 * 2)); // too late for the first
    await kit.advance('30d');
    expect(calls).toEqual([
      '03-01T13:00:00 mail c: Your appointment is in 1h',
      '03-02T12:00:00 mail a: Your appointment is in 24h',
      '03-03T11:00:00 mail a: Your appointment is in 1h',
    ]);
    expect(await reminders.undo('a')).toBe(false);
  });
});

describe('a saga', () => {
  /** A table with the one conditional update that the recipe needs. */
  class Orders extends book.OrderTable {
    readonly rows = new Map<string, book.Order>();
    async create(id: string, order: book.Order) {
      this.rows.set(id, order);
    }
    async find(id: string) {
      return this.rows.get(id);
    }
    async move(id: string, from: book.Order['step'], to: Partial<book.Order>) {
      const row = this.rows.get(id);
      if (row?.step !== from) return false;
      this.rows.set(id, { ...row, ...to });
      return true;
    }
  }

  let orders: Orders;
  let refund: (id: string) => Promise<void>;
  const begin = () => {
    orders = new Orders();
    refund = async (id) => log(`refund ${id}`);
    return start(
      book.Checkout,
      [book.OrderTable, orders],
      [
        book.Stock,
        {
          reserve: async (id: string) => log(`reserve ${id}`),
          release: async (id: string) => log(`release ${id}`),
        },
      ],
      [book.Payments, { refund: (id: string) => refund(id) }],
    );
  };

  it('releases the stock of an order that is not paid, and refunds a payment that comes later', async () => {
    const checkout = await begin();
    await checkout.start('a');
    await kit.advance('16m');
    await checkout.paid('a');
    expect(calls).toEqual([
      '03-01T12:00:00 reserve a',
      '03-01T12:15:00 release a',
      '03-01T12:16:00 refund a',
    ]);
  });

  it('waits for the next step of one that is paid, and compensates when that is late, until it succeeds', async () => {
    const checkout = await begin();
    await checkout.start('a');
    await kit.advance('5m');
    await checkout.paid('a');
    let fails = 2;
    refund = async (id) => {
      if (fails-- > 0) throw new Error('the bank is away');
      log(`refund ${id}`);
    };
    await kit.advance('1d');
    expect(calls).toEqual(['03-01T12:00:00 reserve a']);
    await kit.advance('2d');
    expect(calls.slice(1).map((call) => call.replace(/:\d\d /, ' '))).toEqual([
      '03-03T12:05 refund a',
      '03-03T12:05 release a',
    ]);
    expect(orders.rows.get('a')!.step).toBe('failed');
  });

  it('does nothing more once the order has shipped', async () => {
    const checkout = await begin();
    await checkout.start('a');
    await checkout.paid('a');
    await checkout.shipped('a');
    expect(kit.scheduled(book.Deadline)).toEqual([]);
    await kit.advance('10d');
    expect(calls).toEqual(['03-01T12:00:00 reserve a']);
  });
});

describe("a subscription's life", () => {
  let row: book.Subscription;
  let paying: boolean;
  const begin = () =>
    start(
      book.Subscriptions,
      [
        book.SubscriptionTable,
        {
          find: async () => row,
          save: async (_id: string, change: Partial<book.Subscription>) => void (row = { ...row, ...change }),
        },
      ],
      mails,
      [
        book.Payments,
        {
          charge: async (id: string, period: string) => {
            log(`charge ${id} ${period.slice(0, 10)} ${paying ? 'paid' : 'failed'}`);
            return paying;
          },
        },
      ],
    );

  it('notifies before each charge, and charges again every 30 days', async () => {
    paying = true;
    const subscriptions = await begin();
    await subscriptions.startTrial('a');
    await kit.advance('45d');
    expect(calls).toEqual([
      '03-12T12:00:00 mail a: You will be charged on Mon Mar 15 2027',
      '03-15T12:00:00 charge a 2027-03-15 paid',
      '04-11T12:00:00 mail a: You will be charged on Wed Apr 14 2027',
      '04-14T12:00:00 charge a 2027-04-14 paid',
    ]);
    await subscriptions.cancel('a');
    await kit.advance('90d');
    expect(calls).toHaveLength(4);
  });

  it('tries a failed charge three more times, and then ends', async () => {
    paying = false;
    const subscriptions = await begin();
    await subscriptions.startTrial('a');
    await kit.advance('90d');
    expect(calls.slice(1)).toEqual([
      '03-15T12:00:00 charge a 2027-03-15 failed',
      '03-15T12:00:00 mail a: We could not charge you',
      '03-16T12:00:00 charge a 2027-03-15 failed',
      '03-16T12:00:00 mail a: We could not charge you',
      '03-19T12:00:00 charge a 2027-03-15 failed',
      '03-19T12:00:00 mail a: We could not charge you',
      '03-24T12:00:00 charge a 2027-03-15 failed',
      '03-24T12:00:00 mail a: Your subscription has ended',
    ]);
    expect(row.step).toBe('ended');
    expect(kit.scheduled(book.Renewal)).toEqual([]);
  });

  it('does not charge early where a run ended between its row and its outcome', async () => {
    paying = true;
    const subscriptions = await begin();
    await subscriptions.startTrial('a');
    row = { ...row, step: 'charge', nextAt: row.paidUntil }; // as saved by a process that died right after
    await kit.advance('20d');
    expect(calls).toEqual(['03-15T12:00:00 charge a 2027-03-15 paid']);
  });
});

describe('webhooks', () => {
  let answers: Response[];
  beforeEach(() => {
    jest.spyOn(globalThis, 'fetch').mockImplementation(async (url) => {
      log(`POST ${url as string}`);
      return answers.shift() ?? new Response();
    });
  });
  afterEach(() => void jest.restoreAllMocks());

  const begin = () =>
    start(book.Webhooks, [
      book.Endpoints,
      { disable: async (id: string, why: string) => log(`disable ${id}: ${why}`) },
    ]);

  it('wait as long as the other side asks, and are retried otherwise', async () => {
    answers = [
      new Response('', { status: 429, headers: { 'retry-after': '120' } }),
      new Response('', { status: 500 }),
    ];
    const webhooks = await begin();
    await webhooks.send('e', 'https://a.example', '{}');
    await kit.advance('1h');
    expect(calls.slice(0, 2)).toEqual([
      '03-01T12:00:00 POST https://a.example',
      '03-01T12:02:00 POST https://a.example',
    ]);
    expect(calls).toHaveLength(3);
  });

  it('end at once for an endpoint that is gone, and can be sent again', async () => {
    answers = [new Response('', { status: 410 })];
    const webhooks = await begin();
    await webhooks.send('e', 'https://a.example', '{}');
    await kit.advance('1s');
    expect(calls.slice(1)).toEqual(['03-01T12:00:00 disable e: the endpoint is gone']);
    expect((await app.get(DqDeadLetters).list(book.Webhook)).letters).toHaveLength(1);
    expect(await webhooks.redeliver(NOW)).toBe(1);
    await kit.advance('1s');
    expect(calls.slice(2)).toEqual([expect.stringContaining('POST https://a.example')]);
  });

  it('begin at most fifty a second', async () => {
    answers = [];
    const webhooks = await begin();
    for (let i = 0; i < 100; i++) await webhooks.send(`e${i}`, `https://${i}.example`, '{}');
    await kit.advance('1s');
    expect(calls.length).toBeGreaterThan(40);
    expect(calls.length).toBeLessThanOrEqual(51);
  });
});

describe('the deletion of an account', () => {
  let at: Date | undefined;
  const accounts: [unknown, object] = [
    book.Accounts,
    {
      deletionOf: async () => at,
      markForDeletion: async (_id: string, when: Date | undefined) => void (at = when),
      erase: async (id: string) => log(`erase ${id}`),
    },
  ];

  it('comes after 30 days, with a notice a week and a day before', async () => {
    const deletion = await start(book.AccountDeletion, accounts, mails);
    await deletion.request('a');
    await kit.advance('40d');
    expect(calls).toEqual([
      '03-24T12:00:00 mail a: Your account will be deleted on Wed Mar 31 2027',
      '03-30T12:00:00 mail a: Your account will be deleted on Wed Mar 31 2027',
      '03-31T12:00:00 erase a',
    ]);
  });

  it('never comes if the user stays', async () => {
    const deletion = await start(book.AccountDeletion, accounts, mails);
    await deletion.request('a');
    await kit.advance('25d');
    expect(await deletion.keep('a')).toBe('revoked');
    await kit.advance('40d');
    expect(calls).toHaveLength(1);
  });
});
