import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Inject,
  Injectable,
  ParseIntPipe,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { ContextIdFactory, ModuleRef, REQUEST } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { of, timeout, type Observable } from 'rxjs';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { Discard, Retry } from '../api/outcome.js';
import { KqMessage } from '../api/received.js';
import { defineTopic } from '../api/topic.js';
import { KqPusher } from '../pusher/pusher.js';
import { KqModule } from './kq-module.js';
import { isKqContext } from './message-handlers.js';
import { CurrentMessage, MessageValue } from './parameters.js';
import { TopicHandler } from './topic-handler.js';

let logger: CollectingLogger;
let app: TestingModule | undefined;
/** Events of handlers and enhancers, in order. */
let told: unknown[];
let changed: () => void;
beforeEach(() => {
  logger = new CollectingLogger();
  told = [];
  changed = () => {};
});
afterEach(() => app?.close());

function tell(fact: unknown): void {
  told.push(fact);
  changed();
}

/** Resolves once there are `count` events. */
function untilTold(count: number): Promise<void> {
  return new Promise((resolve) => {
    changed = () => {
      if (told.length >= count) resolve();
    };
    changed();
  });
}

async function start(...providers: Type[]): Promise<KqPusher> {
  const imports = [KqModule.forRoot({ logger, group: 'shop', brokers: 'memory' })];
  app = await Test.createTestingModule({ imports, providers }).compile();
  await app.init();
  return app.get(KqPusher);
}

describe('a topic handler', () => {
  it('gets the value and the message', async () => {
    @Injectable()
    class Orders {
      @TopicHandler('orders')
      placed(value: unknown, message: KqMessage): void {
        const { topic, partition, offset, key, timestamp, attempt } = message;
        tell({ value, topic, partition, offset, key, timestamp, attempt, by: message.header('by') });
        tell(message.signal.aborted);
      }
    }
    const kq = await start(Orders);
    const place = await kq.push('orders', { id: 1 }, { key: 'k', headers: { by: 'me' }, timestamp: 5 });
    await untilTold(2);
    const own = { value: { id: 1 }, key: 'k', timestamp: 5, attempt: 1, by: 'me' };
    expect(told).toEqual([{ ...place, ...own }, false]);
  });

  it('reads each topic of a list in its own format, and those that an expression matches', async () => {
    const Lines = defineTopic('lines', { format: 'text' });
    const Sizes = defineTopic<number>('sizes');
    class Lists {
      @TopicHandler([Lines, Sizes])
      both(value: string | number, message: KqMessage<string | number>): void {
        tell([message.topic, value]);
      }

      @TopicHandler(/^log[.]/, { from: 'first' })
      logs(value: unknown, message: KqMessage): void {
        tell([message.topic, value]);
      }
    }
    app = await Test.createTestingModule({
      imports: [KqModule.forRoot({ logger, brokers: 'memory' })],
      providers: [Lists],
    }).compile();
    const kq = app.get(KqPusher);
    await kq.push('log.a', [1]); // an expression means the topics that there are at the start
    await app.init();
    await kq.push(Lines, 'a line');
    await kq.push(Sizes, 7);
    await untilTold(3);
    expect(told).toHaveLength(3);
    expect(told).toEqual(
      expect.arrayContaining([
        ['log.a', [1]],
        ['lines', 'a line'],
        ['sizes', 7],
      ]),
    );
  });

  it('gets batches, and runs only those again that it reports', async () => {
    class Batches {
      @TopicHandler('t', { batch: { size: 3, within: 60_000 }, retry: { backoff: 0 }, order: 'none' })
      many(values: string[], messages: readonly KqMessage<string>[]): unknown {
        tell(values.map((value, index) => `${value}${messages[index]!.offset}/${messages[index]!.attempt}`));
        return values.map((value) => (value === 'b' ? new Error('no b') : undefined));
      }
    }
    const kq = await start(Batches);
    const messages = ['a', 'b', 'c', 'd', 'e'].map((value) => ({ value, partition: 0 }));
    await kq.pushMany('t', messages);
    await untilTold(2);
    expect(told[0]).toEqual(['a0/1', 'b1/1', 'c2/1']);
    expect((told[1] as string[]).toSorted()).toEqual(['b1/2', 'd3/1', 'e4/1']);
  });

  it('runs guards, interceptors, pipes and filters, with the message in their context', async () => {
    @Injectable()
    class Guard implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        const [value, message] = context.getArgs<[unknown, KqMessage]>();
        tell(['guard', isKqContext(context), value, message.topic]);
        return true;
      }
    }
    class Around implements NestInterceptor {
      intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
        tell('before');
        return next.handle();
      }
    }
    class Decides implements ExceptionFilter {
      catch(error: Error, host: ArgumentsHost): Discard {
        tell(['filter', error.message, isKqContext(host)]);
        return Discard.because('the filter says so');
      }
    }
    class Guarded {
      @TopicHandler('numbers', { deadLetter: 'dead' })
      @UseGuards(Guard)
      @UseInterceptors(Around)
      @UseFilters(Decides)
      handle(@CurrentMessage() message: KqMessage, @MessageValue(ParseIntPipe) value: number): void {
        tell([value, message.offset]);
        throw new Error('no');
      }

      @TopicHandler('dead')
      dead(value: unknown, message: KqMessage): void {
        tell(['dead', value, message.header('kq-error-message')]);
      }
    }
    const kq = await start(Guarded, Guard);
    await kq.push('numbers', '42');
    await untilTold(5);
    expect(told).toEqual([
      ['guard', true, '42', 'numbers'],
      'before',
      [42, '0'],
      ['filter', 'no', true],
      ['dead', '42', 'the filter says so'],
    ]);
  });

  it('has an instance for each message where its class is request-scoped', async () => {
    let made = 0;
    @Injectable({ scope: Scope.REQUEST })
    class PerMessage {
      private readonly nr = ++made;

      constructor(
        @Inject(REQUEST) private readonly request: KqMessage,
        private readonly moduleRef: ModuleRef,
      ) {}

      @TopicHandler('t', { order: 'partition' })
      async handle(value: string, message: KqMessage): Promise<void> {
        const context = ContextIdFactory.getByRequest(message);
        const again = await this.moduleRef.resolve(PerMessage, context, { strict: false });
        tell([value, this.nr, this.request === message, again === this]);
      }
    }
    const kq = await start(PerMessage);
    await kq.push('t', 'a', { partition: 0 });
    await kq.push('t', 'b', { partition: 0 });
    await untilTold(2);
    expect(told).toEqual([
      ['a', 1, true, true],
      ['b', 2, true, true],
    ]);
  });

  it('runs again after a failure or a Retry, and becomes a dead letter once its attempts are exhausted', async () => {
    class Failing {
      @TopicHandler('t', { retry: { attempts: 3, backoff: 1 }, deadLetter: 'dead' })
      handle(_value: string, { attempt }: KqMessage): unknown {
        tell(attempt);
        if (attempt === 2) return Retry.after(2);
        throw new Error('not yet');
      }

      @TopicHandler('dead')
      dead(value: string): void {
        tell(value);
      }
    }
    const kq = await start(Failing);
    await kq.push('t', 'a', { key: 'k', partition: 0 });
    await untilTold(4);
    expect(told).toEqual([1, 2, 3, 'a']);
    const [first, second, third] = logger.lines.filter(({ level }) => level === 'warn' || level === 'error');
    expect(first!.message).toMatch(
      /^message 0 of t\/0 with the key "k" failed in attempt 1; retrying in 1 ms: not yet\n    Error: not yet\n/,
    );
    expect(second!.message).toBe(
      'message 0 of t/0 with the key "k" failed in attempt 2; retrying in 2 ms: retry after 2 ms',
    );
    expect(third).toMatchObject({
      level: 'error',
      message:
        'message 0 of t/0 with the key "k" was dead-lettered to dead, because its attempts are exhausted: not yet',
    });
  });

  it('holds its key while a handler runs that an interceptor did not wait for', async () => {
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    class GivesUp implements NestInterceptor {
      intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
        return next.handle().pipe(timeout({ first: 1, with: () => of(tell('gave up')) }));
      }
    }
    class Slow {
      @TopicHandler('t')
      @UseInterceptors(GivesUp)
      async handle(value: string): Promise<void> {
        tell(`${value} begins`);
        if (value === 'a') await released;
        tell(`${value} ends`);
      }
    }
    const kq = await start(Slow);
    await kq.push('t', 'a', { key: 'k' });
    await kq.push('t', 'b', { key: 'k' });
    await untilTold(2);
    release();
    await untilTold(5);
    expect(told).toEqual(['a begins', 'gave up', 'a ends', 'b begins', 'b ends']);
  });
});
