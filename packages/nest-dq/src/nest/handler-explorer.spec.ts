import { describe, expect, it } from '@jest/globals';
import { Controller, Injectable, Module, Scope, UseGuards, type ModuleMetadata } from '@nestjs/common';
import { ApplicationConfig, DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import type { DelayedJob, HandlerOptions } from '../api/job.js';
import { DqError } from '../errors.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { defineTube } from '../api/tube.js';
import { DelayedHandler } from './delayed-handler.js';
import type { ClusterNames } from './found-methods.js';
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
    imports: [...(metadata.imports ?? []), DiscoveryModule],
  }).compile();
  const [discovery, config] = [module.get(DiscoveryService), module.get(ApplicationConfig)];
  const resolved = resolveOptions({ logger: new CollectingLogger(), ...options });
  return new HandlerExplorer(discovery, config, resolved, cluster).explore(clusters);
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

  it('finds several methods of one class, several tubes of one method, and methods with symbols', async () => {
    const hidden = Symbol('hidden');
    @Injectable()
    class Many {
      @DelayedHandler('a')
      a(): void {}
      @DelayedHandler(defineTube('b1'))
      @DelayedHandler('b2')
      b(): void {}
      @DelayedHandler('c')
      [hidden](): void {}
    }
    expect(tubes(await explore({ providers: [Many] }))).toEqual(['a', 'b1', 'b2', 'c']);
  });

  it.each<[string, ModuleMetadata]>([
    ['a class', { providers: [Orders] }],
    ['useClass', { providers: [{ provide: 'orders', useClass: Orders }] }],
    ['useValue', { providers: [{ provide: 'orders', useValue: new Orders() }] }],
    ['useFactory', { providers: [{ provide: 'orders', useFactory: () => new Orders() }] }],
    ['an async useFactory', { providers: [{ provide: 'orders', useFactory: async () => new Orders() }] }],
  ])('finds a provider made by %s', async (_form, metadata) => {
    expect(tubes(await explore(metadata))).toEqual(['order.cancel']);
  });

  it('finds methods of controllers and of modules', async () => {
    @Controller()
    class Web {
      @DelayedHandler('of.controller')
      run(): void {}
    }
    @Module({ controllers: [Web] })
    class Feature {
      @DelayedHandler('of.module')
      run(): void {}
    }
    expect(tubes(await explore({ imports: [Feature] }))).toEqual(['of.controller', 'of.module']);
  });

  it('takes one instance with two names as one', async () => {
    const alias = { provide: 'alias', useExisting: Orders };
    const same = { provide: 'same', useFactory: (orders: Orders) => orders, inject: [Orders] };
    expect(tubes(await explore({ providers: [Orders, alias, same] }))).toEqual(['order.cancel']);
  });

  it('finds inherited methods, but none that is overridden without the decorator', async () => {
    class Base {
      @DelayedHandler('kept')
      kept(): void {}
      @DelayedHandler('overridden')
      overridden(): void {}
      @DelayedHandler('first')
      renamed(): void {}
    }
    @Injectable()
    class Derived extends Base {
      override overridden(): void {}
      @DelayedHandler('second')
      override renamed(): void {}
    }
    expect(tubes(await explore({ providers: [Derived] }))).toEqual(['kept', 'second']);
  });

  it('passes over values of all kinds, and calls no getter', async () => {
    class Guarded {
      get explosive(): never {
        throw new Error('a getter was called');
      }
    }
    const values = [Object.create(null), 'a text', 0, undefined, null, [], () => 1, new Guarded(), class {}];
    const providers = values.map((useValue: unknown, index) => ({ provide: `value ${index}`, useValue }));
    expect(await explore({ providers })).toEqual([]);
  });

  it('finds a method in whose place a decorator above has put another function, and calls that', async () => {
    const wrapped: MethodDecorator = (_target, _key, descriptor: PropertyDescriptor) => {
      const method = descriptor.value as (payload: unknown) => unknown;
      descriptor.value = (payload: unknown) => `wrapped ${String(method(payload))}`;
    };
    @Injectable()
    class Wrapped {
      @DelayedHandler('above')
      @wrapped
      @DelayedHandler('below')
      run(payload: unknown): unknown {
        return payload;
      }
    }
    const handlers = await explore({ providers: [Wrapped] });
    expect(tubes(handlers)).toEqual(['above', 'below']);
    expect(handlers.map(({ handler }) => handler('42', job))).toEqual(['wrapped 42', 'wrapped 42']);
  });

  it('finds a method that was copied from another class', async () => {
    class Copy {}
    Object.defineProperty(
      Copy.prototype,
      'cancel',
      Object.getOwnPropertyDescriptor(Orders.prototype, 'cancel')!,
    );
    expect(tubes(await explore({ providers: [Copy] }))).toEqual(['order.cancel']);
  });

  it('refuses one whose guards were lost, or that is no method any more, and names it', async () => {
    const bare: MethodDecorator = (_target, _key, descriptor: PropertyDescriptor) => {
      descriptor.value = () => undefined;
    };
    const bound: MethodDecorator = (_target, _key, { value }: PropertyDescriptor) => ({
      configurable: true,
      get: () => value as never,
    });
    @Injectable()
    class Unguarded {
      @bare
      @UseGuards(class Guard {} as never)
      @DelayedHandler('a')
      run(): void {}
    }
    @Injectable()
    class Bound {
      @bound
      @DelayedHandler('a')
      run(): void {}
    }
    await expect(explore({ providers: [Unguarded] })).rejects.toThrow(
      /DQ_CONFIG: Unguarded\.run \(in RootTestModule\): a decorator above @DelayedHandler\("a"\) put a function .*__guards__/,
    );
    await expect(explore({ providers: [Bound] })).rejects.toThrow(
      /DQ_CONFIG: Bound\.run \(in RootTestModule\): a decorator above @DelayedHandler\("a"\) made a getter/,
    );
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
      'a wrong name of a tube',
      'two words',
      {},
      /DQ_CONFIG: Wrong\.run .*"two words" \(behind the prefix "shop\."\)/,
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
      /DQ_CONFIG: @DelayedHandler\("x"\) stands on `run`/,
    );
    expect(() => decorate({}, 'value', { get: () => () => undefined })).toThrow(/expected a method/);
  });
});
