// The compose file and its Dockerfiles, read as texts: a Docker engine is not needed, and what can run without one is run.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { startBeanstalkd } from 'test-servers';
import { parse } from 'yaml';
import { readSettings } from '../sample-app/src/settings.js';

interface Service {
  readonly image?: string;
  readonly build?: string | { readonly context: string; readonly dockerfile: string };
  readonly command?: string[];
  readonly environment?: Record<string, string>;
  readonly volumes?: string[];
  readonly healthcheck?: { readonly test: string[] };
  readonly depends_on?: Record<string, { readonly condition: string }>;
  readonly stop_grace_period?: string;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const compose = parse(read('docker-compose.yml'), { merge: true }) as {
  readonly services: Record<string, Service>;
  readonly volumes: Record<string, unknown>;
};
const { services } = compose;
const beanstalkds = Object.keys(services).filter((name) => name.startsWith('beanstalkd'));
const app = services['sample-app']!;
const redis = services.redis!;
const appDockerfile = read('sample-app/Dockerfile');
const beanstalkdDockerfile = read('docker/beanstalkd/Dockerfile');

/** What follows an instruction of a Dockerfile, each time it stands there; continued lines are one. */
function instructions(dockerfile: string, name: string): string[] {
  const lines = dockerfile.replaceAll(/\\\n\s*/g, ' ').split('\n');
  return lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
}

/** The container's side of `volume:/path`. */
const mountOf = (service: Service) => service.volumes?.map((volume) => volume.split(':')[1]);

describe('the compose file', () => {
  it('has three beanstalkds, a Redis and the sample application', () => {
    expect(Object.keys(services)).toEqual([
      'beanstalkd-1',
      'beanstalkd-2',
      'beanstalkd-3',
      'redis',
      'sample-app',
    ]);
  });

  it('gives each server and the application a named volume of its own, and declares no other', () => {
    const used = [...beanstalkds, 'redis', 'sample-app'].map(
      (name) => services[name]?.volumes?.[0]?.split(':')[0],
    );
    expect(new Set(used).size).toBe(5);
    expect(new Set(Object.keys(compose.volumes))).toEqual(new Set(used));
  });

  it.each(beanstalkds)('keeps the binlog of %s on its volume', (name) => {
    const { command = [], ...service } = services[name]!;
    const folder = command[command.indexOf('-b') + 1];
    expect(command).toContain('-b');
    expect(mountOf(service)).toEqual([folder]);
    expect(instructions(beanstalkdDockerfile, 'VOLUME')).toEqual([folder]);
  });

  it('has a Redis that writes all down and evicts nothing', () => {
    const settings = redis.command!.join(' ');
    expect(redis.image).toBe('redis:7');
    expect(settings).toContain('--appendonly yes');
    expect(settings).toContain('--maxmemory-policy noeviction');
    expect(mountOf(redis)).toEqual(['/data']);
  });

  it('tells the application where its servers listen', () => {
    const { jobs } = readSettings(app.environment!);
    const ports = beanstalkds.map((name) => {
      const command = services[name]!.command!;
      return `${name}:${command[command.indexOf('-p') + 1]}`;
    });
    expect(jobs).toEqual({ beanstalks: ports, redis: 'redis://redis:6379' });
  });

  it('keeps what the application writes, where it may write', () => {
    const folder = instructions(appDockerfile, 'WORKDIR').at(-1)!;
    expect(mountOf(app)).toEqual([join(folder, 'data')]);
    expect(instructions(appDockerfile, 'RUN').at(-1)).toBe('mkdir data && chown node data');
  });

  it('starts the application when all servers are healthy', () => {
    const healthy = [...beanstalkds, 'redis'].map((name) => [name, { condition: 'service_healthy' }]);
    expect(app.depends_on).toEqual(Object.fromEntries(healthy));
    expect(redis.healthcheck?.test).toEqual(['CMD', 'redis-cli', 'ping']);
    expect(instructions(beanstalkdDockerfile, 'HEALTHCHECK')).toHaveLength(1);
  });

  it('stops the application later than it stops its handlers', () => {
    const [, seconds] = /^(\d+)s$/.exec(app.stop_grace_period!)!;
    expect(Number(seconds)).toBeGreaterThan(10); // the default of `drainLimit`
  });

  it('builds from Dockerfiles that exist', () => {
    const files = Object.values(services).flatMap(({ build }) => {
      if (build === undefined) return [];
      return typeof build === 'string'
        ? [join(build, 'Dockerfile')]
        : [join(build.context, build.dockerfile)];
    });
    expect(new Set(files)).toEqual(new Set(['docker/beanstalkd/Dockerfile', 'sample-app/Dockerfile']));
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });
});

describe("the application's Dockerfile", () => {
  it('copies the package.json of every workspace, and nothing that is missing', () => {
    const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] };
    const copied = instructions(appDockerfile, 'COPY')
      .filter((line) => !line.startsWith('--from'))
      .flatMap((line) => line.split(' ').slice(0, -1));
    for (const workspace of workspaces) expect(copied).toContain(`${workspace}/package.json`);
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('runs node itself, so that it gets SIGTERM, and not as root', () => {
    expect(instructions(appDockerfile, 'CMD')).toEqual(['["node", "--enable-source-maps", "dist/main.js"]']);
    expect(instructions(appDockerfile, 'USER')).toEqual(['node']);
  });

  it('is built without what other machines have installed or built', () => {
    const ignored = read('.dockerignore').split('\n');
    expect(ignored).toEqual(expect.arrayContaining(['**/node_modules', '**/dist', '.git', '.nx']));
  });
});

describe("beanstalkd's Dockerfile", () => {
  it('has a health check that wants an answer', async () => {
    const [check] = instructions(beanstalkdDockerfile, 'HEALTHCHECK');
    const [program, ...args] = JSON.parse(check!.slice(check!.indexOf('['))) as string[];
    const server = await startBeanstalkd();
    const isHealthy = () => {
      const here = args.map((arg) => arg.replace('11300', String(server.port)));
      return spawnSync(program!, here).status === 0;
    };
    try {
      expect(isHealthy()).toBe(true);
      server.freeze();
      expect(isHealthy()).toBe(false);
      await server.kill();
      expect(isHealthy()).toBe(false);
    } finally {
      await server.stop();
    }
  }, 30_000);
});
