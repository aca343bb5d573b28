import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, Scope, type ModuleMetadata } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { HandlersModule, NestParts, type ClusterNames } from 'nest-handlers';
import type { DelayedJob, HandlerOptions } from '../api/job.js';
import { DqError } from '../errors.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { defineTube } from '../api/tube.js';
import { DelayedHandler } from './delayed-handler.js';
import { HandlerExplorer, type FoundHandler } from './handler-explorer.js';
import { resolveOptions, type DqOptions } from './options.js';

@Injectable()
class Orders {
  readonly seen: unknown[] = [];

  @DelayedHandler('order.cancel', { concurrency: 3 })
  cancel(payload: unknown): string {
    this.seen.push(payload);
    return 'cancelled';
  }
}

async function explore(
  metadata: ModuleMetadata,
  options: DqOptions = {},
  cluster?: string,
  clusters: ClusterNames = [cluster],
): Promise<FoundHandler[]> {
  const module = await Test.createTestingModule({
    ...metadata,
    imports: [...(metadata.imports ?? []), HandlersModule],
  }).compile();
  const resolved = resolveOptions(options, new CollectingLogger());
  return new HandlerExplorer(module.get(NestParts), resolved, cluster).explore(clusters);
}

const tubes = (handlers: FoundHandler[]) => handlers.map(({ tube }) => tube).sort();
const job = {} as DelayedJob<any>;

describe('the discovery of handlers', () => {
  it('finds a method of a provider, and calls it on the instance', async () => {
    const orders = new Orders();
    const [handler] = await explore({ providers: [{ provide: Orders, useValue: orders }] });
    expect(handler).toMatchObject({ tube: 'order.cancel', options: { concurrency: 3 } });
    expect(handler?.handler('42', job)).toBe('cancelled');
    expect(orders.seen).toEqual(['42']);
  });

  it('calls what stands on the instance when the job comes', async () => {
    const orders = new Orders();
    const [handler] = await explore({ providers: [{ provide: Orders, useValue: orders }] });
    orders.cancel = () => 'a spy';
    expect(handler?.handler('42', job)).toBe('a spy');
  });

  @Injectable()
  class Other {
    @DelayedHandler(defineTube('order.cancel'))
    drop(): void {}
  }
  @Module({ providers: [Orders] })
  class Shop {}
  @Module({ providers: [Orders] })
  class Billing {}
  @Injectable()
  class Shoes extends Orders {}
  @Injectable()
  class Hats extends Orders {}

  it.each<[string, ModuleMetadata, RegExp]>([
    [
      'two methods',
      { providers: [Orders, Other] },
      /"order.cancel" has two handlers, Orders\.cancel .* and Other\.drop /,
    ],
    [
      'a class in two modules',
      { imports: [Shop, Billing] },
      /Orders\.cancel \(in Shop\) and Orders\.cancel \(in Billing\)/,
    ],
    ['two heirs of one class', { providers: [Shoes, Hats] }, /Shoes\.cancel .* and Hats\.cancel /],
  ])('refuses two handlers of one tube, and names both: %s', async (_what, metadata, message) => {
    const found = explore(metadata);
    await expect(found).rejects.toMatchObject({ code: 'DQ_CONFIG' });
    await expect(found).rejects.toThrow(message);
  });

  it('takes request-scoped classes, and those that depend on one', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class User {}
    @Injectable()
    class Dependent {
      constructor(readonly user: User) {}
      @DelayedHandler('dependent')
      run(): void {}
    }
    @Injectable({ scope: Scope.REQUEST })
    class PerRequest extends Orders {}
    expect(tubes(await explore({ providers: [User, Dependent, PerRequest] }))).toEqual([
      'dependent',
      'order.cancel',
    ]);
  });

  it.each<[string, string, HandlerOptions, RegExp]>([
    ['wrong options', 'wrong', { concurrency: 0 }, /Wrong\.run .*`concurrency` is 0/],
    [
      'a wrong keepDone',
      'wrong',
      { keepDone: { for: '1s' } },
      /Wrong\.run .*`keepDone\.for` is "1s": expected 60000 ms/,
    ],
    [
      'a wrong name of a tube',
      'two words',
      {},
      /DQ_CONFIG: Wrong\.run .*"two words" \(after the prefix "shop\."\)/,
    ],
  ])('refuses %s, naming the class and the method', async (_what, tube, options, message) => {
    @Injectable()
    class Wrong {
      @DelayedHandler(tube, options)
      run(): void {}
    }
    const found = explore({ providers: [Wrong] }, { prefix: 'shop.' });
    await expect(found).rejects.toMatchObject({ code: 'DQ_CONFIG', cause: expect.any(DqError) });
    await expect(found).rejects.toThrow(message);
  });

  it('wires one method to several tubes, each with its options', async () => {
    @Injectable()
    class Mails {
      readonly seen: unknown[] = [];
      @DelayedHandler(['mail.welcome', defineTube<string>('mail.farewell')], { concurrency: 2 })
      send(payload: string, { tube }: DelayedJob<string>): void {
        this.seen.push([tube, payload]);
      }
    }
    const mails = new Mails();
    const found = await explore({ providers: [{ provide: Mails, useValue: mails }] });
    expect(tubes(found)).toEqual(['mail.farewell', 'mail.welcome']);
    for (const { tube, handler, options } of found) {
      expect(options).toEqual({ concurrency: 2 });
      handler('hi', { tube } as DelayedJob<string>);
    }
    expect(mails.seen).toEqual([
      ['mail.welcome', 'hi'],
      ['mail.farewell', 'hi'],
    ]);
  });

  it('wires an inherited method to the tubes of each class', async () => {
    abstract class Reminder {
      abstract readonly tubes: string | readonly string[];
      @DelayedHandler(({ tubes }: Reminder) => tubes)
      remind(): string {
        return this.constructor.name;
      }
    }
    @Injectable()
    class Bills extends Reminder {
      readonly tubes = ['bill.first', 'bill.last'];
    }
    @Injectable({ scope: Scope.REQUEST })
    class Visits extends Reminder {
      get tubes() {
        return 'visit'; // of the prototype, as Nest has no instance before a job comes
      }
    }
    const found = await explore({ providers: [Bills, Visits] });
    expect(tubes(found)).toEqual(['bill.first', 'bill.last', 'visit']);
    const handler = found.find(({ tube }) => tube === 'bill.last')!.handler;
    expect(handler(undefined, job)).toBe('Bills');
  });

  it.each<[unknown, RegExp]>([
    [[], /Wrong\.run \(in .*\): the list of tubes is \[\]: expected at least one tube/],
    [['a', 'a'], /tube "a" has two handlers/],
    [['a', 'b c'], /Wrong\.run .*"b c"/],
    [() => undefined, /Wrong\.run .*undefined/],
  ])('refuses the tubes %p', async (given, message) => {
    @Injectable()
    class Wrong {
      @DelayedHandler(given as string)
      run(): void {}
    }
    const found = explore({ providers: [Wrong] });
    await expect(found).rejects.toMatchObject({ code: 'DQ_CONFIG' });
    await expect(found).rejects.toThrow(message);
  });

  it('finds what names its cluster, and the same tube once in each', async () => {
    @Injectable()
    class Mails {
      @DelayedHandler('order.cancel', { cluster: 'mails', concurrency: 2 })
      @DelayedHandler('welcome', { cluster: 'mails' })
      send(): void {}
    }
    const metadata = { providers: [Orders, Mails] };
    const clusters = [undefined, 'mails', 'idle'];
    expect(tubes(await explore(metadata, {}, undefined, clusters))).toEqual(['order.cancel']);
    const mails = await explore(metadata, {}, 'mails', clusters);
    expect(tubes(mails)).toEqual(['order.cancel', 'welcome']);
    expect(mails.find(({ tube }) => tube === 'order.cancel')?.options).toEqual({ concurrency: 2 });
    expect(await explore(metadata, {}, 'idle', clusters)).toEqual([]);
  });
});

describe('@DelayedHandler', () => {
  it('refuses what is no method of an instance', () => {
    const decorate = DelayedHandler('x');
    class Static {
      static run(): void {}
    }
    const ofStatic = Object.getOwnPropertyDescriptor(Static, 'run')!;
    expect(() => decorate(Static, 'run', ofStatic)).toThrow(
      /DQ_CONFIG: @DelayedHandler\("x"\) is on Static.run, which is static/,
    );
    expect(() => decorate({}, 'value', { get: () => () => undefined })).toThrow(
      /expected an instance method/,
    );
  });
});
