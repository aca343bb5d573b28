import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { COMMANDS } from 'nest-dq/src/cli/commands.js';
import { eventually } from 'test-servers';
import { cliSuite, TUBE } from './cluster-suite.js';
import { NestDqProcess, PROGRAM } from './nest-dq-process.js';

const suite = cliSuite({ keepDone: { for: '1d' } });

beforeAll(async () => {
  await symlink(PROGRAM, join(suite.folder, 'nest-dq'));
  // A tube that nobody knows isn't paused, and is no success to resume.
  await suite.system.consumer.consume('mail.welcome', () => undefined);
  const { producer } = suite.system;
  const finished = await producer.now(TUBE, {}, { key: 'order-7' });
  await eventually('it is done', async () => (await producer.find(finished))?.state === 'done');
});

/** These end only when they are asked to, and have tests of their own: what they say when they are ready. */
const WITHOUT_END = { serve: /listens on (\S+);/, dashboard: /opens (http\S+)\n/ };

describe('the help', () => {
  it.each(Object.keys(COMMANDS))(
    'of %s has its usage, flags, exit status, and examples that begin with it',
    async (name) => {
      const { stdout, code } = await suite.nestDq([...name.split(' '), '--help']);
      expect(code).toBe(0);
      expect(stdout).toMatch(new RegExp(`^nest-dq ${name}( \\[?[A-Z]+\\]?)* \\[OPTIONS\\]\n`));
      expect(stdout).toMatch(/\nExit status: 0 .+; 2 .*invalid arguments\.\n/);
      expect(stdout).toContain('\n  --help ');
      const [, examples = ''] = stdout.split('\nExamples:\n');
      expect(examples.trimEnd().split('\n')).toEqual(
        expect.arrayContaining([expect.stringMatching(new RegExp(`^  nest-dq ${name}\\b`))]),
      );
    },
  );

  it('lists every command', async () => {
    const { stdout } = await suite.nestDq(['--help']);
    for (const name of Object.keys(COMMANDS)) expect(stdout).toMatch(new RegExp(`\n  ${name}\\b`));
  });
});

describe('each example of the help works', () => {
  const prepare = async () => {
    await suite.prepare();
    await suite.system.series.upsert('acme:digest', { tube: TUBE, every: '1h' });
  };
  beforeEach(prepare);

  it.each(Object.keys(COMMANDS).filter((name) => !(name in WITHOUT_END)))('%s', async (name) => {
    const { examples } = await COMMANDS[name]!();
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      await prepare();
      const { code, stdout, stderr } = await suite.shell(example, suite.folder);
      expect([example, code, stderr]).toEqual([example, 0, '']);
      if (example.includes('--json')) expect(() => JSON.parse(stdout) as unknown).not.toThrow();
    }
  });

  it.each(Object.entries(WITHOUT_END))('%s, until it is asked to end', async (name, ready) => {
    const { examples } = await COMMANDS[name]!();
    for (const example of examples) {
      const server = new NestDqProcess(example.split(' ').slice(1), { cwd: suite.folder, env: suite.env });
      await server.says(ready);
      server.kill('SIGTERM');
      expect(await server.ended).toEqual({ code: 0, signal: null });
    }
  });
});
