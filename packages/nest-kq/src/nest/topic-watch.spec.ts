import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import type { KqMessage } from '../api/received.js';
import { KqPusher } from '../pusher/pusher.js';
import { KqTestKit } from '../test-kit/kq-test-kit.js';
import { KqModule } from './kq-module.js';
import { TopicHandler } from './topic-handler.js';

let logger: CollectingLogger;
let kit: KqTestKit;
let app: TestingModule | undefined;
let runs: string[];
let handle: (value: string) => unknown;

async function start(provider: Type, group = 'g'): Promise<KqPusher> {
  @Module({ imports: [KqModule.forRoot({ brokers: 'memory', group, logger })], providers: [provider] })
  class AppModule {}
  app = await kit.override(Test.createTestingModule({ imports: [AppModule] })).compile();
  await app.init();
  return app.get(KqPusher);
}

function note(by: string, value: string, { topic }: KqMessage): unknown {
  runs.push(`${by} ${topic} ${value}`);
  return handle(value);
}

@Injectable()
class Logs {
  @TopicHandler([/^log[.]/, 'orders'], { from: 'last' })
  log(value: string, message: KqMessage): unknown {
    return note('log', value, message);
  }
}

@Injectable()
class Overlapping {
  @TopicHandler(/^log/)
  first(value: string, message: KqMessage): unknown {
    return note('first', value, message);
  }

  @TopicHandler(/[.]error$/)
  second(value: string, message: KqMessage): unknown {
    return note('second', value, message);
  }
}

beforeEach(() => {
  logger = new CollectingLogger();
  kit = new KqTestKit();
  runs = [];
  handle = () => undefined;
});

afterEach(async () => {
  await app?.close();
  app = undefined;
  await kit.close();
});

describe('a handler with a regular expression', () => {
  it('takes topics that come later from their first message on', async () => {
    await kit.pusher.push('log.old', 'before');
    const pusher = await start(Logs);
    for (const topic of ['log.old', 'log.new', 'orders', '__log.new']) await pusher.push(topic, 'a');
    await kit.run();
    expect(runs.sort()).toEqual(['log log.new a', 'log log.old a', 'log orders a']);
    await pusher.push('log.new', 'b');
    await kit.run();
    expect(runs.slice(3)).toEqual(['log log.new b']);
  });

  it('finishes running handlers before it rejoins, and repeats nothing', async () => {
    kit = new KqTestKit({ patience: '10ms' });
    const pusher = await start(Logs);
    let end = () => {};
    handle = (value) => value === 'slow' && new Promise<void>((resolve) => (end = resolve));
    await pusher.push('orders', 'slow');
    await kit.run();
    await pusher.push('log.new', 'a');
    await kit.run();
    expect(runs).toEqual(['log orders slow']);
    end();
    await kit.advance('1m');
    expect(runs).toEqual(['log orders slow', 'log log.new a']);
  });

  it('says that there is no topic yet', async () => {
    @Injectable()
    class Nothing {
      @TopicHandler(/^none/)
      none(value: string, message: KqMessage): unknown {
        return note('none', value, message);
      }
    }
    const pusher = await start(Nothing);
    expect(
      logger.matching(/^no topic matches \/\^none\/ yet: the group g keeps looking for new ones/),
    ).toHaveLength(1);
    await pusher.push('none.1', 'a');
    await kit.run();
    expect(runs).toEqual(['none none.1 a']);
  });

  it('refuses to start where two expressions match one topic', async () => {
    await kit.pusher.push('log.error', 'a');
    await expect(start(Overlapping)).rejects.toThrow(
      /^KQ_CONFIG: the topic 'log.error' has two handlers in the group 'g', Overlapping.first .* and Overlapping.second .*: expected disjoint expressions/,
    );
  });

  it('reports a topic that comes later and has two handlers, and gives it to the first', async () => {
    const pusher = await start(Overlapping);
    await pusher.push('log.error', 'a');
    await kit.run();
    expect(runs).toEqual(['first log.error a']);
    expect(
      logger.matching(/^the topic 'log.error' has two handlers .*: the first one handles it/),
    ).toHaveLength(1);
  });

  it('rejoins only when there is a new topic', async () => {
    const pusher = await start(Logs);
    await pusher.push('log.new', 'a');
    await kit.run();
    await kit.run();
    expect(logger.matching(/^this process has rejoined the group g/)).toHaveLength(1);
  });
});
