// stunnel, which takes TLS from clients and talks to a server without it.
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { KeyPair } from './certificate.js';
import type { Place } from './place.js';
import { ensurePackaged } from './programs.js';
import { Server, startSomewhere } from './server.js';
import type { Exit } from './server-process.js';
import type { Address } from './wire.js';

export interface StunnelOptions {
  /** The server behind it. */
  readonly target: Address;
  /** Its own, which it shows to clients. */
  readonly certificate: KeyPair;
  /** The authority whose certificates clients must have: a PEM text. @default they need none */
  readonly clientCa?: string;
}

const PORTS = { first: 20_000, last: 29_998 };
const REPLY_LIMIT = 5_000;

/** A stunnel process on 127.0.0.1. */
export class StunnelServer extends Server {
  /** `tls://127.0.0.1:port` */
  readonly endpoint: string;
  /** The certificate it shows to clients from its next start on. */
  certificate: KeyPair;

  constructor(
    program: string,
    place: Place,
    private readonly options: StunnelOptions,
  ) {
    super(program, place);
    this.endpoint = `tls://${this.host}:${this.port}`;
    this.certificate = options.certificate;
  }

  protected override async prepare(): Promise<void> {
    const { target, clientCa } = this.options;
    const { key, certificate } = this.certificate;
    const lines = [
      'foreground = yes',
      'pid =',
      '[server]',
      `accept = ${this.host}:${this.port}`,
      `connect = ${target.host}:${target.port}`,
      `key = ${await this.file('key', key)}`,
      `cert = ${await this.file('certificate', certificate)}`,
      'sslVersionMin = TLSv1.2',
      'socket = l:TCP_NODELAY=1',
      'socket = r:TCP_NODELAY=1',
      ...(clientCa === undefined ? [] : ['verifyChain = yes', `CAfile = ${await this.file('ca', clientCa)}`]),
    ];
    await this.file('config', `${lines.join('\n')}\n`);
  }

  protected override args(): string[] {
    return [join(this.data, 'config')];
  }

  /** No other server has its certificate. */
  protected override async serves(): Promise<boolean> {
    const socket = connect({ host: this.host, port: this.port, rejectUnauthorized: false });
    try {
      await once(socket, 'secureConnect', { signal: AbortSignal.timeout(REPLY_LIMIT) });
      const shown = socket.getPeerX509Certificate()?.fingerprint256;
      return shown === new X509Certificate(this.certificate.certificate).fingerprint256;
    } finally {
      socket.on('error', () => undefined); // it was no client of the right authority
      socket.destroy();
    }
  }

  protected override foundPortTaken(_exit: Exit, output: string): boolean {
    return output.includes('Address already in use');
  }

  private async file(name: string, content: string): Promise<string> {
    const path = join(this.data, name);
    await writeFile(path, content, { mode: 0o600 });
    return path;
  }
}

/** Starts a stunnel on a free port; resolves when it takes connections. */
export async function startStunnel(options: StunnelOptions): Promise<StunnelServer> {
  const program = await ensurePackaged('stunnel');
  return startSomewhere('stunnel', PORTS, (place) => new StunnelServer(program, place, options));
}
