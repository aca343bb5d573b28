// An application with the dashboard on a free port, and jobs of its own.
import {
  Injectable,
  Module,
  VersioningType,
  type DynamicModule,
  type INestApplication,
  type Provider,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DelayedHandler, DqModule, DqProducer, Discard, type DqOptions } from 'nest-dq';
import { DqControl, DqDeadLetters, DqInspector } from 'nest-dq/operate';
import { DqDashboardModule } from 'nest-dq/dashboard';
import { eventually } from 'test-servers';
import { closedAfterEach } from '../support/suite.js';

/** A tube whose jobs run, and are given up with the text of their payload. */
export const GIVES_UP = 'mail.send';
/** A tube whose jobs run and end. */
export const ORDERS = 'order.cancel';

@Injectable()
class Work {
  readonly ran: unknown[] = [];

  @DelayedHandler(GIVES_UP)
  giveUp({ because }: { because: string }): Discard {
    return Discard.because(because);
  }

  @DelayedHandler(ORDERS)
  cancel(payload: unknown): void {
    this.ran.push(payload);
  }
}

export interface DashboardAppOptions {
  readonly platform?: 'express' | 'fastify';
  /** The global prefix of its routes. @default none */
  readonly prefix?: string;
  /** Whether its routes have a version in their address. @default false */
  readonly versioned?: boolean;
  readonly dashboard?: NonNullable<Parameters<typeof DqDashboardModule.forRoot>[0]>;
  /** Where its jobs are. @default in memory */
  readonly jobs?: DqOptions;
  /** Its other providers. @default none */
  readonly providers?: Provider[];
  /** Modules in addition to nest-dq and its dashboard. @default none */
  readonly imports?: DynamicModule[];
}

export class DashboardApp {
  private constructor(
    private readonly nest: INestApplication,
    /** Address of the dashboard. */
    readonly url: string,
  ) {}

  static async start(options: DashboardAppOptions = {}): Promise<DashboardApp> {
    const { platform = 'express', prefix, dashboard = {}, jobs = { embedded: 'memory' } } = options;
    const { providers = [], imports = [], versioned = false } = options;
    @Module({
      imports: [DqModule.forRoot(jobs), DqDashboardModule.forRoot(dashboard), ...imports],
      providers: [Work, ...providers],
    })
    class AppModule {}
    const nest = await NestFactory.create(
      AppModule,
      platform === 'fastify' ? new FastifyAdapter() : new ExpressAdapter(),
      { logger: false, forceCloseConnections: true },
    );
    if (prefix !== undefined) nest.setGlobalPrefix(prefix);
    if (versioned) nest.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });
    await nest.listen(0, '127.0.0.1');
    const path = [prefix, dashboard.path?.replace(/^\//, '') ?? 'dq'].filter((part) => part !== undefined);
    return new DashboardApp(nest, `${await nest.getUrl()}/${path.join('/')}`);
  }

  get<T>(type: abstract new (...given: never[]) => T): T {
    return this.nest.get(type);
  }

  get producer(): DqProducer {
    return this.nest.get(DqProducer);
  }

  get control(): DqControl {
    return this.nest.get(DqControl);
  }

  get inspector(): DqInspector {
    return this.nest.get(DqInspector);
  }

  get letters(): DqDeadLetters {
    return this.nest.get(DqDeadLetters);
  }

  /** The payloads of the jobs that ran. */
  get ran(): readonly unknown[] {
    return this.nest.get(Work).ran;
  }

  /** Adds a job that is given up, and waits until it is a dead letter. */
  async addDead(because: string, key?: string): Promise<void> {
    const receipt = await this.producer.now(GIVES_UP, { because }, key === undefined ? {} : { key });
    await eventually(
      'the job is dead',
      async () => (await this.producer.find(receipt.ref))?.state === 'dead',
    );
  }

  /** The page with this address behind the #. */
  at(path: string, query?: Readonly<Record<string, string>>): string {
    return `${this.url}/#/${path}${query ? `?${new URLSearchParams(query).toString()}` : ''}`;
  }

  /** Cuts the connections of all current viewers. */
  cutConnections(): void {
    this.nest.getHttpServer().closeAllConnections();
  }

  close(): Promise<void> {
    return this.nest.close();
  }
}

/** Call it at the top of a spec file. What a test starts is closed after it. */
export function dashboardApps(): (options?: DashboardAppOptions) => Promise<DashboardApp> {
  const open = closedAfterEach<DashboardApp>();
  return async (options) => {
    const app = await DashboardApp.start(options);
    open.push(app);
    return app;
  };
}
