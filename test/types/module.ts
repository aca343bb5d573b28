// Code that must compile and code that must not, checked by `tsc` alone: a line below `@ts-expect-error` that compiles is an error itself.
import { Module } from '@nestjs/common';
import type { HealthIndicatorResult } from '@nestjs/terminus';
import { Cluster, Redis } from 'ioredis';
import {
  DelayedJob,
  DqConsumer,
  DqEvents,
  DqHealth,
  DqModule,
  OnDq,
  InjectDq,
  getDqToken,
  type DqErrorCode,
  type DqEventMap,
  type DqEventName,
  type DqHealthState,
  type DqHooks,
  type DqModuleAsyncOptions,
  type DqOptions,
  type DqOptionsFactory,
} from 'nest-dq';
import type { DqClusterView, DqLoad } from 'nest-dq/operate';
import { EmbeddedNode, type EmbeddedNodeOptions, type ListenAddress } from 'nest-dq/embedded';
import { openTelemetry } from 'nest-dq/opentelemetry';
import { type Equal, holds } from './tubes.js';

// ── operating ──

export class Watching {
  @OnDq('failed')
  failed({ error, retryAt }: { error: Error; retryAt?: Date }): string {
    return error.message + String(retryAt?.getTime());
  }

  @OnDq('dead', { cluster: 'mails' })
  async dead({ letter }: DqEventMap['dead']): Promise<string> {
    return letter.why;
  }

  @OnDq('started')
  none(): void {}

  // @ts-expect-error another event's
  @OnDq('scheduled')
  another(_event: DqEventMap['started']): void {}

  // @ts-expect-error no such event
  @OnDq('finished')
  unknown(): void {}

  // @ts-expect-error no such option
  @OnDq('dead', { tube: 'order.cancel' })
  option(): void {}
}

export function watch(events: DqEvents): void {
  events.on('completed').subscribe(({ job, took, result }) => {
    holds<Equal<typeof took, number>>();
    holds<Equal<typeof result, unknown>>();
    return job.id;
  });
  const name = 'late' as DqEventName;
  events.on(name).subscribe();
  // @ts-expect-error no such event
  events.on('finished');
}

export async function healthOf(health: DqHealth): Promise<DqHealthState> {
  const { dq } = await health.check();
  const { jobs } = await health.check('jobs');
  // @ts-expect-error another key
  const { queue } = await health.check('jobs');
  // @ts-expect-error no such status
  return dq.status === 'degraded' ? (queue as DqHealthState) : jobs;
}
/** Terminus takes it, without an import of ours. */
export const indicator = (health: DqHealth): Promise<HealthIndicatorResult> => health.check();

export const hooks: DqHooks[] = [
  openTelemetry(),
  {
    onSchedule: (headers, { tube, key }) => {
      headers['tenant'] = `${tube} ${key}`;
    },
    aroundHandler: (job, next) => (job.headers['tenant'] ? next() : undefined),
    onStart: ({ load }: DqClusterView) => {
      const { owed }: DqLoad = load();
      return () => void owed;
    },
  },
  {
    // @ts-expect-error headers are texts
    onSchedule: (headers) => (headers['tenant'] = 5),
  },
  {
    // @ts-expect-error misspelt
    onschedule: () => undefined,
  },
];

// ── the module ──

class Config implements DqOptionsFactory {
  createDqOptions(): DqOptions {
    return {};
  }
}

const NODES = ['a:1', 'b:1'] as const;

/** As an application's own helper passes them on. */
export const named = (options: DqModuleAsyncOptions) => DqModule.forRootAsync({ ...options, name: 'fifth' });

@Module({
  imports: [
    DqModule.forRoot(),
    DqModule.forRoot({ beanstalks: NODES, redis: 'redis://a' }),
    DqModule.forRoot({ isGlobal: false, advanced: { lease: '15s' }, handlers: { concurrency: 3 } }),
    DqModule.forRoot({ beanstalks: ['a:1'], redis: 'redis://a' }),
    DqModule.forRoot({ beanstalks: ['a:1'], redis: { host: 'a', password: 'b' } }),
    DqModule.forRoot({ beanstalks: ['a:1'], redis: new Redis({ lazyConnect: true }) }),
    DqModule.forRoot({ beanstalks: ['a:1'], redis: new Cluster(['a'], { lazyConnect: true }) }),
    DqModule.forRootAsync({ useClass: Config }),
    DqModule.forRootAsync({ useExisting: Config, isGlobal: false }),
    DqModule.forRootAsync({ inject: [Config], useFactory: (config: Config) => config.createDqOptions() }),
    DqModule.forRootAsync({ useFactory: async () => ({ prefix: 'a' }) }),
    // @ts-expect-error there is no such option
    DqModule.forRoot({ replica: 2 }),
    DqModule.forRoot({ name: 'second' }),
    DqModule.forRootAsync({ name: 'third', useFactory: () => ({}) }),
    DqModule.forRoot({ logLevels: { retries: 'debug', discards: 'off' } }),
    // @ts-expect-error there is no such level
    DqModule.forRoot({ logLevels: { retries: 'warning' } }),
    // @ts-expect-error nothing of that name is logged
    DqModule.forRoot({ logLevels: { nodes: 'warn' } }),
    // @ts-expect-error handlers name their cluster themselves
    DqModule.forRoot({ handlers: { cluster: 'second' } }),
    // @ts-expect-error the name belongs next to the factory
    DqModule.forRootAsync({ useFactory: () => ({ name: 'fourth' }) }),
    DqModule.forRoot({ embedded: { dir: '/var/lib/dq' } }),
    DqModule.forRoot({ embedded: 'memory' }),
    // @ts-expect-error a folder is given by `dir`
    DqModule.forRoot({ embedded: '/var/lib/dq' }),
    // @ts-expect-error there is no such option of the embedded node
    DqModule.forRoot({ embedded: { path: '/var/lib/dq' } }),
    // @ts-expect-error options belong in what the factory returns
    DqModule.forRootAsync({ useFactory: () => ({}), patience: '15s' }),
    // @ts-expect-error the class has no createDqOptions
    DqModule.forRootAsync({ useClass: OfController }),
  ],
})
export class App {}

/** A client of the application's own ioredis, of another major version: only its shape is known to us. */
class AnotherRedis {
  private readonly secret = 1;
  readonly status: string = 'ready';
  duplicate(override?: { db?: number }): AnotherRedis {
    return override ? this : new AnotherRedis();
  }
  protected reveal(): number {
    return this.secret;
  }
}
DqModule.forRoot({ beanstalks: ['a:1'], redis: new AnotherRedis() });

export const tokens = [getDqToken(), getDqToken('mails'), getDqToken('mails', DqConsumer)];
// @ts-expect-error nothing that is injected
getDqToken('mails', DelayedJob);
// @ts-expect-error a cluster without a name needs no decorator
InjectDq();

// ── the embedded node on its own ──

export async function serve(options: EmbeddedNodeOptions): Promise<ListenAddress> {
  const node = await EmbeddedNode.open(options);
  node.dial().write('stats\r\n');
  await node.listen();
  // @ts-expect-error a port is a number
  await node.listen({ port: '11300' });
  return node.listen({ port: 0, host: '::1', maxConnections: 10 });
}
// @ts-expect-error a node is opened, which may take its time
new EmbeddedNode();

// ── errors ──

const code: DqErrorCode = 'DQ_CONFIG';
// @ts-expect-error no such code
const noCode: DqErrorCode = 'DQ_OTHER';
export const codes = [code, noCode];
