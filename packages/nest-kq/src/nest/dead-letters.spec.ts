import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { Discard } from '../api/outcome.js';
import type { KqMessage } from '../api/received.js';
import { KqDeadLetters } from '../dead-letters/kq-dead-letters.js';
import { KqTestKit } from '../test-kit/kq-test-kit.js';
import { KqModule } from './kq-module.js';
import { TopicHandler } from './topic-handler.js';

const DEAD = 'orders.dead';

class Orders {
  readonly seen: string[] = [];
  works = false;

  @TopicHandler('orders', { group: 'shop', deadLetter: DEAD })
  shop(value: string, message: KqMessage) {
    this.seen.push(`shop ${value} ${message.header('kq-for') ?? ''}`.trim());
    if (!this.works) throw Discard.because('gone');
  }

  @TopicHandler('orders', { group: 'audit' })
  audit(value: string) {
    this.seen.push(`audit ${value}`);
  }

  @TopicHandler(DEAD, { group: 'watch' })
  watch(value: string) {
    this.seen.push(`watch ${value}`);
  }
}

let kit: KqTestKit;
let app: TestingModule;
let orders: Orders;
let letters: KqDeadLetters;
beforeEach(async () => {
  kit = new KqTestKit({ partitions: 1 });
  const compiling = Test.createTestingModule({
    imports: [KqModule.forRoot({ logger: new CollectingLogger() })],
    providers: [Orders],
  });
  app = await kit.override(compiling).compile();
  await app.init();
  orders = app.get(Orders);
  letters = app.get(KqDeadLetters);
  await kit.pusher.push('orders', 'a', { key: 'k', headers: { tenant: 't' } });
  await kit.advance('5s'); // so that offsets are committed
});
afterEach(async () => {
  await app.close();
  await kit.close();
});

const seenAfter = async (act: Promise<unknown>) => {
  await act;
  orders.seen.length = 0;
  await kit.advance('5s');
  return orders.seen.toSorted();
};

it('replays a letter for all groups of its topic, and the record of that is for none', async () => {
  expect(orders.seen.toSorted()).toEqual(['audit a', 'shop a', 'watch a']);
  orders.works = true;
  expect(await seenAfter(letters.replay(DEAD, {}))).toEqual(['audit a', 'shop a']);
  expect((await letters.list(DEAD)).letters).toEqual([]);
});

it('replays a letter for the group that failed, and the others pass its message over', async () => {
  orders.works = true;
  expect(await seenAfter(letters.replay(DEAD, { error: 'gone' }, { groups: 'failed' }))).toEqual([
    'shop a shop',
  ]);
  expect(await seenAfter(kit.pusher.push('orders', 'b'))).toEqual(['audit b', 'shop b']);
});

it('lets a message that dies again be replayed for all', async () => {
  expect(await seenAfter(letters.replay(DEAD, {}, { groups: 'failed' }))).toEqual(['shop a shop', 'watch a']);
  orders.works = true;
  expect(await seenAfter(letters.replay(DEAD, {}))).toEqual(['audit a', 'shop a']);
  expect(kit.messages('orders').map(({ headers }) => headers)).toEqual([
    { tenant: 't' },
    { tenant: 't', 'kq-for': 'shop' },
    { tenant: 't' },
  ]);
});

it('runs nothing of a letter that is discarded', async () => {
  expect(await seenAfter(letters.discard(DEAD, {}))).toEqual([]);
});

it('knows the topic that a handler names for its dead letters', async () => {
  expect(await letters.topics()).toEqual([DEAD]);
});

it('knows a topic that a handler chose by an error once it has a letter', async () => {
  class Chooses {
    @TopicHandler('refunds', { group: 'shop', deadLetter: (error) => `${error.message}.dead` })
    refund(): Discard {
      return Discard.because('refused');
    }
  }
  const other = new KqTestKit({ partitions: 1 });
  const compiling = Test.createTestingModule({
    imports: [KqModule.forRoot({ logger: new CollectingLogger() })],
    providers: [Chooses],
  });
  const second = await other.override(compiling).compile();
  await second.init();
  const dead = second.get(KqDeadLetters);
  expect(await dead.topics()).toEqual([]);
  await other.pusher.push('refunds', 'a');
  await other.advance('5s');
  expect(await dead.topics()).toEqual(['refused.dead']);
  await second.close();
  await other.close();
});
