import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EmbeddedNode, type ListenAddress, type ListenTlsOptions } from 'nest-dq/embedded';
import { Authority, eventually, type Certificate } from 'test-servers';
import { NestDqProcess } from '../cli/nest-dq-process.js';
import { Peer } from '../support/peer.js';

const PUT = 'put 0 0 60 1\r\nx\r\n';
const USED = ['list-tube-used\r\n', 'USING default\r\n'] as const;

let authority: Authority;
let stranger: Authority;
let server: Certificate;
let client: Certificate;
let foreign: Certificate;
const sockets: TLSSocket[] = [];

beforeAll(async () => {
  [authority, stranger] = [await Authority.make(), await Authority.make()];
  server = await authority.issue();
  client = await authority.issue();
  foreign = await stranger.issue();
}, 60_000);

function leaveAll(): void {
  for (const socket of sockets.splice(0)) socket.destroy();
}

/** A client that has sent its part of the handshake; it may still be refused. */
async function dial(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const halfOpen = { allowHalfOpen: true }; // its types do not know it
  const socket = connect({ host: '127.0.0.1', port, ca: authority.certificate, ...halfOpen, ...options });
  sockets.push(socket);
  socket.on('error', () => undefined); // what it means is seen by what is heard
  await new Promise((resolve) => socket.once('secureConnect', resolve).once('close', resolve));
  return socket;
}

const shown = ({ certificate, key }: Certificate) => ({ cert: certificate, key });

async function peer(port: number, options?: ConnectionOptions): Promise<Peer> {
  return new Peer(await dial(port, options));
}

/** Serial number of the certificate that a new connection is shown. */
async function serialShown(port: number, options?: ConnectionOptions): Promise<string> {
  const socket = await dial(port, options);
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

const serialOf = ({ certificate }: Certificate) => new X509Certificate(certificate).serialNumber;

async function isRefused(port: number, options?: ConnectionOptions): Promise<void> {
  const socket = await dial(port, options);
  if (socket.destroyed) return;
  const who = new Peer(socket);
  who.send(USED[0]);
  await who.hearsEnd();
}

describe('a node that listens with TLS', () => {
  let node: EmbeddedNode;
  let warnings: string[];

  beforeEach(async () => {
    warnings = [];
    node = await EmbeddedNode.open({ warn: (message) => warnings.push(message) });
  });

  afterEach(() => {
    leaveAll();
    return node.close();
  });

  function listen(more: Partial<ListenTlsOptions> = {}): Promise<ListenAddress> {
    return node.listen({ port: 0, tls: { ...shown(server), ...more } });
  }

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'serves by %s, in order, and whoever trusts it',
    async (version) => {
      const { port } = await listen();
      const socket = await dial(port, { minVersion: version, maxVersion: version });
      expect(socket.getProtocol()).toBe(version);
      const body = 'x'.repeat(60_000);
      const reply = `RESERVED 1 60000\r\n${body}\r\n`;
      await new Peer(socket).says(
        `put 0 0 60 60000\r\n${body}\r\nreserve\r\n${USED[0]}`,
        `INSERTED 1\r\n${reply}${USED[1]}`,
      );
      const distrustful = await dial(port, { ca: stranger.certificate });
      expect(distrustful.authorized).toBe(false);
      expect(distrustful.destroyed).toBe(true);
    },
  );

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'gives a %s client that ends its input all its replies, and wakes it from its reserve',
    async (version) => {
      const { port } = await listen();
      const socket = await dial(port, { minVersion: version, maxVersion: version });
      const [talks, waits] = [new Peer(socket), await peer(port, { maxVersion: version })];
      talks.send(`put 0 0 60 60000\r\n${'x'.repeat(60_000)}\r\n${'peek 1\r\n'.repeat(20)}`);
      talks.halfClose();
      await talks.hears(`INSERTED 1\r\n${`FOUND 1 60000\r\n${'x'.repeat(60_000)}\r\n`.repeat(20)}`);
      await talks.hearsEnd();
      await waits.says('watch other\r\nignore default\r\n', 'WATCHING 2\r\nWATCHING 1\r\n');
      waits.send('reserve\r\n');
      waits.halfClose();
      await waits.hears('TIMED_OUT\r\n');
      await waits.hearsEnd();
    },
  );

  it('does not speak TLS 1.1', async () => {
    const { port } = await listen();
    await isRefused(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' });
    await eventually('it warns', () => warnings.length === 1);
    expect(warnings[0]).toMatch(/^rejected a client on 127\.0\.0\.1:\d+: unsupported protocol$/);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'with an authority lets in its clients only, by %s, and warns once of others',
    async (maxVersion) => {
      const { port } = await listen({ clientCa: authority.certificate });
      for (let i = 0; i < 3; i++) await isRefused(port, { maxVersion, ...shown(foreign) });
      await isRefused(port, { maxVersion });
      await (await peer(port, { maxVersion, ...shown(client) })).says(...USED);
      expect(warnings).toEqual([
        `rejected a client on 127.0.0.1:${port}: its certificate is not accepted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)`,
      ]);
      await (await peer(port, { maxVersion, ...shown(client) })).says('stats-job 1\r\n', 'NOT_FOUND\r\n');
    },
  );

  it('reports that a client has shown no certificate', async () => {
    const { port } = await listen({ clientCa: authority.certificate });
    await isRefused(port);
    await eventually('it warns', () => warnings.length === 1);
    expect(warnings[0]).toContain('peer did not return a certificate');
  });

  it('cuts a client that does not shake hands in time, and one that does not use TLS, and gives their places free', async () => {
    const { port } = await node.listen({
      port: 0,
      maxConnections: 2,
      tls: { ...shown(server), handshake: 1_500 },
    });
    const stalled = connectPlain({ host: '127.0.0.1', port });
    await once(stalled, 'connect');
    stalled.write(Buffer.from([22, 3, 1, 2, 0, 1])); // the beginning of a handshake
    const plain = new Peer(connectPlain({ host: '127.0.0.1', port }));
    plain.send(PUT.repeat(100));
    expect(await plain.takeAll()).not.toContain('INSERTED');
    stalled.resume();
    await once(stalled, 'close');
    await eventually('both are reported', () => warnings.length > 0);
    expect(warnings[0]).toMatch(/^rejected a client on 127\.0\.0\.1:\d+: /);
    const both = [await peer(port), await peer(port)];
    for (const each of both) await each.says(...USED);
  });

  it('ignores a client that only checks whether the port is open, and frees its place', async () => {
    const { port } = await node.listen({
      port: 0,
      maxConnections: 1,
      tls: { ...shown(server), handshake: '1h' },
    });
    const looks = connectPlain({ host: '127.0.0.1', port });
    await once(looks, 'connect');
    looks.destroy();
    await eventually('it is served', async () => {
      const socket = await dial(port);
      return !socket.destroyed;
    });
    expect(warnings.filter((each) => !each.includes('maxConnections'))).toEqual([]);
  });

  it('cuts at its end whoever has not shaken hands', async () => {
    const { port } = await listen({ handshake: '1h' });
    const stalled = connectPlain({ host: '127.0.0.1', port, allowHalfOpen: true });
    await once(stalled, 'connect');
    await (await peer(port)).says(...USED); // so the one before was accepted, too
    const cut = once(stalled.resume(), 'close');
    await node.close();
    stalled.end();
    await cut;
  });

  it('shows new certificates to new connections, and keeps what is in use if they are broken', async () => {
    const address = await listen({ clientCa: authority.certificate });
    const { port } = address;
    const before = await peer(port, shown(client));
    const next = await authority.issue();
    const clientCa = authority.certificate;
    node.renewTls(address, { ...shown(next), clientCa });
    expect(await serialShown(port, shown(client))).toBe(serialOf(next));
    const broken: [Partial<ListenTlsOptions>, string][] = [
      [{ ...shown(server), key: next.key, clientCa }, '`tls.key` does not belong to `tls.cert`'],
      [{ ...shown(server), cert: 'x', clientCa }, '`tls.cert` contains no certificate'],
      [{ ...shown(server), key: '', clientCa }, '`tls.key` is not a private key'],
      [{ ...shown(server), clientCa: 'x' }, '`tls.clientCa` contains no certificate'],
      [shown(server), '`tls.clientCa` is not set: whether clients need a certificate cannot change'],
    ];
    for (const [certificates, message] of broken)
      expect(() => node.renewTls(address, certificates as ListenTlsOptions)).toThrow(`DQ_CONFIG: ${message}`);
    expect(await serialShown(port, shown(client))).toBe(serialOf(next));
    await isRefused(port);
    await before.says(...USED);
    node.renewTls(address, { ...shown(next), clientCa: stranger.certificate });
    await isRefused(port, shown(client));
    await (await peer(port, shown(foreign))).says(...USED);
    const plain = await node.listen({ port: 0 });
    expect(() => node.renewTls(plain, shown(next))).toThrow('does not use TLS');
  });

  it('does not start with unusable certificates', async () => {
    const pair = shown(server);
    const refused: [unknown, string][] = [
      [undefined, '`tls` is undefined: expected { cert, key } as PEM strings'],
      [{}, '`tls.cert` is undefined: expected a PEM string'],
      [{ ...pair, cert: 'x' }, '`tls.cert` contains no certificate'],
      [{ ...pair, key: 7 }, '`tls.key` is a number: expected a PEM string'],
      [{ ...pair, clientCa: undefined }, '`tls.clientCa` is undefined: expected a PEM string'],
      [{ ...pair, clientCa: '' }, '`tls.clientCa` contains no certificate'],
      [{ ...pair, ca: 'z' }, 'unknown option `tls.ca`: expected one of cert, key, clientCa'],
    ];
    for (const [tls, message] of refused)
      await expect(node.listen({ port: 0, tls: tls as ListenTlsOptions })).rejects.toThrow(
        `DQ_CONFIG: ${message}`,
      );
  });
});

describe('nest-dq serve with TLS', () => {
  const processes: NestDqProcess[] = [];
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'nest-dq-tls-'));
    await write(server);
    await writeFile(join(folder, 'ca'), authority.certificate);
  });

  afterEach(async () => {
    leaveAll();
    for (const process of processes) process.kill('SIGKILL');
    await Promise.all(processes.splice(0).map(({ ended }) => ended));
    await rm(folder, { recursive: true });
  });

  async function write({ certificate, key }: Certificate): Promise<void> {
    await writeFile(join(folder, 'cert'), certificate);
    await writeFile(join(folder, 'key'), key);
  }

  const flags = () => [`--tls-cert=${join(folder, 'cert')}`, `--tls-key=${join(folder, 'key')}`];
  const mutual = () => [...flags(), `--client-ca=${join(folder, 'ca')}`];

  function serve(...args: string[]): NestDqProcess {
    const process = new NestDqProcess(['serve', '--port=0', ...args]);
    processes.push(process);
    return process;
  }

  it('lets in only clients of its authority, while it refuses others', async () => {
    const process = serve(...mutual());
    const port = await process.port();
    await isRefused(port);
    await (await peer(port, shown(client))).says(PUT, 'INSERTED 1\r\n');
    process.kill('SIGTERM');
    expect(await process.ended).toEqual({ code: 0, signal: null });
  });

  it('takes new certificates at SIGHUP under traffic, and nobody is disturbed', async () => {
    const process = serve(...mutual());
    const port = await process.port();
    const workers = [await peer(port, shown(client)), await peer(port, shown(client))];
    let isOver = false;
    const traffic = workers.map(async (worker) => {
      let rounds = 0;
      for (; !isOver; rounds++) {
        worker.send(`${PUT}reserve\r\n`);
        const [, id] = /^INSERTED (\d+)\r\n$/.exec(await worker.takeLine())!;
        const [, taken] = /^RESERVED (\d+) 1\r\n$/.exec(await worker.takeLine())!;
        await worker.hears('x\r\n');
        await worker.says(`delete ${taken}\r\n`, 'DELETED\r\n');
        expect(Number(id)).toBeGreaterThan(0);
      }
      return rounds;
    });
    for (let i = 0; i < 5; i++) {
      const next = await authority.issue();
      await write(next);
      process.kill('SIGHUP');
      const lines = i + 1;
      await eventually('it says so', () => process.stderr.split('\n').length > lines);
      expect(await serialShown(port, shown(client))).toBe(serialOf(next));
    }
    isOver = true;
    for (const rounds of await Promise.all(traffic)) expect(rounds).toBeGreaterThan(0);
    expect(process.stderr).toBe('nest-dq: certificates reloaded for new connections\n'.repeat(5));
  });

  it('keeps the previous certificate where a file is broken or missing, and says so', async () => {
    const process = serve(...flags());
    const port = await process.port();
    const before = await serialShown(port);
    await writeFile(join(folder, 'key'), 'no key');
    process.kill('SIGHUP');
    await eventually('it says so', () => process.stderr.includes('\n'));
    expect(process.stderr).toMatch(
      /^nest-dq: cannot reload the certificates, so the previous ones stay in use: DQ_CONFIG: `tls\.key` is not a private key: .*\n$/,
    );
    await rm(join(folder, 'cert'));
    process.kill('SIGHUP');
    await eventually('it says so again', () => process.stderr.split('\n').length === 3);
    expect(process.stderr).toContain(`--tls-cert: cannot read ${join(folder, 'cert')}: ENOENT`);
    expect(await serialShown(port)).toBe(before);
    await (await peer(port)).says(...USED);
  });

  it.each([
    [() => flags().slice(0, 1), 'serve: TLS needs both --tls-cert and --tls-key'],
    [() => mutual().slice(2), 'serve: TLS needs both --tls-cert and --tls-key'],
    [() => ['--tls-cert=/away', flags()[1]!], 'serve: --tls-cert: cannot read /away: ENOENT'],
    [() => [flags()[0]!, `--tls-key=${join(folder, 'ca')}`], 'serve: `tls.key` is not a private key'],
    [() => [...flags(), '--client-ca='], '--client-ca: invalid value "": expected the path of a file.'],
  ])('does not start with wrong files', async (args, message) => {
    const process = serve(...args());
    expect(await process.ended).toEqual({ code: 2, signal: null });
    expect(process.stderr).toContain(`nest-dq: ${message}`);
  });
});
