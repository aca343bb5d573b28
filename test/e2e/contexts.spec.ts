import { describe, expect, it } from '@jest/globals';
import {
  Injectable,
  type CanActivate,
  type ExecutionContext,
  UseGuards,
  type INestApplicationContext,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClsModule, ClsService, type ClsStore } from 'nestjs-cls';
import { DelayedHandler, DelayedJob, DqModule, DqProducer, isDqContext, type DqHooks } from 'nest-dq';
import { eventually } from 'test-servers';
import { closedAfterEach } from '../support/suite.js';

interface TenantStore extends ClsStore {
  tenant?: string;
}

/** The tenant of the request that scheduled a job, there again while it runs. */
const carryTenant = (cls: ClsService<TenantStore>): DqHooks => ({
  onSchedule: (headers) => {
    const tenant = cls.get('tenant');
    if (tenant !== undefined) headers['tenant'] = tenant;
  },
  aroundHandler: (job, next) => cls.runWith({ tenant: job.headers['tenant'] }, next),
});

@Injectable()
class TenantGuard implements CanActivate {
  static readonly seen: unknown[] = [];

  constructor(private readonly cls: ClsService<TenantStore>) {}

  canActivate(context: ExecutionContext): boolean {
    TenantGuard.seen.push([isDqContext(context), this.cls.get('tenant')]);
    return true;
  }
}

@Injectable()
class Invoices {
  readonly seen: unknown[] = [];

  constructor(
    readonly dq: DqProducer,
    private readonly cls: ClsService<TenantStore>,
  ) {}

  @DelayedHandler('invoice.send')
  @UseGuards(TenantGuard)
  async send(number: string, job: DelayedJob): Promise<void> {
    await Promise.resolve();
    this.seen.push([number, this.cls.get('tenant'), job.headers]);
    if (number === 'first') await this.dq.now('invoice.send', 'second');
  }
}

const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };
const apps = closedAfterEach<INestApplicationContext>();

async function start(...hooks: DqHooks[]) {
  class Shop {}
  const dq = DqModule.forRootAsync({
    inject: [ClsService],
    useFactory: (cls: ClsService<TenantStore>) => ({ hooks: [carryTenant(cls), ...hooks], logger: quiet }),
  });
  const app = await NestFactory.createApplicationContext(
    { module: Shop, imports: [ClsModule.forRoot({ global: true }), dq], providers: [Invoices, TenantGuard] },
    { logger: false },
  );
  apps.push(app);
  return { cls: app.get<ClsService<TenantStore>>(ClsService), invoices: app.get(Invoices) };
}

describe('the hooks', () => {
  it('carry the context of nestjs-cls to the handler, its guards, and what it schedules', async () => {
    TenantGuard.seen.length = 0;
    const { cls, invoices } = await start();
    await cls.runWith({ tenant: 'acme' }, () =>
      invoices.dq.now('invoice.send', 'first', { headers: { a: 'b' } }),
    );
    await eventually('both ran', () => invoices.seen.length === 2);
    expect(invoices.seen).toEqual([
      ['first', 'acme', { a: 'b', tenant: 'acme' }],
      ['second', 'acme', { tenant: 'acme' }],
    ]);
    expect(TenantGuard.seen).toEqual([
      [true, 'acme'],
      [true, 'acme'],
    ]);
  });

  it('keep the contexts of jobs apart, and leave out empty ones', async () => {
    const { cls, invoices } = await start();
    const tenants = Array.from({ length: 50 }, (_, i) => `t${i}`);
    const { dq } = invoices;
    await Promise.all(tenants.map((tenant) => cls.runWith({ tenant }, () => dq.now('invoice.send', tenant))));
    await dq.now('invoice.send', 'none');
    await eventually('all ran', () => invoices.seen.length === 51);
    for (const tenant of tenants) expect(invoices.seen).toContainEqual([tenant, tenant, { tenant }]);
    expect(invoices.seen).toContainEqual(['none', undefined, {}]);
  });

  it('carry it in many adds of one call', async () => {
    const { cls, invoices } = await start();
    const jobs = ['a', 'b'].map((payload) => ({ payload, delay: 0 }));
    await cls.runWith({ tenant: 'acme' }, () => invoices.dq.addMany('invoice.send', jobs, { results: true }));
    await eventually('both ran', () => invoices.seen.length === 2);
    expect(invoices.seen).toContainEqual(['a', 'acme', { tenant: 'acme' }]);
    expect(invoices.seen).toContainEqual(['b', 'acme', { tenant: 'acme' }]);
  });

  it('surround a handler in their order', async () => {
    const steps: string[] = [];
    const hook = (name: string): DqHooks => ({
      aroundHandler: async (_job, next) => {
        steps.push(`${name} in`);
        await next();
        steps.push(`${name} out`);
      },
    });
    const { invoices } = await start(hook('outer'), hook('inner'));
    await invoices.dq.now('invoice.send', 'one');
    await eventually('it ran', () => steps.length === 4);
    expect(steps).toEqual(['outer in', 'inner in', 'inner out', 'outer out']);
  });

  it('fail an add with what they throw, and with a header that is no string', async () => {
    const throwing: DqHooks = {
      onSchedule: (headers, { tube, key }) => {
        if (key === 'bad') throw new Error(`no tenant for ${tube}`);
        if (key === 'number') Object.assign(headers, { tenant: 5 });
      },
    };
    const { invoices } = await start(throwing);
    const { dq } = invoices;
    await expect(dq.now('invoice.send', 'x', { key: 'bad' })).rejects.toThrow(
      /DQ_BAD_OPTION: the `onSchedule` of a hook failed: no tenant for invoice.send/,
    );
    await expect(dq.now('invoice.send', 'x', { key: 'number' })).rejects.toThrow(
      /DQ_BAD_OPTION: the header `tenant` is 5/,
    );
    const [one, two] = await dq.addMany(
      'invoice.send',
      [
        { payload: 'x', delay: 0, key: 'bad' },
        { payload: 'y', delay: 0 },
      ],
      { results: true },
    );
    expect([one!.error?.code, two!.receipt?.status]).toEqual(['DQ_BAD_OPTION', 'added']);
  });

  it('receive the cluster, its load, and its end', async () => {
    const received: unknown[] = [];
    const { invoices } = await start({
      onStart: ({ name, events, load }) => {
        received.push(name);
        events.on('completed').subscribe(({ job }) => received.push([job.payload, load().tubes]));
        return () => received.push('end');
      },
    });
    await invoices.dq.now('invoice.send', 'one');
    await eventually('it ran', () => received.length === 2);
    await apps.pop()!.close();
    expect(received).toEqual([undefined, ['one', [{ tube: 'invoice.send', running: 0, held: 0 }]], 'end']);
  });
});
