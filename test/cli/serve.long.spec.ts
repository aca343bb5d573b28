import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import jackd from 'jackd';
import { eventually } from 'test-servers';
import { Peer } from '../support/peer.js';
import { NestDqProcess, type Settings } from './nest-dq-process.js';

const processes: NestDqProcess[] = [];

afterEach(async () => {
  for (const process of processes) process.kill('SIGKILL');
  await Promise.all(processes.splice(0).map(({ ended }) => ended));
});

function nestDq(...args: string[]): NestDqProcess {
  return nestDqWith({}, ...args);
}

function nestDqWith(settings: Settings, ...args: string[]): NestDqProcess {
  const process = new NestDqProcess(args, settings);
  processes.push(process);
  return process;
}

async function peer(port: number): Promise<Peer> {
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  return new Peer(socket);
}

/** Has a process get a signal as soon as it listens to those that end it, which is before it opens its folder. */
function signalOnStart(signal: NodeJS.Signals): string {
  return `process.on('newListener', (name) => {
    if (name === 'SIGTERM') process.nextTick(() => process.kill(process.pid, '${signal}'));
  });`;
}

const embedded = readFileSync(new URL('../../docs/embedded.md', import.meta.url), 'utf8');

/** Its declarations speak of a default export; it is the module itself. */
const JackdClient = jackd as unknown as typeof jackd.default;
const PUT = 'put 0 0 60 1\r\nx\r\n';

describe('nest-dq serve', () => {
  it('says where it listens, and serves there', async () => {
    const server = nestDq('serve', '--port', '0');
    const port = await server.port();
    expect(server.stdout).toMatch(
      /^nest-dq \d+\.\d+\.\d+\S* listens on 127\.0\.0\.1:\d+; jobs are stored in memory\n$/,
    );
    await (await peer(port)).says(`${PUT}reserve\r\n`, 'INSERTED 1\r\nRESERVED 1 1\r\nx\r\n');
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'ends cleanly on %s, with clients that wait',
    async (signal) => {
      const server = nestDq('serve', '--port', '0');
      const client = await peer(await server.port());
      await client.says(PUT, 'INSERTED 1\r\n');
      client.send('reserve-job 1\r\nreserve\r\n');
      await client.hears('RESERVED 1 1\r\nx\r\n');
      server.kill(signal);
      await client.hearsEnd();
      expect(await server.ended).toEqual({ code: 0, signal: null });
      expect(server.stderr).toBe('');
    },
  );

  it('takes no more jobs after SIGUSR1, and hands out those it has', async () => {
    const server = nestDq('serve', '--port', '0');
    const client = await peer(await server.port());
    await client.says(PUT, 'INSERTED 1\r\n');
    server.kill('SIGUSR1');
    await eventually('it drains', () => server.stderr !== '');
    expect(server.stderr).toBe('nest-dq: draining: accepting no more jobs\n');
    await client.says(`${PUT}reserve\r\ndelete 1\r\n`, 'DRAINING\r\nRESERVED 1 1\r\nx\r\nDELETED\r\n');
  });

  it('keeps running when nobody reads its output any more', async () => {
    const server = nestDq('serve', '--port=0', '--max-connections=1');
    const port = await server.port();
    server.closeOutput();
    const client = await peer(port);
    for (let warnings = 0; warnings < 2; warnings++) {
      await (await peer(port)).hearsEnd(); // which it warns of
      await client.says('list-tube-used\r\n', 'USING default\r\n');
    }
    server.kill('SIGUSR1'); // which it tells
    const hears = async () => (client.send(PUT), (await client.takeLine()) === 'DRAINING\r\n');
    await eventually('it drains', hears);
    server.kill('SIGTERM');
    expect(await server.ended).toEqual({ code: 0, signal: null });
  });

  it('keeps running when its output cannot be written', async () => {
    const silent = nestDqWith({ redirect: '2> /dev/full' }, 'serve', '--port=0', '--max-connections=1');
    const port = await silent.port();
    const client = await peer(port);
    for (let warnings = 0; warnings < 2; warnings++) {
      await (await peer(port)).hearsEnd();
      await client.says('list-tube-used\r\n', 'USING default\r\n');
    }
    const hidden = nestDqWith({ redirect: '> /dev/full' }, 'serve', '--port=0');
    await eventually('it says why', () => hidden.stderr !== '');
    expect(hidden.stderr).toMatch(/^nest-dq: cannot write to standard output: .*ENOSPC.*\n$/);
    for (const server of [silent, hidden]) {
      server.kill('SIGTERM');
      expect(await server.ended).toEqual({ code: 0, signal: null });
    }
  });

  it('keeps to the limits it was given', async () => {
    const server = nestDq('serve', '--port=0', '--max-connections=1', '--max-job-size=3');
    const port = await server.port();
    const client = await peer(port);
    await client.says('put 0 0 60 3\r\nabc\r\nput 0 0 60 4\r\nabcd\r\n', 'INSERTED 1\r\nJOB_TOO_BIG\r\n');
    await (await peer(port)).hearsEnd();
    await eventually('it warns', () => server.stderr !== '');
    expect(server.stderr).toBe(
      `nest-dq: rejected a connection on 127.0.0.1:${port}: 1 connections are open, the limit of \`maxConnections\`\n`,
    );
  });

  it('keeps to the limits of all jobs and tubes', async () => {
    const limits = [
      '--max-jobs=2',
      '--max-memory=1000',
      '--max-tubes=4',
      '--max-watched=2',
      '--max-buffers=2000000',
    ];
    const server = nestDq('serve', '--port=0', ...limits);
    const client = await peer(await server.port());
    const large = `put 0 0 60 500\r\n${'x'.repeat(500)}\r\n`;
    await client.says(
      `${large}${large}${PUT}${PUT}`,
      'INSERTED 1\r\nOUT_OF_MEMORY\r\nOUT_OF_MEMORY\r\nOUT_OF_MEMORY\r\n',
    );
    await client.says(
      'delete 1\r\n' + PUT.repeat(3),
      'DELETED\r\nINSERTED 5\r\nINSERTED 6\r\nOUT_OF_MEMORY\r\n',
    );
    await client.says('watch a\r\nwatch b\r\nuse b\r\n', 'WATCHING 2\r\nOUT_OF_MEMORY\r\nUSING b\r\n');
    await (await peer(await server.port())).says('use c\r\nuse d\r\n', 'USING c\r\nOUT_OF_MEMORY\r\n');
    const named = () => server.stderr.match(/(?<=`)max\w+/g) ?? [];
    await eventually('the log names all of them', () => named().length >= 4);
    expect(named()).toEqual(['maxMemory', 'maxJobs', 'maxWatched', 'maxTubes']);
  });

  it('serves on a unix socket, and leaves nothing of it at the end', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'nest-dq-'));
    const path = join(folder, 'node');
    try {
      const first = nestDq('serve', '--socket', path);
      await first.says(/listens on (unix:\S+); jobs are stored in memory\n/);
      first.kill('SIGKILL');
      await first.ended;
      expect(await readdir(folder)).toEqual(['node']);
      const server = nestDq('serve', '--socket', path);
      expect(await server.says(/listens on (\S+);/)).toBe(`unix:${path}`);
      const socket = connect({ path });
      await once(socket, 'connect');
      await new Peer(socket).says(PUT, 'INSERTED 1\r\n');
      const second = nestDq('serve', '--socket', path);
      expect(await second.ended).toEqual({ code: 1, signal: null });
      expect(second.stderr).toContain(`cannot listen on unix:${path}: another process is listening there`);
      server.kill('SIGTERM');
      expect(await server.ended).toEqual({ code: 0, signal: null });
      expect(await readdir(folder)).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('denies the commands of --deny, and stays in step', async () => {
    const server = nestDq('serve', '--port=0', '--deny=put,pause-tube');
    const client = await peer(await server.port());
    await client.says(
      `${PUT}pause-tube default 1\r\nkick 1\r\n`,
      'UNKNOWN_COMMAND\r\nUNKNOWN_COMMAND\r\nKICKED 0\r\n',
    );
    const looking = await peer(await nestDq('serve', '--port=0', '--read-only').port());
    await looking.says(`${PUT}kick 1\r\npeek 1\r\n`, 'UNKNOWN_COMMAND\r\nUNKNOWN_COMMAND\r\nNOT_FOUND\r\n');
  });

  it('closes idle connections, and no others', async () => {
    const server = nestDq('serve', '--port=0', '--idle=2');
    const port = await server.port();
    const [silent, worker] = [await peer(port), await peer(port)];
    worker.send('reserve\r\n');
    await silent.says('list-tube-used\r\n', 'USING default\r\n');
    await silent.hearsEnd();
    await (await peer(port)).says(PUT, 'INSERTED 1\r\n');
    await worker.hears('RESERVED 1 1\r\nx\r\n');
  });

  it('fails where the port is taken', async () => {
    const port = await nestDq('serve', '--port', '0').port();
    const second = nestDq('serve', '--port', String(port));
    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.stderr).toBe(
      `nest-dq: cannot listen on 127.0.0.1:${port}: the port is taken (DQ_LISTEN)\n`,
    );
    expect(second.stdout).toBe('');
  });

  it('serves a third-party client', async () => {
    const port = await nestDq('serve', '--port', '0').port();
    const [producer, worker] = await Promise.all(
      [0, 1].map(() => new JackdClient().connect({ host: '127.0.0.1', port })),
    );
    await producer!.use('mails');
    await worker!.watch('mails');
    await worker!.ignore('default');
    const reserved = worker!.reserve();
    const id = await producer!.put({ to: 'ann' }, { delay: 1, ttr: 60 });
    const job = await reserved;
    expect(job.id).toBe(id);
    expect(JSON.parse(String(job.payload))).toEqual({ to: 'ann' });
    expect(await worker!.statsJob(id)).toContain('\nstate: reserved\n');
    await worker!.release(id, { priority: 1 });
    expect((await worker!.reserve()).id).toBe(id);
    await worker!.bury(id, 1);
    expect((await producer!.peekBuried()).id).toBe(id);
    expect(await producer!.kick(10)).toBe(1);
    await worker!.delete((await worker!.reserve()).id);
    await expect(producer!.peek(id)).rejects.toThrow('NOT_FOUND');
    await Promise.all([producer!.quit(), worker!.quit()]);
  });
});

describe('nest-dq serve --dir', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'nest-dq-'));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it.each(['SIGTERM', 'SIGKILL'] as const)('keeps over a %s what was confirmed', async (signal) => {
    const dir = join(folder, 'data');
    const first = nestDq('serve', '--port', '0', '--dir', dir);
    const client = await peer(await first.port());
    expect(first.stdout).toContain(`; jobs are stored in ${dir}\n`);
    await client.says(`${PUT}${PUT}${PUT}`, 'INSERTED 1\r\nINSERTED 2\r\nINSERTED 3\r\n');
    await client.says('reserve\r\ndelete 2\r\n', 'RESERVED 1 1\r\nx\r\nDELETED\r\n');
    first.kill(signal);
    await first.ended;
    const second = nestDq('serve', '--port', '0', '--dir', dir);
    await (
      await peer(await second.port())
    ).says(
      `reserve\r\nreserve\r\nreserve-with-timeout 0\r\n${PUT}`,
      'RESERVED 1 1\r\nx\r\nRESERVED 3 1\r\nx\r\nTIMED_OUT\r\nINSERTED 4\r\n',
    );
  });

  it('lets nobody but its user into the folder', async () => {
    const dir = join(folder, 'data');
    await (await peer(await nestDq('serve', '--port', '0', '--dir', dir).port())).says(PUT, 'INSERTED 1\r\n');
    const names = ['', ...(await readdir(dir, { recursive: true }))];
    expect(names.length).toBeGreaterThan(1);
    const modes = await Promise.all(
      names.map(async (name) => [name, (await stat(join(dir, name))).mode & 0o077]),
    );
    expect(modes.filter(([, others]) => others !== 0)).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'ends on a %s while it opens the folder',
    async (signal) => {
      const server = nestDqWith({ first: signalOnStart(signal) }, 'serve', '--port', '0', '--dir', folder);
      expect(await server.ended).toEqual({ code: 0, signal: null });
      expect(server.stdout + server.stderr).toBe('');
      await nestDq('serve', '--port', '0', '--dir', folder).port();
    },
  );

  it('drains from the beginning after a SIGUSR1 while it opens the folder', async () => {
    const server = nestDqWith({ first: signalOnStart('SIGUSR1') }, 'serve', '--port', '0', '--dir', folder);
    await (await peer(await server.port())).says(PUT, 'DRAINING\r\n');
    expect(server.stderr).toBe('nest-dq: draining: accepting no more jobs\n');
  });

  it('fails where another has the folder', async () => {
    await nestDq('serve', '--port', '0', '--dir', folder).port();
    const second = nestDq('serve', '--port', '0', '--dir', folder, '--patience', '0');
    expect(await second.ended).toEqual({ code: 1, signal: null });
    expect(second.stderr).toMatch(/^nest-dq: .* is in use.*\(DQ_DISK\)$/m);
    expect(second.stderr).toContain(folder);
  });

  it('waits for a folder that another process is about to leave, and says so once', async () => {
    const first = nestDq('serve', '--port', '0', '--dir', folder);
    await (await peer(await first.port())).says(PUT, 'INSERTED 1\r\n');
    const second = nestDq('serve', '--port', '0', '--dir', folder, '--patience', '600');
    await eventually('it says that it waits', () => second.stderr !== '');
    first.kill('SIGTERM');
    await (await peer(await second.port())).says('delete 1\r\n', 'DELETED\r\n');
    expect(second.stderr).toBe(`nest-dq: the folder ${folder} is in use: waiting for it for at most 600 s\n`);
  });

  it('takes no jobs where the disk is low on space, and hands out those it has', async () => {
    const first = nestDq('serve', '--port=0', '--dir', folder);
    await (await peer(await first.port())).says(PUT, 'INSERTED 1\r\n');
    first.kill('SIGTERM');
    await first.ended;
    const server = nestDq('serve', '--port=0', '--dir', folder, `--min-free=${Number.MAX_SAFE_INTEGER}`);
    const client = await peer(await server.port());
    await client.says(
      `${PUT}reserve\r\nrelease 1 0 9\r\n`,
      'OUT_OF_MEMORY\r\nRESERVED 1 1\r\nx\r\nRELEASED\r\n',
    );
    await client.says('delete 1\r\n', 'DELETED\r\n');
    expect(server.stderr).toMatch(
      /^nest-dq: the file system of the folder .* has \d+ MiB free, less than .*\n$/,
    );
  });

  it('ends when the folder cannot be written, and confirms nothing that is not there', async () => {
    const server = nestDq('serve', '--port', '0', '--dir', folder);
    const client = await peer(await server.port());
    await client.says(PUT, 'INSERTED 1\r\n');
    await server.limitFiles(1);
    client.send(PUT);
    await client.hearsEnd();
    expect(await server.ended).toEqual({ code: 1, signal: null });
    expect(server.stderr).toMatch(/^nest-dq: .* could not be written.*\(DQ_DISK\)$/m);
    const second = nestDq('serve', '--port', '0', '--dir', folder);
    await (await peer(await second.port())).says('delete 1\r\ndelete 2\r\n', 'DELETED\r\nNOT_FOUND\r\n');
  });
});

describe('nest-dq', () => {
  it.each([
    [['serve', '--port', '70000'], '--port: invalid value "70000": expected a whole number from 0 to 65535.'],
    [['serve', '--port', '-1'], '--port: invalid value "-1": expected a whole number from 0 to 65535.'],
    [
      ['serve', '--patience', '15s'],
      '--patience: invalid value "15s": expected a whole number from 0 to 1000000.',
    ],
    [['serve', '--dir', ''], '--dir: invalid value "": expected the path of a folder.'],
    [['serve', '--host='], '--host: invalid value "": expected a name or an address.'],
    [['serve', '--port', '0x1'], '--port: invalid value "0x1": expected a whole number from 0 to 65535.'],
    [
      ['serve', '--max-connections', '0'],
      '--max-connections: invalid value "0": expected a whole number from 1',
    ],
    [
      ['serve', '--max-job-size', '1.5'],
      '--max-job-size: invalid value "1.5": expected a whole number from 1',
    ],
    [['serve', '--min-free', '64MiB'], '--min-free: invalid value "64MiB": expected a whole number from 0'],
    [['serve', '--max-jobs', '0'], '--max-jobs: invalid value "0": expected a whole number from 1'],
    [['serve', '--max-memory', '1g'], '--max-memory: invalid value "1g": expected a whole number from 1'],
    [['serve', '--max-tubes', '-1'], '--max-tubes: invalid value "-1": expected a whole number from 1'],
    [['serve', '--max-watched', ''], '--max-watched: invalid value "": expected a whole number from 1'],
    [
      ['serve', '--max-buffers', '1310715'],
      '--max-buffers: invalid value "1310715": expected a whole number from 1310716',
    ],
    [['serve', '--socket', ''], '--socket: invalid value "": expected the path of a unix socket.'],
    [['serve', '--socket', '/x', '--port', '1'], 'serve: --socket replaces --port and --host'],
    [['serve', '--idle', '0'], '--idle: invalid value "0": expected a whole number from 1'],
    [['serve', '--deny', 'pause'], 'serve: unknown command `pause` in `deny`: expected one of put,'],
    [['serve', '--read-only=yes'], "serve: Option '--read-only' does not take an argument"],
    [['serve', '--prot', '1'], 'serve: unknown option --prot. Did you mean --port?'],
    [['serve', '11300'], 'serve: unexpected argument 11300.'],
    [['server'], 'Unknown command server. Did you mean serve or series?'],
    [['--port', '1'], 'No command before --port.'],
    [['dead'], 'Missing command after dead: expected one of groups, list, show, revive, discard, '],
  ])('%j is refused', async (args, message) => {
    const process = nestDq(...args);
    expect(await process.ended).toEqual({ code: 2, signal: null });
    expect(process.stderr).toContain(`nest-dq: ${message}`);
    expect(process.stderr).toMatch(
      /\nRun `nest-dq help( serve| dead)?` for (its flags|its commands|the commands)\.\n$/,
    );
    expect(process.stdout).toBe('');
  });

  it('shows its commands, if none is given', async () => {
    const process = nestDq();
    expect(await process.ended).toEqual({ code: 2, signal: null });
    expect([process.stdout, process.stderr]).toEqual([
      '',
      expect.stringMatching(/^nest-dq COMMAND \[OPTIONS\]\n/),
    ]);
  });

  it('prints its version and its flags', async () => {
    const [version, help] = [nestDq('--version'), nestDq('serve', '--help')];
    expect([await version.ended, await help.ended]).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
    const documented = [...embedded.matchAll(/^\| `(--[a-z-]+)/gm)].map(([, flag]) => flag!);
    const listed = [...help.stdout.matchAll(/\n  (--[a-z-]+) /g)].map(([, flag]) => flag!);
    expect(documented).toContain('--port');
    expect(listed.filter((flag) => flag !== '--help').sort()).toEqual(documented.sort());
  });
});
