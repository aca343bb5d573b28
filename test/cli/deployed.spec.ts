import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Authority } from 'test-servers';
import { NestDqProcess } from './nest-dq-process.js';

const run = promisify(execFile);
const page = readFileSync(new URL('../../docs/embedded.md', import.meta.url), 'utf8');
const block = (language: string) => new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(page)![1]!;
const unit = block('ini');
const image = block('dockerfile');

const SYSTEMD = '/usr/bin/systemd-analyze';
const withSystemd = existsSync(SYSTEMD) ? it : it.skip;

let folder: string;
let process: NestDqProcess | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nest-dq-deployed-'));
});

afterEach(async () => {
  process?.kill('SIGKILL');
  await process?.ended;
  process = undefined;
  await rm(folder, { recursive: true });
});

/** Starts it with these arguments, and waits until it serves. */
async function serves(args: readonly string[]): Promise<void> {
  process = new NestDqProcess([...args, '--port', '0']);
  await process.port();
}

describe('the unit of systemd in docs/embedded.md', () => {
  withSystemd('is well formed', async () => {
    const file = join(folder, 'nest-dq.service');
    await writeFile(file, unit);
    const { stderr } = await run(SYSTEMD, ['verify', '--man=no', '--recursive-errors=no', file]);
    expect(stderr).not.toContain('nest-dq.service');
  });

  it('starts a node with its flags, which lives on after the command of its reload', async () => {
    const authority = await Authority.make();
    const { certificate, key } = await authority.issue();
    const texts = { 'node.pem': certificate, 'node.key': key, 'clients.pem': authority.certificate };
    for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text);
    const command = /^ExecStart=\/usr\/bin\/env nest-dq (.*)$/m.exec(unit)![1]!;
    const here = command
      .replaceAll('/etc/nest-dq', folder)
      .replace('${STATE_DIRECTORY}', join(folder, 'data'))
      .replace('10.0.0.1', '127.0.0.1');
    expect(here).not.toMatch(/\$|\/etc/);
    await serves(here.split(' '));
    expect(unit).toContain('\nExecReload=/bin/kill -HUP $MAINPID\n');
    process!.kill('SIGHUP');
    await process!.tells(/certificates reloaded/);
    process!.kill('SIGTERM');
    expect(await process!.ended).toEqual({ code: 0, signal: null });
  });

  it('allows more files than there are connections by default', () => {
    expect(Number(/^LimitNOFILE=(\d+)$/m.exec(unit)![1])).toBeGreaterThan(2 * 1_024);
  });
});

describe('the image in docs/embedded.md', () => {
  it('starts a node with its flags, and names a user for it', async () => {
    const [program, ...args] = JSON.parse(/^ENTRYPOINT (\[.*\])$/m.exec(image)![1]!) as string[];
    expect(program).toBe('nest-dq');
    const more = /^docker run .* IMAGE (.*)$/m.exec(page)![1]!.split(' ');
    const here = args.map((each) => (each === '/data' ? join(folder, 'data') : each));
    await serves([...here, ...more]);
    expect(image).toMatch(/^USER node\n/m);
  });
});
