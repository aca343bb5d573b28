import { afterEach } from '@jest/globals';
import { Logger, type DynamicModule, type INestApplication, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DqModule, type DqOptions } from 'nest-dq';
import { DqDashboardModule, type DqDashboardExtras, type DqDashboardOptions } from 'nest-dq/dashboard';

export type Platform = 'express' | 'fastify';
export const PLATFORMS: readonly Platform[] = ['express', 'fastify'];

export interface Served {
  readonly platform?: Platform;
  readonly dashboard?: DqDashboardOptions & DqDashboardExtras;
  readonly dq?: DqOptions;
  /** Options of Fastify's adapter. */
  readonly fastify?: ConstructorParameters<typeof FastifyAdapter>[0];
  readonly providers?: Provider[];
  /** Modules in addition to nest-dq and its dashboard. */
  readonly imports?: DynamicModule[];
  /** Whether an Express application parses bodies. */
  readonly bodyParser?: boolean;
  /** Before it listens. */
  readonly prepare?: (app: INestApplication) => void;
}

/** The parts of an HTTP answer that specs look at. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined if the text is no JSON. */
  readonly json: any;
}

/** An application with a dashboard at /dq, which listens. */
export class ServedApp {
  private constructor(
    readonly app: INestApplication,
    /** Origin of the application. */
    readonly origin: string,
  ) {}

  static async start(served: Served = {}): Promise<ServedApp> {
    const {
      platform = 'express',
      dashboard,
      dq = { embedded: 'memory' },
      providers = [],
      imports = [],
    } = served;
    const module: DynamicModule = {
      module: class AppModule {},
      imports: [DqModule.forRoot(dq), DqDashboardModule.forRoot(dashboard), ...imports],
      providers,
    };
    Logger.overrideLogger(false);
    const options = { logger: false, abortOnError: false } as const;
    const app = await (platform === 'express'
      ? NestFactory.create(module, { ...options, bodyParser: served.bodyParser ?? true })
      : NestFactory.create(module, new FastifyAdapter(served.fastify), options));
    served.prepare?.(app);
    open.push(app);
    await app.listen(0, '127.0.0.1');
    return new ServedApp(app, await app.getUrl());
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answered> {
    return read(await fetch(this.origin + path, { headers, redirect: 'manual' }));
  }

  /** As the page posts it; other headers replace its own, and an empty one leaves it out. */
  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answered> {
    return read(await this.begin(path, body, headers));
  }

  begin(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const all = {
      'content-type': 'application/json',
      'x-nest-dq': '1',
      'sec-fetch-site': 'same-origin',
      ...headers,
    };
    const given = Object.entries(all).filter(([, value]) => value !== '');
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return fetch(this.origin + path, {
      method: 'POST',
      body: text,
      headers: Object.fromEntries(given),
    });
  }
}

const open: INestApplication[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((app) => app.close()));
});

async function read(response: Response): Promise<Answered> {
  const text = await response.text();
  const { status, headers } = response;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined; // a page, or nothing
  }
  return { status, headers, text, json };
}
