import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Logger, Module, type ModuleMetadata } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  Again,
  DelayedHandler,
  DelayedJob,
  Discard,
  DqConsumer,
  DqModule,
  DqProducer,
  InjectDq,
  defineTube,
  getDqToken,
  type DqOptions,
} from 'nest-dq';
import { DqDeadLetters } from 'nest-dq/operate';
import { DqTestKit } from 'nest-dq/testing';
import { closedAfterEach } from '../support/suite.js';

const OrderCancel = defineTube<{ id: string }>('order.cancel');
const Mail = defineTube<{ to: string }>('mail');

@Injectable()
class Orders {
  readonly placedAt = new Map<string, Date>();
  readonly cancelled: string[] = [];

  constructor(private readonly dq: DqProducer) {}

  async place(id: string): Promise<void> {
    await this.dq.delay(OrderCancel, { id }, '15m', { key: id });
  }

  async pay(id: string): Promise<boolean> {
    return (await this.dq.revoke({ tube: OrderCancel, key: id })) === 'revoked';
  }

  @DelayedHandler(OrderCancel)
  async cancel({ id }: { id: string }, _job: DelayedJob): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // as a database would
    this.cancelled.push(id);
  }
}

@Injectable()
class Mails {
  readonly sent: string[] = [];

  constructor(@InjectDq('mails') private readonly dq: DqProducer) {}

  async plan(to: string): Promise<void> {
    await this.dq.delay(Mail, { to }, '30 days');
  }

  @DelayedHandler(Mail, { cluster: 'mails' })
  send({ to }: { to: string }): void {
    this.sent.push(to);
  }
}

let kit: DqTestKit;
const apps = closedAfterEach<TestingModule>();

beforeEach(() => {
  Logger.overrideLogger(false);
  kit = new DqTestKit();
});

afterEach(() => kit.close());

async function start(metadata: ModuleMetadata): Promise<TestingModule> {
  const app = await kit.override(Test.createTestingModule(metadata)).compile();
  apps.push(app);
  return app.init();
}

describe('an application under the kit', () => {
  it('cancels an order that is not paid in 15 minutes', async () => {
    const app = await start({ imports: [DqModule.forRoot()], providers: [Orders] });
    const orders = app.get(Orders);
    await orders.place('42');
    await orders.place('43');
    expect(kit.scheduled(OrderCancel).map(({ key }) => key)).toEqual(['42', '43']);
    expect(await orders.pay('43')).toBe(true);
    await kit.advance('14m');
    expect(orders.cancelled).toEqual([]);
    expect(await kit.advance('1m')).toEqual({ started: 1, completed: 1, failed: 0, dead: 0, expired: 0 });
    expect(orders.cancelled).toEqual(['42']);
    expect(await orders.pay('42')).toBe(false);
  });

  it.each<[string, DqOptions]>([
    ['servers', { beanstalks: ['10.0.0.1:11300', '10.0.0.2:11300'], redis: 'redis://10.0.0.9' }],
    ['more replicas than the kit has nodes', { replicas: 5, minWritten: 4 }],
    ['servers that a test does not know', { beanstalks: undefined, redis: undefined }],
    ['servers over TLS', { beanstalks: ['tls://10.0.0.1:11301'], tls: {}, redis: 'rediss://10.0.0.9' }],
    ['a folder', { embedded: { dir: '/nowhere/to/be/written' } }],
    ['a folder that a test does not know', { embedded: { dir: undefined } }],
    ['a prefix', { prefix: 'app.' }],
  ])('may be configured with %s', async (_what, options) => {
    @Module({ imports: [DqModule.forRootAsync({ useFactory: async () => options })], providers: [Orders] })
    class App {}
    const app = await start({ imports: [App] });
    await app.get(Orders).place('42');
    expect(kit.scheduled(OrderCancel)).toMatchObject([{ tube: 'order.cancel', key: '42' }]);
    expect(await kit.advance('15m')).toMatchObject({ completed: 1 });
  });

  it('keeps its other options, and refuses a wrong one', async () => {
    await expect(start({ imports: [DqModule.forRoot({ advanced: { lease: '1s' } })] })).rejects.toMatchObject(
      {
        code: 'DQ_CONFIG',
      },
    );
    const app = await start({ imports: [DqModule.forRoot({ consume: false })], providers: [Orders] });
    await app.get(Orders).place('42');
    expect(await kit.advance('1h')).toMatchObject({ started: 0 });
  });

  it('may have several clusters, which share nothing but the time', async () => {
    const app = await start({
      imports: [DqModule.forRoot(), DqModule.forRoot({ name: 'mails' })],
      providers: [Orders, Mails],
    });
    await app.get(Orders).place('42');
    await app.get(Mails).plan('ann');
    expect(kit.scheduled(Mail)).toEqual([]);
    expect(kit.scheduled(Mail, 'mails')).toMatchObject([{ payload: { to: 'ann' } }]);
    expect(await kit.advance('30 days')).toMatchObject({ completed: 2 });
    expect(app.get(Mails).sent).toEqual(['ann']);
  });

  it('must be initialized before the time is moved', async () => {
    const metadata = { imports: [DqModule.forRoot()], providers: [Orders] };
    const app = await kit.override(Test.createTestingModule(metadata)).compile();
    apps.push(app);
    await app.get(Orders).place('42');
    expect(kit.scheduled(OrderCancel)).toHaveLength(1);
    await expect(kit.advance('15m')).rejects.toThrow(/DQ_CONFIG: .*expected `await app.init\(\)` first/);
    await app.init();
    expect(await kit.advance('15m')).toMatchObject({ completed: 1 });
  });

  it('shares its jobs with others under the same kit, as processes do', async () => {
    const imports = [DqModule.forRoot()];
    const worker = await start({ imports, providers: [Orders] });
    const api = await start({ imports: [DqModule.forRoot({ consume: false })], providers: [Orders] });
    await api.get(Orders).place('42');
    await kit.advance('15m');
    expect(worker.get(Orders).cancelled).toEqual(['42']);
    await worker.close();
    await api.get(Orders).place('43');
    expect(await kit.advance('15m')).toMatchObject({ started: 0 });
    expect(kit.scheduled(OrderCancel)).toMatchObject([{ key: '43' }]);
  });

  it('runs nothing more in an ongoing advance when it is closed, whatever its clusters', async () => {
    const runs: string[] = [];
    const closing: Promise<void>[] = [];
    const run = (tube: string) => {
      runs.push(tube);
      if (runs.length === 6) closing.push(app.close());
      return Again.after('1h');
    };
    @Injectable()
    class Hourly {
      @DelayedHandler('first')
      first(): Again {
        return run('first');
      }

      @DelayedHandler('second', { cluster: 'mails' })
      second(): Again {
        return run('second');
      }
    }
    const imports = [DqModule.forRoot(), DqModule.forRoot({ name: 'mails' })];
    const app = await start({ imports, providers: [Hourly] });
    await app.get(DqProducer).now('first', 1);
    await app.get<DqProducer>(getDqToken('mails')).now('second', 1);
    const { started } = await kit.advance('5 days');
    expect(closing).toHaveLength(1);
    await closing[0];
    expect(runs).toHaveLength(6);
    expect(started).toBe(6);
  });

  it("is closed in none of the kit's time when nothing runs", async () => {
    const app = await start({ imports: [DqModule.forRoot()], providers: [Orders] });
    await app.get(DqProducer).now(OrderCancel, { id: '42' });
    // The consumer has it in hand by then, and has asked whether it may run.
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
    const before = kit.now;
    await app.close();
    expect(kit.now).toEqual(before);
    expect(app.get(Orders).cancelled).toEqual([]);
  });

  it('drains a consumer that is stopped by hand, letting time pass', async () => {
    const app = await start({ imports: [DqModule.forRoot()], providers: [Orders] });
    let signal: AbortSignal | undefined;
    await app.get(DqConsumer).consume('endless', (_, job) => {
      ({ signal } = job);
      return new Promise(() => undefined);
    });
    await app.get(DqProducer).now('endless', 1);
    await kit.drain();
    await app.get(DqConsumer).stop();
    expect(signal!.reason).toMatchObject({ code: 'DQ_SHUTDOWN' });
    expect(kit.scheduled('endless')).toHaveLength(1);
  });

  it('removes dead letters once they are too old by the kit’s time', async () => {
    const app = await start({ imports: [DqModule.forRoot({ deadLetters: { maxAge: '7d' } })] });
    await app.get(DqConsumer).consume('doomed', () => Discard.because('it is the test’s wish'));
    await app.get(DqProducer).now('doomed', 1);
    await kit.advance('6d');
    const letters = async () => (await app.get(DqDeadLetters).list('doomed')).letters;
    expect(await letters()).toHaveLength(1);
    await kit.advance('2d');
    expect(await letters()).toEqual([]);
  });

  it('is closed without any waiting, with what is due and what still runs', async () => {
    await kit.close();
    kit = new DqTestKit({ patience: 10 });
    const app = await start({ imports: [DqModule.forRoot()], providers: [Orders] });
    const signals: AbortSignal[] = [];
    await app.get(DqConsumer).consume('endless', (_, { signal }) => {
      signals.push(signal);
      return new Promise(() => undefined);
    });
    await app.get(DqProducer).now('endless', 1);
    expect(await kit.drain()).toMatchObject({ started: 1 });
    await app.get(Orders).place('42');
    await app.get(DqProducer).now(OrderCancel, { id: '43' });
    await app.close();
    expect(signals[0]!.reason).toMatchObject({ code: 'DQ_SHUTDOWN' });
    expect(app.get(Orders).cancelled).toEqual([]);
    expect(kit.scheduled('endless')).toHaveLength(1);
    expect(kit.scheduled(OrderCancel)).toHaveLength(2);
    await expect(app.get(Orders).place('44')).rejects.toMatchObject({ code: 'DQ_CLOSED' });
  });
});
