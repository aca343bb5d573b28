import { type Arguments, type Command, type Flags, print } from 'nest-handlers/cli';
import {
  type ListenAddress,
  type ListenOptions,
  resolveServing,
  type ServingOptions,
  type SocketAddress,
  type SocketOptions,
  textOf,
} from '../embedded/listen-options.js';
import { EmbeddedNode, type EmbeddedNodeOptions } from '../embedded/embedded-node.js';
import { leastBuffers } from '../embedded/capacity.js';
import { type DqError, factOf, toError } from '../errors.js';
import { VERSION } from '../fleet/version.js';
import { askedToEnd, ENDING, note } from './process.js';
import type { TlsCertificates } from '../embedded/tls.js';
import { readFlagFile } from './flag-file.js';

const MAX = Number.MAX_SAFE_INTEGER;

const TLS_FLAGS: Flags = {
  'tls-cert': {
    value: 'FILE',
    help: 'enable TLS with this certificate, followed by any intermediates, in PEM;\nSIGHUP reloads the files',
  },
  'tls-key': { value: 'FILE', help: 'private key of the certificate, in PEM, without a passphrase' },
  'client-ca': {
    value: 'FILE',
    help: 'only accept clients with a certificate from this authority, in PEM (default: all clients)',
  },
};

/** Runs an embedded node as a standalone server, for tools and programs in other languages. */
export const serve: Command = {
  name: 'serve',
  summary: "Run a server that speaks beanstalkd's protocol, until SIGTERM, SIGINT or SIGHUP.",
  about:
    'SIGUSR1: accept no more jobs, but hand out the stored ones.\n' +
    'SIGHUP with TLS: reload the certificates and keep running.',
  flags: {
    port: { value: 'PORT', help: 'port to listen on; 0: any free port (default 11300)' },
    host: {
      value: 'HOST',
      help: 'name or address to listen on (default 127.0.0.1); whoever can connect has full access',
    },
    socket: {
      value: 'PATH',
      help: 'unix socket instead of a port and a host, accessible only to this user (mode 0600)',
    },
    ...TLS_FLAGS,
    dir: {
      value: 'FOLDER',
      help:
        'folder for the jobs, created if missing (default: in memory, lost with the process);\n' +
        'requires a package: npx -p nest-dq -p classic-level@3 nest-dq serve --dir FOLDER',
    },
    patience: {
      value: 'SECONDS',
      help: 'how long to wait if another process is using the folder (default 15)',
    },
    'min-free': {
      value: 'BYTES',
      help: 'min free disk space; below it, puts are answered OUT_OF_MEMORY; 0: no limit (default 67108864)',
    },
    'max-connections': {
      value: 'N',
      help: 'max connections; further ones are closed immediately (default 1024)',
    },
    idle: {
      value: 'SECONDS',
      help: 'close connections that are idle for this long (default: never)',
    },
    deny: {
      value: 'COMMANDS',
      help: 'commands to answer UNKNOWN_COMMAND, comma-separated, such as pause-tube,kick',
    },
    'read-only': { help: 'allow only peek…, stats…, list-…, use and quit' },
    'max-job-size': { value: 'BYTES', help: 'max size of a job body (default 65535)' },
    'max-jobs': { value: 'N', help: 'max jobs; further ones are answered OUT_OF_MEMORY (default: no limit)' },
    'max-memory': {
      value: 'BYTES',
      help: 'max memory of all jobs: their bodies plus 300 each; further ones are answered OUT_OF_MEMORY (default: no limit)',
    },
    'max-tubes': { value: 'N', help: 'max tubes; further ones are answered OUT_OF_MEMORY (default 100000)' },
    'max-watched': {
      value: 'N',
      help: 'max tubes watched per connection; further ones are answered OUT_OF_MEMORY (default 10000)',
    },
    'max-buffers': {
      value: 'BYTES',
      help: 'max input and replies held for all connections; above it, the one holding most is closed (default 268435456)',
    },
  },
  status: '0 stopped by a signal; 1 could not start or continue',
  examples: ['nest-dq serve --port 0 --dir ./data'],
  run,
};

interface ServeSettings {
  readonly node: EmbeddedNodeOptions;
  readonly listen: ListenOptions | SocketOptions;
  readonly tls: TlsFiles | undefined;
}

function settingsOf(args: Arguments): ServeSettings {
  const tls = TlsFiles.of(args);
  const listen = { ...placeOf(args), ...servingOf(args), ...(tls && { tls: tls.read() }) };
  try {
    resolveServing(listen);
  } catch (error) {
    throw args.wrong(`${factOf(error as DqError)}.`);
  }
  return { node: nodeOf(args), listen, tls };
}

function nodeOf(args: Arguments): EmbeddedNodeOptions {
  const dir = args.text('dir', 'the path of a folder');
  const patience = args.count('patience', 0, 1_000_000);
  const maxJobSize = args.count('max-job-size', 1, 2 ** 30);
  return {
    ...(dir !== undefined && { dir }),
    ...(patience !== undefined && { patience: patience * 1_000 }),
    minFree: args.count('min-free', 0, MAX),
    maxJobSize,
    maxJobs: args.count('max-jobs', 1, MAX),
    maxMemory: args.count('max-memory', 1, MAX),
    maxTubes: args.count('max-tubes', 1, MAX),
    maxWatched: args.count('max-watched', 1, MAX),
    maxBuffers: args.count('max-buffers', leastBuffers(maxJobSize), MAX),
  };
}

function placeOf(args: Arguments): ListenOptions | SocketOptions {
  const host = args.text('host', 'a name or an address');
  const port = args.count('port', 0, 65_535);
  const path = args.text('socket', 'the path of a unix socket');
  if (path === undefined) return { host, port };
  if (host === undefined && port === undefined) return { path };
  throw args.wrong('--socket replaces --port and --host: expected one or the other.');
}

function servingOf(args: Arguments): ServingOptions {
  const idle = args.count('idle', 1, 10_000_000);
  return {
    maxConnections: args.count('max-connections', 1, 1_000_000),
    ...(idle !== undefined && { idle: idle * 1_000 }),
    deny: args.text('deny', 'comma-separated commands')?.split(','),
    readOnly: args.has('read-only'),
  };
}

async function run(args: Arguments): Promise<void> {
  const { node: settings, listen, tls } = settingsOf(args);
  process.umask(0o077); // only its user may access what it stores: folders get mode 0700, and files 0600
  const signals = new Signals(tls !== undefined);
  const opening = EmbeddedNode.open({ ...settings, warn: note });
  await Promise.race([opening, signals.asked]);
  if (signals.isAsked) process.exit(0); // a folder survives a process that ends at any moment
  const node = await opening;
  try {
    signals.drain.act(() => drain(node));
    const address = await node.listen(listen);
    if (signals.isAsked) return;
    if (tls) signals.renew?.act(() => renew(node, address, tls));
    print(`nest-dq ${VERSION} listens on ${textOf(address)}; jobs are stored in ${node.dir ?? 'memory'}\n`);
    await Promise.race([signals.asked, node.closed]);
  } finally {
    await node.close();
  }
}

function drain(node: EmbeddedNode): void {
  node.drain();
  note('draining: accepting no more jobs');
}

function renew(node: EmbeddedNode, address: ListenAddress | SocketAddress, tls: TlsFiles): void {
  try {
    node.renewTls(address, tls.read());
    note('certificates reloaded for new connections');
  } catch (error) {
    note(`cannot reload the certificates, so the previous ones stay in use: ${toError(error).message}`);
  }
}

/** Handles an operator's signals. It listens from the start, because SIGUSR1 without a listener opens Node's debugger. */
class Signals {
  isAsked = false;
  /** Resolves when the process is asked to end. */
  readonly asked: Promise<void>;
  readonly drain = new Wish('SIGUSR1');
  /** Only with TLS. Without it, the same signal ends the process. */
  readonly renew: Wish | undefined;

  constructor(hasTls: boolean) {
    this.renew = hasTls ? new Wish('SIGHUP') : undefined;
    this.asked = askedToEnd(ENDING.filter((signal) => !hasTls || signal !== 'SIGHUP'));
    void this.asked.then(() => (this.isAsked = true));
  }
}

/** A signal that requests an action. If it arrives before `act` is called, it is remembered. */
class Wish {
  private isMade = false;
  private fulfil: (() => void) | undefined;

  constructor(signal: NodeJS.Signals) {
    process.on(signal, () => {
      this.isMade = true;
      this.fulfil?.();
    });
  }

  /** Calls `fulfil` on each signal, and immediately if one has already arrived. */
  act(fulfil: () => void): void {
    this.fulfil = fulfil;
    if (this.isMade) fulfil();
  }
}

/** The TLS files named by the flags. */
class TlsFiles {
  private constructor(
    private readonly args: Arguments,
    private readonly cert: string,
    private readonly key: string,
    private readonly clientCa: string | undefined,
  ) {}

  /** Returns undefined if none were named. */
  static of(args: Arguments): TlsFiles | undefined {
    const file = (flag: string) => args.text(flag, 'the path of a file');
    const [cert, key, clientCa] = [file('tls-cert'), file('tls-key'), file('client-ca')];
    if (cert !== undefined && key !== undefined) return new TlsFiles(args, cert, key, clientCa);
    if (cert === undefined && key === undefined && clientCa === undefined) return undefined;
    throw args.wrong('TLS needs both --tls-cert and --tls-key, and optionally --client-ca.');
  }

  /** Reads their current content. Throws `WrongArguments` if one can't be read. */
  read(): TlsCertificates {
    const read = (flag: string, path: string) => readFlagFile(this.args, flag, path);
    return {
      cert: read('tls-cert', this.cert),
      key: read('tls-key', this.key),
      ...(this.clientCa !== undefined && { clientCa: read('client-ca', this.clientCa) }),
    };
  }
}
