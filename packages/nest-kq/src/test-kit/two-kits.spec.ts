import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Logger, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedHandler, DqModule, DqProducer } from 'nest-dq';
import { DqTestKit } from 'nest-dq/testing';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { KqDqModule } from '../dq/kq-dq-module.js';
import { KqModule } from '../nest/kq-module.js';
import { TopicHandler } from '../nest/topic-handler.js';
import { KqPusher } from '../pusher/pusher.js';
import { KqTestKit } from './kq-test-kit.js';

const START = new Date('2030-01-01T00:00:00Z');
const MINUTE = 60_000;
const logger = new CollectingLogger();

let happened: [what: string, at: number][];
let failures: number;
let dq: DqTestKit;
let kq: KqTestKit;
let app: TestingModule;

const note = (what: string) => happened.push([what, kq.now.getTime() - START.getTime()]);

@Injectable()
class Shop {
  constructor(private readonly kq: KqPusher) {}

  @TopicHandler('orders', { retry: { through: 'dq', attempts: 3, backoff: '10m' } })
  placed(id: string): void {
    note(`placed ${id}`);
    if (failures-- > 0) throw new Error('no');
  }

  @DelayedHandler('order.remind')
  async remind(id: string): Promise<void> {
    note(`remind ${id}`);
    await this.kq.push('orders', `${id} again`, { key: id });
  }
}

@Module({
  imports: [
    DqModule.forRoot({ beanstalks: ['nowhere:1'], redis: 'redis://nowhere', logger }),
    KqModule.forRoot({ brokers: ['nowhere:1'], group: 'shop', logger }),
    KqDqModule.forRoot(),
  ],
  providers: [Shop],
})
class AppModule {}

beforeEach(async () => {
  Logger.overrideLogger(false);
  happened = [];
  failures = 0;
  dq = new DqTestKit({ now: START });
  kq = new KqTestKit({ dq });
  app = await kq.override(dq.override(Test.createTestingModule({ imports: [AppModule] }))).compile();
  await app.init();
});

afterEach(async () => {
  await app.close();
  await kq.close();
  await dq.close();
});

describe('the kits of nest-dq and nest-kq', () => {
  it('have one time, whichever of them moves it', async () => {
    await kq.advance('1h');
    expect(dq.now).toEqual(new Date(START.getTime() + 60 * MINUTE));
    await dq.advance('1h');
    expect(kq.now).toEqual(new Date(START.getTime() + 120 * MINUTE));
  });

  it('push a message when its delay is over, and handle it then', async () => {
    const pusher = app.get(KqPusher);
    await pusher.push('orders', 'a', { key: 'a', delay: '15m' });
    await kq.advance('14m');
    expect(kq.messages('orders')).toEqual([]);
    expect(await kq.advance('1m')).toMatchObject({ started: 1, handled: 1 });
    expect(happened).toEqual([['placed a', 15 * MINUTE]]);
    expect(await dq.drain()).toMatchObject({ started: 1, completed: 1 }); // the job that pushed it
  });

  it('run a message that failed again as a job, and lose none', async () => {
    failures = 2;
    await app.get(KqPusher).push('orders', 'a', { key: 'a' });
    expect(await kq.run()).toEqual({ started: 1, handled: 0, failed: 1, dead: 0 });
    expect(dq.scheduled('kq/shop')).toMatchObject([{ key: expect.stringMatching(/^orders\/\d\/0@\d+$/) }]);
    expect(await dq.advance('1h')).toEqual({ started: 2, completed: 1, failed: 1, dead: 0, expired: 0 });
    expect(happened.map(([, at]) => at)).toEqual([0, 10 * MINUTE, 20 * MINUTE]);
  });

  it('follow a job into the stream, within one call', async () => {
    await app.get(DqProducer).delay('order.remind', 'a', '30d');
    await dq.advance('30d');
    expect(happened).toEqual([
      ['remind a', 30 * 24 * 60 * MINUTE],
      ['placed a again', 30 * 24 * 60 * MINUTE],
    ]);
  });

  it('have their time in one place', () => {
    expect(() => new KqTestKit({ dq, now: START })).toThrow(
      'KQ_BAD_OPTION: `now` and `patience` do not combine with `dq`: set them in the kit of nest-dq',
    );
  });
});
