import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Injectable,
  Module,
  Scope,
  SetMetadata,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type ModuleMetadata,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, Reflector } from '@nestjs/core';
import { DelayedHandler, DelayedJob } from 'nest-dq';
import { enhancedApps } from '../support/enhanced.js';
import { Audit, Filter, Guard, Interceptor, Pipe, forget, seen } from '../support/noting-enhancers.js';

const start = enhancedApps();
afterEach(forget);

const AROUND = [
  'guard of audit, Work.run, 1',
  'before, audit',
  'pipe of audit: body, Object',
  'handler',
  'after fine',
];

function work(): Function {
  class Work {
    @DelayedHandler('work')
    run(_payload: object, job: DelayedJob): string {
      seen.push('handler');
      if (!(job instanceof DelayedJob)) throw new Error('no job');
      return 'fine';
    }
  }
  return Work;
}
const AS_CONTROLLER = Controller() as ClassDecorator & MethodDecorator;
const on = (decorators: (ClassDecorator & MethodDecorator)[], place: 'class' | 'method') => {
  const type = work();
  const method = Object.getOwnPropertyDescriptor(type.prototype, 'run')!;
  for (const decorate of decorators) {
    if (place === 'class' || decorate === AS_CONTROLLER) decorate(type);
    else decorate(type.prototype as object, 'run', method);
  }
  return type as new () => object;
};
const ALL = [UseGuards(Guard), UseInterceptors(Interceptor), UsePipes(Pipe), UseFilters(Filter)];
const GLOBAL = [
  { provide: APP_GUARD, useClass: Guard },
  { provide: APP_INTERCEPTOR, useClass: Interceptor },
  { provide: APP_PIPE, useClass: Pipe },
  { provide: APP_FILTER, useClass: Filter },
];

describe('guards, interceptors, pipes and filters apply', () => {
  it.each<[string, () => ModuleMetadata, ((app: INestApplication) => void) | undefined]>([
    ['on the method of a provider', () => ({ providers: [Audit, on(ALL, 'method')] }), undefined],
    ['on the class of a provider', () => ({ providers: [Audit, on(ALL, 'class')] }), undefined],
    [
      'on the method of a controller',
      () => ({ providers: [Audit], controllers: [on([AS_CONTROLLER, ...ALL], 'method')] }),
      undefined,
    ],
    [
      'on the class of a controller',
      () => ({ providers: [Audit], controllers: [on([AS_CONTROLLER, ...ALL], 'class')] }),
      undefined,
    ],
    [
      'on a provider with another token',
      () => ({ providers: [Audit, { provide: 'work', useClass: on(ALL, 'class') }] }),
      undefined,
    ],
    ['as APP_GUARD and so on', () => ({ providers: [Audit, on([], 'class'), ...GLOBAL] }), undefined],
    [
      'by app.useGlobalGuards and so on',
      () => ({ providers: [Audit, on([], 'class')] }),
      (app) => {
        const audit = app.get(Audit);
        app.useGlobalGuards(new Guard(audit));
        app.useGlobalInterceptors(new Interceptor(audit));
        app.useGlobalPipes(new Pipe(audit));
        app.useGlobalFilters(new Filter(audit));
      },
    ],
  ])('%s', async (_where, metadata, before) => {
    const app = await start(metadata(), before);
    await expect(app.run('work', {})).resolves.toBeUndefined();
    expect(seen).toEqual(AROUND);
    forget();
    await expect(app.failure('work', { deny: true })).resolves.toEqual({
      name: 'ForbiddenException',
      message: 'Forbidden resource',
    });
    expect(seen).toEqual(['guard of audit, Work.run, 1', 'filter of audit: Forbidden resource, true, work']);
  });

  it.each<Scope>([Scope.REQUEST, Scope.TRANSIENT])('as a global guard of scope %s', async (scope) => {
    const guard = { provide: APP_GUARD, useClass: Guard, scope };
    const app = await start({ providers: [Audit, on([], 'class'), guard] });
    await app.run('work', {});
    expect(seen).toEqual(['guard of audit, Work.run, 1', 'handler']);
    await expect(app.failure('work', { deny: true })).resolves.toMatchObject({ name: 'ForbiddenException' });
  });

  it('of the module that provides the class, when two do', async () => {
    @Injectable()
    class ByModule implements CanActivate {
      constructor(private readonly audit: Audit) {}
      canActivate(): boolean {
        seen.push(this.audit.name);
        return true;
      }
    }
    @Injectable()
    @UseGuards(ByModule)
    class Shared {
      constructor(readonly tube: Audit) {}
    }
    const make = (name: string) => {
      class Derived extends Shared {
        @DelayedHandler(name)
        run(): void {}
      }
      Reflect.defineMetadata('design:paramtypes', [Audit], Derived);
      @Module({
        providers: [
          { provide: 'handlers', useClass: Derived },
          { provide: Audit, useValue: { name } },
        ],
      })
      class Feature {}
      return Feature;
    };
    const app = await start({ imports: [make('first'), make('second')] });
    await app.run('first', 1);
    await app.run('second', 1);
    expect(seen).toEqual(['first', 'second']);
  });

  it('and read what other decorators say of the method', async () => {
    @Injectable()
    class Roles implements CanActivate {
      constructor(private readonly reflector: Reflector) {}
      canActivate(context: ExecutionContext): boolean {
        return this.reflector.get<string>('role', context.getHandler()) === 'admin';
      }
    }
    @Injectable()
    @UseGuards(Roles)
    class Work {
      @SetMetadata('role', 'admin')
      @DelayedHandler('allowed')
      allowed(): void {}
      @DelayedHandler('denied')
      denied(): void {}
    }
    const app = await start({ providers: [Work] });
    await expect(app.run('allowed', 1)).resolves.toBeUndefined();
    await expect(app.run('denied', 1)).resolves.toMatchObject({ error: { name: 'ForbiddenException' } });
  });

  it('to what replaces the method later, such as a spy', async () => {
    const app = await start({ providers: [Audit, { provide: 'work', useClass: on(ALL, 'method') }] });
    const instance = app.app.get<{ run: () => string }>('work');
    instance.run = () => 'replaced';
    await app.run('work', {});
    expect(seen).toContain('guard of audit, Work.run, 1');
    expect(seen.at(-1)).toBe('after replaced');
    expect(seen).not.toContain('handler');
  });

  it('but not when they are set after the application has started', async () => {
    const app = await start({ providers: [Audit, on([], 'class')] });
    app.app.useGlobalGuards(new Guard(new Audit()));
    await app.run('work', {});
    expect(seen).toEqual(['handler']);
  });
});

describe('an application does not start', () => {
  const key = Symbol('hidden');
  it('with enhancers around a method whose name is a symbol', async () => {
    @Injectable()
    class Hidden {
      @UseGuards(Guard)
      @DelayedHandler('hidden')
      [key](): void {}
    }
    await expect(start({ providers: [Audit, Hidden] })).rejects.toThrow(
      /DQ_CONFIG: Hidden\.Symbol\(hidden\) .*symbol/,
    );
  });

  it('with a global guard that would be passed over', async () => {
    const type = on([], 'class');
    const made = { provide: 'work', useFactory: () => new type() };
    const guard = { provide: APP_GUARD, useClass: Guard, scope: Scope.REQUEST };
    await expect(start({ providers: [Audit, made, guard] })).rejects.toThrow(
      /DQ_CONFIG: Work\.run .* would run without the global Guard, which is not a singleton/,
    );
  });
});
