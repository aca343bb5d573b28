import { describe, expect, it } from '@jest/globals';
import { Controller, Injectable, Module, Scope, UseGuards, type ModuleMetadata } from '@nestjs/common';
import { OnNote, compile, find, noteMarks } from '../spec-support/notes.js';
import type { ClusterNames } from './marked-methods.js';
import { MarkedMethods } from './marked-methods.js';
import { HandlerMarks, MethodMarks } from './method-marks.js';
import { NestParts } from './nest-parts.js';

@Injectable()
class Orders {
  @OnNote('order')
  take(this: void): void {}
}

const abouts = async (metadata: ModuleMetadata, cluster?: string, clusters?: ClusterNames) =>
  (await find(metadata, cluster, clusters)).map(({ about }) => about);

describe('the methods with marks', () => {
  it('are found with their instance, class and module', async () => {
    const orders = new Orders();
    const [first] = await find({ providers: [{ provide: Orders, useValue: orders }] });
    expect(first!.found).toMatchObject({
      instance: orders,
      key: 'take',
      method: orders.take,
      name: 'Orders.take (in RootTestModule)',
      isSingle: true,
    });
  });

  it('may be several of one class, with several marks, and with symbols', async () => {
    const hidden = Symbol('hidden');
    @Injectable()
    class Many {
      @OnNote('a')
      a(): void {}
      @OnNote('b1')
      @OnNote('b2')
      b(): void {}
      @OnNote('c')
      [hidden](): void {}
    }
    expect(await abouts({ providers: [Many] })).toEqual(['a', 'b1', 'b2', 'c']);
  });

  it.each<[string, ModuleMetadata]>([
    ['a class', { providers: [Orders] }],
    ['useClass', { providers: [{ provide: 'orders', useClass: Orders }] }],
    ['useValue', { providers: [{ provide: 'orders', useValue: new Orders() }] }],
    ['useFactory', { providers: [{ provide: 'orders', useFactory: () => new Orders() }] }],
    ['an async useFactory', { providers: [{ provide: 'orders', useFactory: async () => new Orders() }] }],
  ])('are found of a provider made by %s', async (_form, metadata) => {
    expect(await abouts(metadata)).toEqual(['order']);
  });

  it('are found of controllers and of modules', async () => {
    @Controller()
    class Web {
      @OnNote('of a controller')
      run(): void {}
    }
    @Module({ controllers: [Web] })
    class Feature {
      @OnNote('of a module')
      run(): void {}
    }
    expect(await abouts({ imports: [Feature] })).toEqual(['of a controller', 'of a module']);
  });

  it('are found once of an instance with two names', async () => {
    const alias = { provide: 'alias', useExisting: Orders };
    const same = { provide: 'same', useFactory: (orders: Orders) => orders, inject: [Orders] };
    expect(await abouts({ providers: [Orders, alias, same] })).toEqual(['order']);
  });

  it('are found once by repeated searches', async () => {
    const nest = (await compile({ providers: [Orders] })).get(NestParts);
    const methods = new MarkedMethods(nest, noteMarks);
    expect([...methods.find([undefined])]).toHaveLength(1);
    expect([...methods.find([undefined])]).toEqual([]);
  });

  it('are found where they are inherited, but not where they are overridden without the decorator', async () => {
    class Base {
      @OnNote('kept')
      kept(): void {}
      @OnNote('overridden')
      overridden(): void {}
      @OnNote('first')
      renamed(): void {}
    }
    @Injectable()
    class Derived extends Base {
      override overridden(): void {}
      @OnNote('second')
      override renamed(): void {}
    }
    expect(await abouts({ providers: [Derived] })).toEqual(['kept', 'second']);
  });

  it('are looked for in values of all kinds, without a call of a getter', async () => {
    class Guarded {
      get explosive(): never {
        throw new Error('a getter was called');
      }
    }
    const values = [Object.create(null), 'a text', 0, undefined, null, [], () => 1, new Guarded(), class {}];
    const providers = values.map((useValue: unknown, index) => ({ provide: `value ${index}`, useValue }));
    expect(await abouts({ providers })).toEqual([]);
  });

  it('are found where a decorator above has put another function in their place', async () => {
    const replaced = () => 'replaced';
    const replace: MethodDecorator = (_target, _key, descriptor: PropertyDescriptor) => {
      descriptor.value = replaced;
    };
    @Injectable()
    class Wrapped {
      @OnNote('above')
      @replace
      @OnNote('below')
      run(): void {}
    }
    const found = await find({ providers: [Wrapped] });
    expect(found.map(({ about }) => about)).toEqual(['above', 'below']);
    expect(found.map(({ found: { method } }) => method)).toEqual([replaced, replaced]);
  });

  it('are found where they were copied from another class', async () => {
    class Copy {}
    Object.defineProperty(Copy.prototype, 'take', Object.getOwnPropertyDescriptor(Orders.prototype, 'take')!);
    expect(await abouts({ providers: [Copy] })).toEqual(['order']);
  });

  it('are found by the marks of another copy of the library', async () => {
    const copy = new HandlerMarks<object>(noteMarks.kind, 'handlers');
    const others = new MethodMarks<object>(noteMarks.kind, 'others');
    const nest = (await compile({ providers: [Orders] })).get(NestParts);
    expect([...new MarkedMethods(nest, copy).find([undefined])]).toHaveLength(1);
    expect([...new MarkedMethods(nest, others).find([undefined])]).toEqual([]);
  });

  it('are distinguished: one instance for the whole time, or not', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class User {
      @OnNote('request-scoped')
      run(): void {}
    }
    @Injectable()
    class Dependent {
      constructor(readonly user: User) {}
      @OnNote('dependent')
      run(): void {}
    }
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient {
      @OnNote('transient')
      run(): void {}
    }
    const found = await find({ providers: [User, Dependent, Transient, Orders] });
    expect(found.map(({ about, found: { isSingle } }) => [about, isSingle])).toEqual([
      ['dependent', false],
      ['order', true],
      ['request-scoped', false],
      ['transient', false],
    ]);
  });

  it('are refused if guards were lost, or if they are no methods any more', async () => {
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
      @OnNote('a')
      run(): void {}
    }
    @Injectable()
    class Bound {
      @bound
      @OnNote('a')
      run(): void {}
    }
    await expect(find({ providers: [Unguarded] })).rejects.toThrow(
      /NOTES: Unguarded\.run \(in RootTestModule\): a decorator above @OnNote\(a\) replaced the method with a function .*__guards__/,
    );
    await expect(find({ providers: [Bound] })).rejects.toThrow(
      /NOTES: Bound\.run \(in RootTestModule\): a decorator above @OnNote\(a\) turned the method into a getter/,
    );
  });

  it('are not refused for the lost marks of another library', async () => {
    const others = new HandlerMarks<object>({ ...noteMarks.kind, context: 'other' }, 'handlers');
    const Other: MethodDecorator = (target, key, descriptor) =>
      others.add({}, '@Other()', target, key, descriptor);
    const replace: MethodDecorator = (_target, _key, descriptor: PropertyDescriptor) => {
      descriptor.value = () => undefined;
    };
    @Injectable()
    class Both {
      @replace
      @Other
      @OnNote('both')
      run(): void {}
    }
    expect(await abouts({ providers: [Both] })).toEqual(['both']);
  });

  it('belong to the cluster that their mark names', async () => {
    @Injectable()
    class Mails {
      @OnNote('order', { cluster: 'mails' })
      @OnNote('welcome', { cluster: 'mails' })
      send(): void {}
    }
    const metadata = { providers: [Orders, Mails] };
    const clusters = [undefined, 'mails', 'idle'];
    expect(await abouts(metadata, undefined, clusters)).toEqual(['order']);
    expect(await abouts(metadata, 'mails', clusters)).toEqual(['order', 'welcome']);
    expect(await abouts(metadata, 'idle', clusters)).toEqual([]);
  });

  it.each<[unknown, ClusterNames, string]>([
    ['post', [undefined, 'mails'], '"post", which no NoteModule .*; there are the unnamed one, "mails"'],
    [undefined, ['mails'], 'the unnamed one, which .*; there is "mails"'],
    [{ name: 'mails' }, ['mails'], String.raw`\{ name: 'mails' \}, which .*; there is "mails"`],
  ])('are refused in the cluster %p, if there are only %p', async (cluster, clusters, message) => {
    @Injectable()
    class Stray {
      @OnNote('a', { cluster })
      run(): void {}
    }
    await expect(find({ providers: [Stray] }, clusters[0], clusters)).rejects.toThrow(
      new RegExp(`^NOTES: Stray\\.run \\(in RootTestModule\\): its cluster is ${message}$`),
    );
  });
});

describe('a decorator', () => {
  it('refuses anything but a method of an instance', () => {
    const decorate = OnNote('x');
    class Static {
      static run(): void {}
    }
    const ofStatic = Object.getOwnPropertyDescriptor(Static, 'run')!;
    expect(() => decorate(Static, 'run', ofStatic)).toThrow(
      /NOTES: @OnNote\(x\) is on Static\.run, which is static: expected an instance method/,
    );
    expect(() => decorate({}, 'value', { get: () => () => undefined })).toThrow(
      /expected an instance method/,
    );
    // As TypeScript calls it for a property, such as an arrow function.
    class Arrow {}
    expect(() => Reflect.decorate([decorate as PropertyDecorator], Arrow.prototype, 'run')).toThrow(
      'NOTES: @OnNote(x) is on Arrow.run, which is a property, not a method (perhaps an arrow function): ' +
        'expected an instance method, such as `async run(…) {…}`',
    );
  });
});
