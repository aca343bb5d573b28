import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { KqPusher } from '../pusher/pusher.js';
import { KqModule } from './kq-module.js';
import { TopicHandler } from './topic-handler.js';

async function start(provider: Type): Promise<TestingModule> {
  const imports = [KqModule.forRoot({ logger: new CollectingLogger(), group: 'shop', brokers: 'memory' })];
  const app = await Test.createTestingModule({ imports, providers: [provider] }).compile();
  return app.init();
}

describe('handlers that do not go together', () => {
  it.each<[string, Parameters<typeof TopicHandler>[], RegExp]>([
    [
      'two of one topic in one group',
      [['t'], [['u', 't']]],
      /^KQ_CONFIG: the topic 't' has two handlers in the group 'shop', Pair.one \(in .*\) and Pair.two \(in .*\): expected one/,
    ],
    [
      'a topic that the expression of another matches',
      [[/^t/], ['t1']],
      /^KQ_CONFIG: the topic 't1' has two handlers in the group 'shop', Pair.one .* and Pair.two/,
    ],
    [
      'two beginnings of one group',
      [['t', { from: 'last' }], ['u']],
      /^KQ_CONFIG: the group 'shop' has `from` 'last' and 'first' in Pair.one .* and Pair.two .*: expected the same/,
    ],
  ])('are refused: %s', async (_what, [one, two], message) => {
    class Pair {
      @TopicHandler(...one!)
      one(): void {}

      @TopicHandler(...two!)
      two(): void {}
    }
    await expect(start(Pair)).rejects.toThrow(message);
  });

  it('are distinguished by their group', async () => {
    const told: string[] = [];
    let done!: () => void;
    const all = new Promise<void>((resolve) => (done = resolve));
    const tell = (fact: string) => {
      told.push(fact);
      if (told.length === 2) done();
    };
    class Pair {
      @TopicHandler('t')
      one(value: string): void {
        tell(`one ${value}`);
      }

      @TopicHandler('t', { group: 'other' })
      two(value: string): void {
        tell(`two ${value}`);
      }
    }
    const app = await start(Pair);
    await app.get(KqPusher).push('t', 'a');
    await all;
    expect(told.toSorted()).toEqual(['one a', 'two a']);
    await app.close();
  });
});
