// Commands that need no server: help, suggestions and completion, all made from the table of commands.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { COMMANDS } from 'nest-dq/src/cli/commands.js';
import { CommandHosts } from './command-hosts.js';

let folder: string;
let hosts: CommandHosts;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nest-dq-help-'));
  hosts = new CommandHosts('nest-dq', folder, {});
});
afterAll(async () => {
  hosts.stop();
  await rm(folder, { recursive: true, force: true });
});

const nestDq = (...args: string[]) => hosts.run(args);

describe('the help', () => {
  it.each([[['-h']], [['--help']], [['help']], [['help', 'help']]])('is shown by %j', async (args) => {
    const { code, stdout, stderr } = await nestDq(...args);
    expect([code, stderr]).toEqual([0, '']);
    for (const name of Object.keys(COMMANDS)) expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
    expect(stdout).toContain('`nest-dq help connection` for which servers');
  });

  it('of one command is the same however it is asked for, and refers to the connection in one line', async () => {
    const { code, stdout } = await nestDq('help', 'dead', 'list');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^nest-dq dead list TUBE \[OPTIONS\]\n/);
    expect(await nestDq('dead', 'list', '-h')).toEqual({ code, stdout, stderr: '' });
    expect(await nestDq('dead', 'list', '--help')).toEqual({ code, stdout, stderr: '' });
    expect(stdout.match(/beanstalks/g)).toHaveLength(1);
    expect(stdout).toMatch(
      /^ {2}--context, --beanstalks, .*: which servers, see `nest-dq help connection`$/m,
    );
  });

  it('of serve has its own TLS flags', async () => {
    const { stdout } = await nestDq('help', 'serve');
    expect(stdout).toMatch(/^ {2}--tls-cert FILE +enable TLS/m);
    expect(stdout).not.toContain('help connection');
  });

  it('of a group lists its commands, and that of the connection its flags', async () => {
    const { stdout } = await nestDq('help', 'dead');
    expect(stdout).toContain('  dead revive-many TUBE');
    expect(stdout).not.toContain('  stats');
    const { stdout: connection } = await nestDq('help', 'connection');
    for (const flag of ['context', 'beanstalks', 'redis', 'prefix', 'config', 'tls-ca'])
      expect(connection).toMatch(new RegExp(`^ {2}--${flag} [A-Z]+ `, 'm'));
  });
});

describe('what was meant', () => {
  it.each([
    [['statz'], 'nest-dq: Unknown command statz. Did you mean stats?'],
    [['dead', 'lsit'], 'nest-dq: Unknown command dead lsit. Did you mean dead list?'],
    [['proc'], 'nest-dq: Unknown command proc. Did you mean processes?'],
    [['runing'], 'nest-dq: Unknown command runing. Did you mean running?'],
    [['hepl'], 'nest-dq: Unknown command hepl. Did you mean help?'],
    [['help', 'conection'], 'nest-dq: Unknown command conection. Did you mean connection?'],
    [['xyzzy'], 'nest-dq: Unknown command xyzzy.'],
    [
      ['dead', 'list', 'mail', '--eror', 'x'],
      'nest-dq: dead list: unknown option --eror. Did you mean --error?',
    ],
    [['stats', '-x'], 'nest-dq: stats: unknown option -x.'],
    [['dead', 'list', 'mail', '--error'], "nest-dq: dead list: Option '--error <value>' argument missing"],
  ])('is suggested for %j, with status 2 and no list of all', async (args, message) => {
    const { code, stdout, stderr } = await nestDq(...args);
    expect([code, stdout]).toEqual([2, '']);
    const [first, ...rest] = stderr.split('\n');
    expect(first).toBe(message);
    expect(rest.join('\n')).toMatch(
      /^Run `nest-dq help( [a-z ]+)?` for (the commands|its commands|its flags)\.\n$/,
    );
  });
});

describe('the completion', () => {
  /** The words that bash offers at the end of a command line. */
  async function offered(line: string): Promise<string[]> {
    const { code, stdout } = await nestDq('completion', 'bash');
    expect(code).toBe(0);
    const script = join(folder, 'completion.bash');
    const words = line.split(' ').map((word) => `'${word}'`);
    const ask = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _nest_dq; printf '%s\\n' "\${COMPREPLY[@]}"`;
    await writeFile(script, `${stdout}\n${ask}\n`);
    const ran = await promisify(execFile)('bash', ['--norc', '-u', script], { cwd: folder });
    expect(ran.stderr).toBe('');
    return ran.stdout.split('\n').filter((word) => word !== '');
  }

  it('has the first words of all commands', async () => {
    const first = new Set(Object.keys(COMMANDS).map((name) => name.split(' ')[0]!));
    expect(new Set(await offered('nest-dq '))).toEqual(new Set([...first, 'help', 'completion']));
  });

  it.each([
    ['nest-dq sta', ['stats']],
    ['nest-dq run', ['running', 'run']],
    ['nest-dq dead rev', ['revive', 'revive-many']],
    ['nest-dq dead list mail --er', ['--error']],
    ['nest-dq dead list --why ', ['attempts', 'discarded', 'invalid', 'stale']],
    ['nest-dq dead list --error ', []],
    ['nest-dq jobs mail --state re', ['retrying']],
    ['nest-dq jobs mail --pre', ['--prefix']],
    ['nest-dq stats --config compl', ['completion.bash']],
    ['nest-dq help conn', ['connection']],
    ['nest-dq completion f', ['fish']],
    ['nest-dq nosuch ', []],
  ])('of %j is right in bash', async (line, words) => expect(await offered(line)).toEqual(words));

  it('exists for zsh and fish, with the same commands', async () => {
    const zsh = await nestDq('completion', 'zsh');
    expect(zsh.stdout).toMatch(/^autoload .*compinit\n/);
    expect(zsh.stdout).toContain((await nestDq('completion', 'bash')).stdout);
    const fish = await nestDq('completion', 'fish');
    expect(fish.stdout).toContain(
      "complete -c nest-dq -n '__fish_seen_subcommand_from dead; and __fish_seen_subcommand_from list' -l why -x -a 'attempts discarded invalid stale'",
    );
    for (const name of Object.keys(COMMANDS)) {
      const word = name.split(' ').at(-1)!;
      expect(fish.stdout).toMatch(new RegExp(` -a ${word} -d '`));
    }
    expect(await nestDq('completion', 'csh')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('unknown shell "csh": expected one of bash, zsh, fish.'),
    });
  });
});

describe('colours', () => {
  it('are never in a pipe, unless they are forced', async () => {
    const unknown = ['acts', '--beanstalks', '127.0.0.1:1', '--redis', 'redis://127.0.0.1:1'];
    const piped = await hosts.run(unknown);
    expect(piped.stdout + piped.stderr).not.toContain('\x1b');
    const doctor = ['doctor', ...unknown.slice(1)];
    expect((await hosts.run(doctor)).stdout).not.toContain('\x1b');
    expect((await hosts.run(doctor, { FORCE_COLOR: '1' })).stdout).toContain('\x1b[31mfailure');
    expect((await hosts.run([...doctor, '--json'], { FORCE_COLOR: '1' })).stdout).not.toContain('\x1b');
  });
});
