import type { AddressInfo, Server } from 'node:net';
import type { DynamicModule, INestApplication, LoggerService } from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { type Arguments, print } from 'nest-handlers/cli';
import { DqDashboardModule } from '../../dashboard/dashboard-module.js';
import { cannotListen } from '../../embedded/listen-options.js';
import { dqTokens } from '../../nest/tokens.js';
import type { DqRuntime } from '../../nest/runtime.js';
import { clusterCommand, type Connected } from '../cluster.js';
import { operator } from '../operator.js';
import { VERSION } from '../../fleet/version.js';
import { askedToEnd, note } from '../process.js';
import { Entrance } from './entrance.js';
import { DqError, toError } from '../../errors.js';

const HOST = '127.0.0.1';

/** Used once the server listens; until then, the command reports failures itself. */
const LOGGER: LoggerService = { log: () => undefined, warn: note, error: note };

/** The dashboard on its own, without an application. */
export const dashboard = clusterCommand({
  name: 'dashboard',
  writes: true,
  summary: 'Serve the dashboard on this machine until SIGINT, SIGTERM or SIGHUP.',
  about:
    'Prints a URL with a single-use token: only the first browser that opens it can use the dashboard.\n' +
    'Requires @nestjs/platform-express or @nestjs/platform-fastify, which applications usually have. Elsewhere, run:\n' +
    'npx -p nest-dq -p @nestjs/platform-express nest-dq dashboard',
  flags: {
    port: { value: 'PORT', help: `port to listen on, on ${HOST} (default 0: any free port)` },
    'read-only': { help: 'disable all actions; payloads are still shown' },
  },
  json: false,
  status: '0 stopped by a signal; 1 could not start',
  examples: ['nest-dq dashboard', 'nest-dq dashboard --port 0 --read-only'],
  run,
});

async function run(args: Arguments, { runtime }: Connected): Promise<void> {
  const port = args.count('port', 0, 65_535) ?? 0;
  const readOnly = args.has('read-only');
  const asked = askedToEnd();
  const entrance = new Entrance();
  const app = await NestFactory.create(moduleOf(runtime, entrance.path, readOnly), await loadHttpAdapter(), {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
  });
  try {
    app.use(entrance.admit);
    await app.init();
    const address = entrance.address(await listen(app, port));
    app.useLogger(LOGGER);
    await tellWhatIsAway(runtime, readOnly);
    print(`nest-dq ${VERSION} serves the dashboard to the first browser that opens ${address}\n`);
    await asked;
  } finally {
    await app.close();
  }
}

/** Doesn't use `DqModule`, which does an application's background work and would be visible to other processes. */
function moduleOf(runtime: DqRuntime, path: string, readOnly: boolean): DynamicModule {
  const by = operator();
  const access = () => ({ acts: 'all', payloads: true, by }) as const;
  return {
    module: class DashboardOnly {},
    imports: [DqDashboardModule.forRoot({ path, readOnly, access })],
    providers: [{ provide: dqTokens.of('runtime'), useValue: runtime }],
  };
}

/** Resolves with the port. Rejects with `DQ_LISTEN`. */
async function listen(app: INestApplication, port: number): Promise<number> {
  try {
    await app.listen(port, HOST);
  } catch (error) {
    throw cannotListen({ host: HOST, port }, error as NodeJS.ErrnoException);
  }
  const server = app.getHttpServer() as Server;
  return (server.address() as AddressInfo).port;
}

/** The page also shows what is down, for as long as it is. */
async function tellWhatIsAway({ health }: DqRuntime, readOnly: boolean): Promise<void> {
  const { nodes, redis } = (await health.check()).dq;
  for (const [node, state] of Object.entries(nodes)) {
    if (state !== 'up') note(`${node} is not up: ${state}`);
  }
  if (redis === 'up') return;
  const acts =
    '; cannot read the settings of the application, so acts use the defaults: restart this command once Redis is back';
  note(`Redis is down${readOnly ? '' : acts}`);
}

/** Maximum length of a path parameter, which is a tube's name. */
const LONGEST_PARAMETER = 600;

/** Optional peers: an application has one of them, and a folder without an application has none. */
const PLATFORMS: readonly (() => Promise<AbstractHttpAdapter>)[] = [
  async () => {
    const { ExpressAdapter } = await import('@nestjs/platform-express');
    return new ExpressAdapter();
  },
  async () => {
    const { FastifyAdapter } = await import('@nestjs/platform-fastify');
    return new FastifyAdapter({
      forceCloseConnections: true,
      routerOptions: { maxParamLength: LONGEST_PARAMETER },
    });
  },
];

/** Rejects with `DQ_CONFIG` if neither can be loaded. */
export async function loadHttpAdapter(): Promise<AbstractHttpAdapter> {
  const failures: string[] = [];
  for (const load of PLATFORMS) {
    try {
      return await load();
    } catch (thrown) {
      failures.push(toError(thrown).message);
    }
  }
  const needs =
    'the dashboard requires @nestjs/platform-express or @nestjs/platform-fastify, but neither can be loaded';
  const way = 'npx -p nest-dq -p @nestjs/platform-express nest-dq dashboard …';
  throw new DqError('DQ_CONFIG', `${needs} (${failures.join('; ')}): ${way}`);
}
