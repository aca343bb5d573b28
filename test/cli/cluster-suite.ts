import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, jest } from '@jest/globals';
import { Discard } from 'nest-dq/src/api/outcome.js';
import type { DqOptions } from 'nest-dq/src/nest/options.js';
import { eventually } from 'test-servers';
import { startServers, startSystem, type Servers, type System } from '../support/system.js';
import { CommandHosts, type Ran } from './command-hosts.js';
import { PROGRAM } from './nest-dq-process.js';

// A process takes a second and more to start where tests of others run.
jest.setTimeout(120_000);

/** The tube of all examples. */
export const TUBE = 'order.cancel';

/** A terminal that takes colours, whatever runs these tests. Node uses none where CI is set. */
const { FORCE_COLOR: _forced, NO_COLOR: _without, CI: _ci, ...others } = process.env;
const TERMINAL = { ...others, TERM: 'xterm-256color' };

/** The servers of a spec file, a process that consumes `order.cancel`, and the command, which finds them by its environment. */
export interface CliSuite {
  readonly servers: Servers;
  readonly system: System;
  /** An empty folder, which is the working directory of the command. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Runs the command in a process that has run others before. */
  nestDq(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>;
  /** Runs a command line in a shell. */
  shell(line: string, path: string): Promise<Ran>;
  /** Runs it on a terminal of its own, and types the keys once it has said this. Resolves with all that it said, and its status. */
  onTerminal(args: readonly string[], said: string, keys: string): Promise<string>;
  /** As `onTerminal`, with any number of steps; each waits for what is said after the one before. `columns`: 80 unless given. */
  atTerminal(
    args: readonly string[],
    steps: readonly (readonly [said: string, keys: string])[],
    columns?: number,
  ): Promise<string>;
  /** Makes `order-42` wait for an hour, and `order-13` a dead letter. */
  prepare(): Promise<void>;
}

/** `options`: of the process that consumes. */
export function cliSuite(options: DqOptions = {}): CliSuite {
  let servers: Servers;
  let system: System;
  let folder: string;
  let env: Record<string, string>;
  let hosts: CommandHosts;
  beforeAll(async () => {
    servers = await startServers();
    folder = await mkdtemp(join(tmpdir(), 'nest-dq-cli-'));
    env = {
      DQ_BEANSTALKS: servers.beanstalkds.map(({ endpoint }) => endpoint).join(','),
      DQ_REDIS: servers.redis.url,
      DQ_PREFIX: '',
    };
    hosts = new CommandHosts('nest-dq', folder, env);
    system = startSystem(servers, options);
    await system.consumer.consume(TUBE, (payload: unknown) => {
      const { bad, because = 'the order has no user' } = payload as { bad?: true; because?: string };
      return bad ? Discard.because(because) : undefined;
    });
  }, 120_000);
  afterAll(async () => {
    hosts.stop();
    await system.stop();
    await servers.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function atTerminal(
    args: readonly string[],
    steps: readonly (readonly [said: string, keys: string])[],
    columns = 80,
  ): Promise<string> {
    return new Promise((resolve, reject) => {
      const command = [process.execPath, PROGRAM, ...args].join(' ');
      const surroundings = { env: { ...TERMINAL, ...env }, cwd: folder };
      const child = execFile(
        'script',
        ['-qec', `stty rows 24 cols ${columns}; ${command}`, '/dev/null'],
        surroundings,
      );
      const left = [...steps];
      let said = '';
      let seen = 0;
      child.stdout!.on('data', (chunk: string) => {
        said += chunk;
        const [awaited, keys] = left[0] ?? [];
        if (awaited === undefined || !said.includes(awaited, seen)) return;
        seen = said.length;
        left.shift();
        child.stdin!.write(keys!);
      });
      child.on('error', reject);
      child.on('close', (code) => resolve(`${said}\nstatus ${code}`));
    });
  }

  return {
    get servers() {
      return servers;
    },
    get system() {
      return system;
    },
    get folder() {
      return folder;
    },
    get env() {
      return env;
    },
    nestDq: (args, more) => hosts.run(args, more),
    shell: (line, path) =>
      new Promise((resolve) => {
        const surroundings = {
          cwd: folder,
          env: { ...others, ...env, PATH: `${path}:${process.env['PATH']}` },
        };
        const child = execFile('/bin/sh', ['-c', line], surroundings, (_error, stdout, stderr) =>
          resolve({ code: child.exitCode ?? -1, stdout, stderr }),
        );
      }),
    onTerminal: (args, awaited, keys) => atTerminal(args, [[awaited, keys]]),
    atTerminal,
    prepare: async () => {
      const { producer } = system;
      await producer.delay(TUBE, { order: 42 }, '1h', { key: 'order-42' });
      await producer.now(TUBE, { order: 13, bad: true }, { key: 'order-13' });
      const isDead = async () => (await producer.find({ tube: TUBE, key: 'order-13' }))?.state === 'dead';
      await eventually('the job is dead', isDead);
    },
  };
}
