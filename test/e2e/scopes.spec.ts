import { afterEach, describe, expect, it } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  Controller,
  Inject,
  Injectable,
  Module,
  Scope,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type ModuleMetadata,
  type NestInterceptor,
} from '@nestjs/common';
import {
  APP_GUARD,
  ContextIdFactory,
  ModuleRef,
  REQUEST,
  type ContextId,
  type HostComponentInfo,
} from '@nestjs/core';
import { DelayedHandler, DelayedJob, DqProducer } from 'nest-dq';
import { eventually } from 'test-servers';
import { enhancedApps } from '../support/enhanced.js';

const start = enhancedApps();
let seen: unknown[] = [];
afterEach(() => {
  seen = [];
});

/** Shared by everything that runs for one job. */
@Injectable({ scope: Scope.REQUEST })
class Unit {
  constructor(@Inject(REQUEST) readonly job: DelayedJob<string>) {}
}

@Injectable()
class Repo {
  constructor(readonly unit: Unit) {}
}

@Injectable()
class Orders {
  constructor(
    readonly unit: Unit,
    readonly repo: Repo,
  ) {}

  @DelayedHandler('order')
  run(payload: string, job: DelayedJob): void {
    seen.push([payload, this.unit.job === job, this.unit === this.repo.unit, this]);
  }
}

const ranWith = (payload: string) => [payload, true, true, expect.anything()];

describe('a request-scoped handler', () => {
  it.each<[string, ModuleMetadata]>([
    ['a class', { providers: [Orders, Unit, Repo] }],
    ['a class with another token', { providers: [{ provide: 'orders', useClass: Orders }, Unit, Repo] }],
    ['a controller', { controllers: [Controller()(Orders) ?? Orders], providers: [Unit, Repo] }],
  ])('is created for each job, which is the request: %s', async (_as, metadata) => {
    const app = await start(metadata);
    await app.run('order', 'first');
    await app.run('order', 'second');
    expect(seen).toEqual([ranWith('first'), ranWith('second')]);
    const [first, second] = seen as unknown[][];
    expect(first![3]).not.toBe(second![3]);
    expect(first![3]).toBeInstanceOf(Orders);
  });

  it('shares its instances with all who ask Nest for the context of the job', async () => {
    @Injectable()
    class Recipe {
      constructor(
        readonly unit: Unit,
        readonly moduleRef: ModuleRef,
      ) {}

      @DelayedHandler('recipe')
      async run(_: string, job: DelayedJob): Promise<void> {
        const context = ContextIdFactory.getByRequest(job);
        const unit = await this.moduleRef.resolve(Unit, context, { strict: false });
        seen.push([unit === this.unit, unit.job === job]);
      }
    }
    const app = await start({ providers: [Recipe, Unit] });
    await app.run('recipe', 'first');
    await app.run('recipe', 'second');
    expect(seen).toEqual([
      [true, true],
      [true, true],
    ]);
  });

  it('is of the module that it was found in, although another has the same token', async () => {
    const feature = (name: string) => {
      @Injectable({ scope: Scope.REQUEST })
      class Handler {
        @DelayedHandler(name)
        run(): void {
          seen.push(name);
        }
      }
      @Module({ providers: [{ provide: 'handler', useClass: Handler }] })
      class Feature {}
      return Feature;
    };
    const app = await start({ imports: [feature('first'), feature('second')] });
    await app.run('first', 1);
    await app.run('second', 1);
    expect(seen).toEqual(['first', 'second']);
  });

  it('fails the attempt when it cannot be created', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Broken {
      constructor() {
        throw new Error('no connection');
      }
      @DelayedHandler('broken')
      run(): void {}
    }
    const app = await start({ providers: [Broken] });
    await expect(app.failure('broken', 1)).resolves.toEqual({ name: 'Error', message: 'no connection' });
  });

  it('is refused when it is transient', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient {
      @DelayedHandler('transient')
      run(): void {}
    }
    await expect(start({ providers: [Transient] })).rejects.toThrow(
      /DQ_CONFIG: Transient\.run .*is transient/,
    );
  });
});

describe('a request-scoped guard or interceptor', () => {
  @Injectable({ scope: Scope.REQUEST })
  class Guard implements CanActivate {
    constructor(@Inject(REQUEST) private readonly job: DelayedJob) {}
    canActivate(context: ExecutionContext): boolean {
      seen.push(['guard', this.job === context.getArgByIndex(1)]);
      return this.job.payload !== 'deny';
    }
  }
  @Injectable()
  class Interceptor implements NestInterceptor {
    constructor(private readonly unit: Unit) {}
    intercept(context: ExecutionContext, next: CallHandler) {
      seen.push(['interceptor', this.unit.job === context.getArgByIndex(1)]);
      return next.handle();
    }
  }

  it('works around a handler that is none itself', async () => {
    @Injectable()
    class Work {
      @UseGuards(Guard)
      @UseInterceptors(Interceptor)
      @DelayedHandler('work')
      run(payload: string): void {
        seen.push(payload);
      }
    }
    const app = await start({ providers: [Work, Unit] });
    await app.run('work', 'a');
    expect(seen).toEqual([['guard', true], ['interceptor', true], 'a']);
    await expect(app.failure('work', 'deny')).resolves.toMatchObject({ name: 'ForbiddenException' });
  });

  it('works globally, around a handler that shares its request', async () => {
    @Injectable()
    @UseInterceptors(Interceptor)
    class Work extends Orders {}
    const app = await start({
      providers: [Work, Unit, Repo, { provide: APP_GUARD, useClass: Guard, scope: Scope.REQUEST }],
    });
    await app.run('order', 'a');
    expect(seen).toEqual([['guard', true], ['interceptor', true], ranWith('a')]);
  });
});

/** One durable tree for each tenant, of requests and jobs alike: both have headers. */
class ByTenant {
  private readonly tenants = new Map<string, ContextId>();

  attach(contextId: ContextId, request: { headers: Record<string, string> }) {
    const tenant = request.headers['x-tenant'] ?? 'nobody';
    const ofTenant = this.tenants.get(tenant) ?? ContextIdFactory.create();
    this.tenants.set(tenant, ofTenant);
    return {
      resolve: ({ isTreeDurable }: HostComponentInfo) => (isTreeDurable ? ofTenant : contextId),
      payload: { tenant },
    };
  }
}

describe('a durable tree', () => {
  afterEach(() => ContextIdFactory.apply(undefined as never));

  @Injectable({ scope: Scope.REQUEST, durable: true })
  class Database {
    constructor(@Inject(REQUEST) readonly request: { tenant?: string }) {}
  }
  @Injectable()
  class Report {
    constructor(readonly database: Database) {}

    @DelayedHandler('report')
    run(): void {
      seen.push([this.database.request, this.database]);
    }
  }

  it('is one for each tenant, and gets what the strategy says instead of a job', async () => {
    ContextIdFactory.apply(new ByTenant());
    const app = await start({ providers: [Database, Report] });
    for (const tenant of ['acme', 'globex', 'acme']) await app.run('report', 1, { 'x-tenant': tenant });
    const [first, second, third] = seen as [unknown, Database][];
    expect([first, second, third].map((each) => each![0])).toEqual([
      { tenant: 'acme' },
      { tenant: 'globex' },
      { tenant: 'acme' },
    ]);
    expect(third![1]).toBe(first![1]);
    expect(second![1]).not.toBe(first![1]);
  });

  it('never gets a job, which it would outlive, if the strategy says nothing', async () => {
    const strategy = new ByTenant();
    ContextIdFactory.apply({ attach: (id, request) => strategy.attach(id, request as never).resolve });
    const app = await start({ providers: [Database, Report] });
    await app.run('report', 1, { 'x-tenant': 'acme' });
    expect(seen).toEqual([[undefined, expect.any(Database)]]);
  });

  it('may be a part of what is made for each job', async () => {
    @Injectable()
    class Mixed {
      constructor(
        readonly database: Database,
        readonly unit: Unit,
      ) {}
      @DelayedHandler('mixed')
      run(payload: string, job: DelayedJob): void {
        seen.push([payload, this.database.request, this.unit.job === job, this.database]);
      }
    }
    ContextIdFactory.apply(new ByTenant());
    const app = await start({ providers: [Database, Unit, Mixed] });
    for (const payload of ['a', 'b']) await app.run('mixed', payload, { 'x-tenant': 'acme' });
    const [first, second] = seen as unknown[][];
    expect(first!.slice(0, 3)).toEqual(['a', { tenant: 'acme' }, true]);
    expect(second!.slice(0, 3)).toEqual(['b', { tenant: 'acme' }, true]);
    expect(second![3]).toBe(first![3]);
  });

  it('is made for each job without a strategy, and the job is the request', async () => {
    const app = await start({ providers: [Database, Report] });
    await app.run('report', 'a');
    await app.run('report', 'b');
    expect((seen as [DelayedJob, unknown][]).map(([job]) => job.payload)).toEqual(['a', 'b']);
  });
});

describe('what was made for a job', () => {
  it('is let go once the job is done', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const made: WeakRef<object>[] = [];
    @Injectable({ scope: Scope.REQUEST })
    class Heavy {
      constructor(@Inject(REQUEST) readonly job: DelayedJob) {
        made.push(new WeakRef(this), new WeakRef(job));
      }
    }
    @Injectable()
    class Guard implements CanActivate {
      constructor(readonly heavy: Heavy) {
        made.push(new WeakRef(this));
      }
      canActivate(): boolean {
        return true;
      }
    }
    let ran = 0;
    @Injectable()
    class Work {
      constructor(readonly heavy: Heavy) {
        made.push(new WeakRef(this));
      }
      @UseGuards(Guard)
      @DelayedHandler('work')
      run(): void {
        ran++;
        if (ran % 10 === 0) throw new Error('each tenth fails');
      }
    }
    const app = await start({ providers: [Heavy, Work] });
    const dq = app.get(DqProducer);
    await dq.addMany(
      'work',
      Array.from({ length: 300 }, () => ({ payload: 1, delay: 0 })),
    );
    await eventually('all ran', () => ran === 300);
    expect(made).toHaveLength(4 * 300);
    await eventually('nearly all are gone', () => {
      collect();
      return made.filter((each) => each.deref() !== undefined).length < 100;
    });
  });
});
