// The compose file and its Dockerfiles, read as texts: a Docker engine is not needed, and what can run without one is run.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { startBeanstalkd } from 'test-servers';
import { parse } from 'yaml';
import { OrderChanged } from '../sample-app/src/orders/order-changed.js';
import { readSettings } from '../sample-app/src/settings.js';

interface Service {
  readonly command?: string[];
  readonly environment?: Record<string, string>;
  readonly profiles?: string[];
  readonly depends_on?: Record<string, { readonly required?: boolean }>;
  readonly volumes?: string[];
  readonly ports?: string[];
  readonly stop_grace_period?: string;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
  readonly services: Record<string, Service>;
};
const beanstalkds = Object.keys(services).filter((name) => name.startsWith('beanstalkd'));
const app = services['sample-app']!;
const appDockerfile = read('sample-app/Dockerfile');

/** The arguments of an instruction of a Dockerfile, one entry per occurrence; continued lines are joined. */
function instructions(dockerfile: string, name: string): string[] {
  const lines = dockerfile.replaceAll(/\\\n\s*/g, ' ').split('\n');
  return lines.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));
}

describe('the compose file', () => {
  it.each(beanstalkds)('keeps the binlog of %s on its volume', (name) => {
    const { command = [], volumes = [] } = services[name]!;
    const folder = command[command.indexOf('-b') + 1];
    expect(volumes.map((volume) => volume.split(':')[1])).toEqual([folder]);
  });

  it('keeps what Redis and the application write on their volumes', () => {
    const folderOf = (name: string) => services[name]!.volumes!.map((volume) => volume.split(':')[1]);
    const [folder] = instructions(appDockerfile, 'WORKDIR').slice(-1);
    expect(folderOf('redis')).toEqual(['/data']);
    expect(folderOf('sample-app')).toEqual([join(folder!, 'data')]);
    expect(instructions(appDockerfile, 'RUN').at(-1)).toBe('mkdir data && chown node data'); // it is not root
  });

  it('has a Redis that persists everything and evicts nothing', () => {
    const settings = services.redis!.command!.join(' ');
    expect(settings).toContain('--appendonly yes');
    expect(settings).toContain('--maxmemory-policy noeviction');
  });

  it('gives the application the addresses of its servers', () => {
    const { jobs } = readSettings(app.environment!);
    const ports = beanstalkds.map((name) => {
      const command = services[name]!.command!;
      return `${name}:${command[command.indexOf('-p') + 1]}`;
    });
    expect(jobs).toEqual({ beanstalks: ports, redis: 'redis://redis:6379' });
  });

  it('starts Kafka only where it is asked for, and says how', () => {
    const kafka = ['kafka', 'kafka-topics'];
    expect(Object.keys(services).filter((name) => services[name]!.profiles)).toEqual(kafka);
    for (const name of kafka) expect(services[name]!.profiles).toEqual(['kafka']);
    expect(app.depends_on!['kafka-topics']!.required).toBe(false);
    const [, brokers] = /KQ_BROKERS=(\S+) docker compose --profile kafka up/.exec(
      read('docker-compose.yml'),
    )!;
    expect(services.kafka!.environment!.KAFKA_ADVERTISED_LISTENERS).toBe(`PLAINTEXT://${brokers}`);
    const given = (KQ_BROKERS: string) =>
      readSettings({
        ...app.environment,
        KQ_BROKERS: app.environment!.KQ_BROKERS!.replace('${KQ_BROKERS:-}', KQ_BROKERS),
      });
    expect(given(brokers!).messages.brokers).toEqual(['kafka:9092']);
    expect(given('').messages.brokers).toBe('memory');
  });

  it('has a topic for the stream of the application, on a broker that keeps it on its volume', () => {
    expect(services['kafka-topics']!.command).toContain(`--topic=${OrderChanged.name}`);
    const folders = services.kafka!.volumes!.map((volume) => volume.split(':')[1]);
    expect(folders).toEqual([services.kafka!.environment!.KAFKA_LOG_DIRS]);
  });

  it('opens its ports to this machine alone, since its dashboard lets everybody do everything', () => {
    const ports = Object.values(services).flatMap(({ ports = [] }) => ports);
    expect(ports).toEqual(['127.0.0.1:3000:3000']);
  });

  it('shows the call of the command line, which is in the image with all that it needs', () => {
    const [, path] = /exec sample-app node (\S+) doctor/.exec(read('docker-compose.yml'))!;
    const copied = instructions(appDockerfile, 'COPY').filter((line) => line.startsWith('--from=build'));
    const folders = copied.map((line) => line.split(' ').at(-1)!);
    expect(folders).toContain(dirname(path!));
    expect(existsSync(join(ROOT, 'sample-app', path!))).toBe(true);
    // Where the application finds its servers, the command does, too.
    expect(Object.keys(app.environment!)).toEqual(expect.arrayContaining(['DQ_BEANSTALKS', 'DQ_REDIS']));
  });

  it('stops the application later than it stops its handlers', () => {
    const [, seconds] = /^(\d+)s$/.exec(app.stop_grace_period!)!;
    expect(Number(seconds)).toBeGreaterThan(10); // the default of `shutdownTimeout`
  });
});

it("the application's Dockerfile runs node itself, which so gets SIGTERM", () => {
  const [command] = instructions(appDockerfile, 'CMD');
  expect((JSON.parse(command!) as string[])[0]).toBe('node');
});

it("the application's Dockerfile copies the package.json of every workspace, and nothing that is missing", () => {
  const { workspaces } = JSON.parse(read('package.json')) as { workspaces: string[] };
  const copied = instructions(appDockerfile, 'COPY')
    .filter((line) => !line.startsWith('--from'))
    .flatMap((line) => line.split(' ').slice(0, -1));
  for (const workspace of workspaces) expect(copied).toContain(`${workspace}/package.json`);
  expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

describe("beanstalkd's Dockerfile", () => {
  it('has a health check that expects an answer', async () => {
    const [check] = instructions(read('docker/beanstalkd/Dockerfile'), 'HEALTHCHECK');
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
