import { afterEach, describe, expect, it } from '@jest/globals';
import {
  BadRequestException,
  Catch,
  ClassSerializerInterceptor,
  Controller,
  Injectable,
  Module,
  ParseIntPipe,
  Scope,
  SetMetadata,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  ValidationPipe,
  createParamDecorator,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  type ModuleMetadata,
  type NestInterceptor,
  type PipeTransform,
  type Provider,
} from '@nestjs/common';
import {
  APP_FILTER,
  APP_GUARD,
  APP_INTERCEPTOR,
  APP_PIPE,
  BaseExceptionFilter,
  Reflector,
} from '@nestjs/core';
import { Type } from 'class-transformer';
import { IsInt, IsString, ValidateNested } from 'class-validator';
import {
  Again,
  DelayedContext,
  DelayedHandler,
  DelayedJob,
  DelayedPayload,
  Discard,
  Retry,
  isDqContext,
  type DqError,
} from 'nest-dq';
import { EMPTY, Observable, Subject, catchError, map, merge, mergeMap, of, take, tap, timeout } from 'rxjs';
import { enhancedApps } from '../support/enhanced.js';
import { eventually } from '../support/waiting.js';

const start = enhancedApps();
/** What enhancers and handlers saw, in its order. */
let seen: unknown[] = [];
afterEach(() => {
  seen = [];
});

@Injectable()
class Audit {
  readonly name = 'audit';
}

/** Needs injection, so that only an instance of Nest's making works. */
@Injectable()
class Guard implements CanActivate {
  constructor(private readonly audit: Audit) {}
  canActivate(context: ExecutionContext): boolean {
    const [payload, job] = context.getArgs<[{ deny?: boolean }, DelayedJob]>();
    const { name } = context.getHandler();
    seen.push(`guard of ${this.audit.name}, ${context.getClass().name}.${name}, ${job.attempt}`);
    return isDqContext(context) && context.getType<string>() === 'dq' && !payload.deny;
  }
}
@Injectable()
class Interceptor implements NestInterceptor {
  constructor(private readonly audit: Audit) {}
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    seen.push(`before, ${this.audit.name}`);
    return next.handle().pipe(tap({ next: (value) => seen.push(`after ${String(value)}`) }));
  }
}
@Injectable()
class Pipe implements PipeTransform {
  constructor(private readonly audit: Audit) {}
  transform(value: unknown, { type, metatype }: { type: string; metatype?: Function }): unknown {
    seen.push(`pipe of ${this.audit.name}: ${type}, ${metatype?.name}`);
    return value;
  }
}
@Injectable()
@Catch()
class Filter implements ExceptionFilter {
  constructor(private readonly audit: Audit) {}
  catch(error: Error, host: ArgumentsHost): undefined {
    const [, job] = host.getArgs<[unknown, DelayedJob]>();
    seen.push(`filter of ${this.audit.name}: ${error.message}, ${isDqContext(host)}, ${job.tube}`);
  }
}

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
    seen = [];
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

class Line {
  @IsString()
  sku!: string;
  @IsInt()
  count!: number;
}
class Order {
  @IsString()
  id!: string;
  @ValidateNested({ each: true })
  @Type(() => Line)
  lines!: Line[];
}

@Injectable()
class Orders {
  @UsePipes(new ValidationPipe({ transform: true, whitelist: true }))
  @DelayedHandler('plain')
  plain(order: Order, job: DelayedJob): void {
    seen.push(order instanceof Order, order.lines[0] instanceof Line, order, job.payload);
  }

  @DelayedHandler('decorated')
  decorated(@DelayedPayload(new ValidationPipe({ transform: true })) order: Order, job: DelayedJob): void {
    seen.push(order instanceof Order, job instanceof DelayedJob);
  }

  @DelayedHandler('moved')
  moved(@DelayedContext() job: DelayedJob, @DelayedPayload(ParseIntPipe) count: number): void {
    seen.push(job.tube, count);
  }
}

describe('parameters', () => {
  const order = { id: '42', lines: [{ sku: 'a', count: 1 }] };

  it('are payload and job without decorators, validated by class-validator', async () => {
    const app = await start({ providers: [Orders] });
    await app.run('plain', { ...order, more: true });
    expect(seen).toEqual([true, true, order, { ...order, more: true }]);
    seen = [];
    const letter = await app.run('plain', { id: 42, lines: [{ sku: 'a', count: 'x' }] });
    const message = 'Bad Request Exception: id must be a string, lines.0.count must be an integer number';
    expect(letter).toMatchObject({ why: 'attempts', error: { name: 'BadRequestException', message } });
    expect(app.about(`is a dead letter now: ${message}`)).toHaveLength(1);
    expect(seen).toEqual([]);
  });

  it('are the job as it is, which no pipe sees', async () => {
    class Copy implements PipeTransform {
      transform(value: object): object {
        return { ...value };
      }
    }
    const app = await start({ providers: [Orders] }, (web) =>
      web.useGlobalPipes(new ValidationPipe({ validateCustomDecorators: true, transform: true }), new Copy()),
    );
    await expect(app.run('decorated', order)).resolves.toBeUndefined();
    expect(seen).toEqual([true, true]);
  });

  it('are validated by a global pipe, too', async () => {
    const app = await start({ providers: [Orders] }, (web) =>
      web.useGlobalPipes(new ValidationPipe({ forbidNonWhitelisted: true, whitelist: true })),
    );
    await expect(app.run('plain', order)).resolves.toBeUndefined();
    const letter = await app.run('decorated', { ...order, more: true });
    expect(letter?.error?.name).toBe('BadRequestException');
  });

  it('may have pipes of their own, and be in another order', async () => {
    const app = await start({ providers: [Orders] });
    await app.run('decorated', order);
    await app.run('moved', '17');
    expect(seen).toEqual([true, true, 'moved', 17]);
    await expect(app.failure('decorated', {})).resolves.toMatchObject({ name: 'BadRequestException' });
    await expect(app.failure('moved', 'many')).resolves.toMatchObject({ name: 'BadRequestException' });
  });

  it('may be made with createParamDecorator, beside payload and job', async () => {
    const Tenant = createParamDecorator((name: string, context: ExecutionContext) => {
      const [, job] = context.getArgs<[unknown, DelayedJob]>();
      return `${job.headers[name]} ${isDqContext(context)}`;
    });
    @Injectable()
    class Work {
      @DelayedHandler('work')
      run(payload: string, job: DelayedJob, @Tenant('x-tenant') tenant: string): void {
        seen.push(payload, job.tube, tenant);
      }
    }
    const app = await start({ providers: [Work] });
    await app.run('work', 'payload', { 'x-tenant': 'acme' });
    expect(seen).toEqual(['payload', 'work', 'acme true']);
  });

  it('cannot be read off a request', async () => {
    const { Headers } = await import('@nestjs/common');
    @Injectable()
    class Work {
      @DelayedHandler('work')
      run(_payload: string, @Headers() _headers: object): void {}
    }
    await expect(start({ providers: [Work] })).rejects.toThrow(
      /DQ_CONFIG: Work\.run .*: the parameter 2 has a decorator that reads a request, and a job has none/,
    );
  });

  it('of a method that is a route, too, stay what they are for requests', async () => {
    const { Get } = await import('@nestjs/common');
    @Controller()
    class Web {
      @Get('poll')
      @DelayedHandler('poll')
      poll(first: unknown, second: unknown): string {
        seen.push(first, second instanceof DelayedJob);
        return 'ok';
      }
    }
    const app = await start({ controllers: [Web] }, (web) => web.useGlobalPipes(new ValidationPipe()));
    await app.run('poll', 'payload');
    expect(seen).toEqual(['payload', true]);
    expect(Reflect.getMetadata('__routeArguments__', Web, 'poll')).toBeUndefined();
  });
});

/** Answers a request, as most filters in most applications do. */
@Catch()
class HttpFilter implements ExceptionFilter {
  catch(error: Error, host: ArgumentsHost): void {
    const response = host
      .switchToHttp()
      .getResponse<{ status(code: number): { json(body: unknown): void } }>();
    response.status(500).json({ message: error.message });
  }
}
class CustomerGone extends Error {
  override readonly name = 'CustomerGone';
}

function failing(what: () => unknown, ...decorators: (ClassDecorator & MethodDecorator)[]) {
  class Work {
    @DelayedHandler('work')
    run(): unknown {
      return what();
    }
  }
  for (const decorate of decorators) decorate(Work);
  return Work;
}
const fail = () => {
  throw new CustomerGone('customer 42 is gone');
};

describe('an exception filter', () => {
  it.each<[string, () => ModuleMetadata]>([
    ['a filter of its own', () => ({ providers: [{ provide: APP_FILTER, useClass: HttpFilter }] })],
    [
      'one that extends Nest’s',
      () => {
        @Catch()
        class AllFilter extends BaseExceptionFilter {}
        return { providers: [{ provide: APP_FILTER, useClass: AllFilter }] };
      },
    ],
  ])('made for requests leaves the failure what it is, and is named once: %s', async (_what, metadata) => {
    const { providers } = metadata();
    const app = await start({ providers: [failing(fail), ...providers!] });
    for (let i = 0; i < 2; i++) {
      await expect(app.failure('work', 1)).resolves.toEqual({
        name: 'CustomerGone',
        message: 'customer 42 is gone',
      });
    }
    expect(app.about('isDqContext')).toEqual([
      expect.stringMatching(
        /the exception filter (Http|All)Filter failed at a job of Work\.run, whose own error is kept: /,
      ),
    ]);
  });

  it.each<[string, unknown, object | undefined]>([
    ['nothing', undefined, { why: 'attempts', error: { name: 'CustomerGone' } }],
    ['what it made of the error', { statusCode: 404 }, { why: 'attempts', error: { name: 'CustomerGone' } }],
    [
      'a Discard',
      Discard.because('nobody to ask'),
      { why: 'discarded', error: { message: 'nobody to ask' } },
    ],
  ])('that returns %s', async (_what, returned, letter) => {
    @Catch(CustomerGone)
    class Decide implements ExceptionFilter {
      catch(): unknown {
        return returned;
      }
    }
    const app = await start({ providers: [failing(fail, UseFilters(Decide))] });
    await expect(app.run('work', 1)).resolves.toMatchObject(letter!);
    expect(app.about('isDqContext')).toEqual([]);
  });

  it.each<[string, (error: unknown) => unknown, string, string[]]>([
    ['throws an Outcome', () => Discard.because('nobody to ask'), 'Discard', []],
    ['rethrows', (error) => error, 'CustomerGone', []],
    ['throws another error', () => new Error('another'), 'CustomerGone', ['Decide']],
  ])('that %s, at once or later', async (_what, make, name, named) => {
    @Catch()
    class Decide implements ExceptionFilter {
      async catch(error: unknown): Promise<never> {
        throw make(error);
      }
    }
    const app = await start({ providers: [failing(fail, UseFilters(Decide))] });
    await expect(app.failure('work', 1)).resolves.toMatchObject({ name });
    expect(app.about('isDqContext').map((line) => /filter (\w+)/.exec(line)![1])).toEqual(named);
  });

  it('does not see outcomes, thrown or returned', async () => {
    let outcome: unknown;
    let times = 0;
    const app = await start({
      providers: [
        failing(() => {
          times++;
          if (typeof outcome === 'function') return (outcome as () => unknown)();
          return outcome;
        }, UseFilters(Filter)),
        Audit,
      ],
    });
    const thrown = (what: unknown) => () => {
      throw what;
    };
    for (const discard of [Discard.because('x'), thrown(Discard.because('x'))]) {
      outcome = discard;
      await expect(app.run('work', 1)).resolves.toMatchObject({ why: 'discarded' });
    }
    for (const retry of [Retry.after(0, new Error('busy')), thrown(Retry.after(0, new Error('busy')))]) {
      outcome = retry;
      await expect(app.failure('work', 1)).resolves.toMatchObject({ message: 'busy' });
    }
    for (const again of [() => Again.after(0), thrown(Again.after(0))]) {
      times = 0;
      outcome = () => (times === 1 ? again() : undefined);
      await expect(app.run('work', 1)).resolves.toBeUndefined();
      expect(times).toBe(2);
    }
    expect(seen).toEqual([]);
  });
});

describe('what is made for requests', () => {
  @Injectable()
  class AuthGuard implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      const request = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
      return request.headers['authorization'] === 'secret';
    }
  }
  @Injectable()
  class ResponseTime implements NestInterceptor {
    async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
      await Promise.resolve();
      context
        .switchToHttp()
        .getResponse<{ setHeader(name: string, value: string): void }>()
        .setHeader('a', 'b');
      return next.handle();
    }
  }
  @Injectable()
  class PublicOnly implements CanActivate {
    canActivate(): boolean {
      return false;
    }
  }

  @Injectable()
  class Took implements NestInterceptor {
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      const response = context.switchToHttp().getResponse<{ setHeader(name: string, value: string): void }>();
      return next.handle().pipe(tap(() => response.setHeader('x-took', '1')));
    }
  }

  it('is named as one of all, when an interceptor fails in an operator after the handler', async () => {
    const providers = [
      failing(() => seen.push('ran'), UseInterceptors(Took)),
      { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor },
    ];
    const app = await start({ providers });
    for (let i = 0; i < 2; i++)
      await expect(app.failure('work', 1)).resolves.toMatchObject({ name: 'TypeError' });
    expect(app.about('isDqContext')).toEqual([
      expect.stringContaining(
        'the interceptor ClassSerializerInterceptor or Took failed at a job of Work.run: response.setHeader',
      ),
    ]);
    expect(seen).toEqual(['ran', 'ran']);
  });

  it.each<[string, { provide: string; useClass: new () => object }, string, RegExp]>([
    [
      'guard that throws',
      { provide: APP_GUARD, useClass: AuthGuard },
      'TypeError',
      /the guard AuthGuard failed at a job of Work\.run: /,
    ],
    [
      'guard that refuses',
      { provide: APP_GUARD, useClass: PublicOnly },
      'ForbiddenException',
      /the guard PublicOnly refused a job of Work\.run\. /,
    ],
    [
      'interceptor',
      { provide: APP_INTERCEPTOR, useClass: ResponseTime },
      'TypeError',
      /the interceptor ResponseTime failed at a job of Work\.run: /,
    ],
  ])('is named once: a %s', async (_what, enhancer, name, message) => {
    const app = await start({ providers: [failing(() => seen.push('ran')), enhancer] });
    for (let i = 0; i < 2; i++) await expect(app.failure('work', 1)).resolves.toMatchObject({ name });
    expect(app.about('isDqContext')).toEqual([expect.stringMatching(message)]);
    expect(seen).toEqual([]);
  });

  it('is not named for what the handler slipped at', async () => {
    const slip = () => (undefined as unknown as { id: string }).id;
    const app = await start({
      providers: [Audit, failing(slip, UseGuards(Guard), UseInterceptors(Interceptor))],
    });
    await expect(app.failure('work', 1)).resolves.toMatchObject({ name: 'TypeError' });
    expect(app.about('isDqContext')).toEqual([]);
  });

  it('may stay, when it asks first', async () => {
    @Catch()
    class Careful implements ExceptionFilter {
      catch(error: unknown, host: ArgumentsHost): void {
        if (isDqContext(host)) throw error;
        host.switchToHttp().getResponse<{ end(): void }>().end();
      }
    }
    const app = await start({ providers: [failing(fail), { provide: APP_FILTER, useClass: Careful }] });
    await expect(app.failure('work', 1)).resolves.toMatchObject({ name: 'CustomerGone' });
    expect(app.about('isDqContext')).toEqual([]);
  });
});

describe('an outcome', () => {
  it('may come from a guard, and from a pipe', async () => {
    class Decide implements CanActivate, PipeTransform {
      canActivate(context: ExecutionContext): boolean {
        if (context.getArgByIndex(0) === 'guard') throw Discard.because('said the guard');
        return true;
      }
      transform(value: unknown): unknown {
        if (value === 'pipe') throw Discard.because('said the pipe');
        return value;
      }
    }
    const around = [UseGuards(Decide), UsePipes(Decide), UseFilters(Filter)];
    const app = await start({ providers: [Audit, failing(() => 'done', ...around)] });
    await expect(app.run('work', 'guard')).resolves.toMatchObject({ error: { message: 'said the guard' } });
    await expect(app.run('work', 'pipe')).resolves.toMatchObject({ why: 'discarded' });
    await expect(app.run('work', 'none')).resolves.toBeUndefined();
    expect(seen).toEqual([]);
  });

  it('may be what an interceptor makes of a result, and a failure may pass as success', async () => {
    const Interceptors = [
      UseInterceptors({
        intercept: (_: unknown, next: CallHandler) =>
          next.handle().pipe(map((text) => Discard.because(String(text)))),
      }),
      UseInterceptors({
        intercept: (_: unknown, next: CallHandler) => next.handle().pipe(catchError(() => of('fine'))),
      }),
    ];
    const made = await start({ providers: [failing(() => 'the result', Interceptors[0]!)] });
    await expect(made.run('work', 1)).resolves.toMatchObject({ error: { message: 'the result' } });
    const passed = await start({ providers: [failing(fail, Interceptors[1]!)] });
    await expect(passed.run('work', 1)).resolves.toBeUndefined();
  });

  it('of a filter ends what a ValidationPipe refused', async () => {
    @Catch(BadRequestException)
    class InvalidIsOver implements ExceptionFilter {
      catch(error: BadRequestException): Discard {
        const { message } = error.getResponse() as { message: string | string[] };
        return Discard.because([message].flat().join(', '));
      }
    }
    const app = await start({ providers: [Orders, { provide: APP_FILTER, useClass: InvalidIsOver }] });
    await expect(app.run('plain', { lines: [] })).resolves.toMatchObject({
      why: 'discarded',
      error: { message: 'id must be a string' },
    });
  });

  describe('that the handler returns stands', () => {
    const wrapper = {
      intercept: (_: unknown, next: CallHandler) => next.handle().pipe(map((data) => ({ data }))),
    };
    it.each<[string, Provider]>([
      ['wraps', { provide: APP_INTERCEPTOR, useValue: wrapper }],
      ['serializes', { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor }],
    ])('where an interceptor %s all that it gets', async (_how, interceptor) => {
      const outcomes = [
        Retry.after('1ms', new Error('busy')),
        Discard.because('never'),
        of('first', Discard.because('of an Observable')),
        Again.after('1ms'),
        Promise.resolve('done'),
      ];
      const app = await start({
        providers: [failing(() => seen.push('ran') && outcomes.shift()), interceptor],
      });
      await expect(app.run('work', 1)).resolves.toMatchObject({
        why: 'attempts',
        error: { message: 'busy' },
      });
      await expect(app.run('work', 1)).resolves.toMatchObject({
        why: 'discarded',
        error: { message: 'never' },
      });
      await expect(app.run('work', 1)).resolves.toMatchObject({ error: { message: 'of an Observable' } });
      expect(seen).toHaveLength(3);
      await expect(app.run('work', 1)).resolves.toBeUndefined();
      expect(seen).toHaveLength(5);
    });

    it('unless the interceptor throws, has an outcome of its own, or calls the handler again', async () => {
      const results = ['throw', 'own', 'again'].map((each) => Discard.because(each));
      const decide = (discard: Discard): unknown => {
        if (discard.reason === 'throw') throw new CustomerGone('said the interceptor');
        return discard.reason === 'own' ? Retry.after('1ms', new Error('its own')) : discard;
      };
      const app = await start({
        providers: [
          failing(
            () => results.shift() ?? 'fine',
            UseInterceptors({
              intercept: (_: unknown, next: CallHandler<Discard>) =>
                next
                  .handle()
                  .pipe(mergeMap((each) => (each.reason === 'again' ? next.handle() : of(decide(each))))),
            }),
          ),
        ],
      });
      await expect(app.failure('work', 1)).resolves.toMatchObject({ name: 'CustomerGone' });
      await expect(app.failure('work', 1)).resolves.toMatchObject({ message: 'its own' });
      await expect(app.run('work', 1)).resolves.toBeUndefined();
    });
  });
});

describe('an interceptor that gives up waiting', () => {
  it('ends the run, and asks the handler to stop; the next one waits until it has', async () => {
    let givenUp = new Subject<never>();
    let release = () => {};
    @Injectable()
    class Work {
      @UseInterceptors({
        intercept: (_: unknown, next: CallHandler) => merge(next.handle(), givenUp).pipe(take(1)),
      })
      @DelayedHandler('slow', { concurrency: 1 })
      async slow(name: string, { signal }: DelayedJob): Promise<void> {
        seen.push(`${name} begins`);
        signal.addEventListener('abort', () => seen.push((signal.reason as DqError).code));
        if (name === 'first') await new Promise<void>((resolve) => (release = resolve));
        seen.push(`${name} ends`);
      }
      @DelayedHandler('other')
      other(): void {}
    }
    const app = await start({ providers: [Work] });
    const letter = app.failure('slow', 'first');
    await eventually('the handler began', () => seen.length === 1);
    const first = givenUp;
    givenUp = new Subject();
    first.error(new CustomerGone('it takes too long'));
    await expect(letter).resolves.toMatchObject({ name: 'CustomerGone' });
    const second = app.failure('slow', 'second');
    await app.run('other', 1);
    release();
    await second;
    expect(seen).toEqual(['first begins', 'DQ_TIMEOUT', 'first ends', 'second begins', 'second ends']);
  });

  it('unsubscribes from an Observable, with which the handler has ended', async () => {
    const forever = new Observable(() => () => seen.push('ended'));
    const givesUp = { intercept: (_: unknown, next: CallHandler) => next.handle().pipe(timeout(1)) };
    const work = failing(() => forever, UseInterceptors(givesUp));
    const app = await start({ providers: [work] });
    await expect(app.failure('work', 1)).resolves.toMatchObject({ name: 'TimeoutError' });
    expect(seen).toEqual(['ended']);
  });
});

describe('an Observable that a handler returns', () => {
  it.each<[string, (ClassDecorator & MethodDecorator)[]]>([
    ['without enhancers', []],
    ['behind an interceptor', [UseInterceptors(new Interceptor(new Audit()))]],
  ])('runs to its end, and its last value counts, %s', async (_where, decorators) => {
    const result = of(1, 2, Discard.because('of the last value')).pipe(tap(() => seen.push('value')));
    const app = await start({ providers: [failing(() => result, ...decorators)] });
    await expect(app.run('work', 1)).resolves.toMatchObject({ error: { message: 'of the last value' } });
    expect(seen.filter((each) => each === 'value')).toHaveLength(3);
    const later = await start({ providers: [failing(async () => result, ...decorators)] });
    await expect(later.run('work', 1)).resolves.toMatchObject({ error: { message: 'of the last value' } });
    const empty = await start({ providers: [failing(() => EMPTY, ...decorators)] });
    await expect(empty.failure('work', 1)).resolves.toMatchObject({ name: 'EmptyError' });
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
