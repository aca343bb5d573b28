/**
 * A beanstalkd inside a process, without Nest.
 * @module nest-dq/embedded
 */
import { resolve as resolvePath } from 'node:path';
import type { Duplex } from 'node:stream';
import { DEFAULT_PATIENCE } from '../disk/database.js';
import { Disk } from '../disk/disk.js';
import { checkMinFree } from '../disk/free-space.js';
import { DqError, unknownName, wrongValue } from '../errors.js';
import { systemClock, type Duration } from 'nest-handlers/time';
import { parseDuration } from '../time/duration.js';
import { InProcessNode } from './in-process-node.js';
import { LIMIT_NAMES, resolveLimits, type NodeLimits } from './capacity.js';
import {
  textOf,
  type ListenAddress,
  type ListenOptions,
  type ServingOptions,
  type SocketAddress,
  type SocketOptions,
} from './listen-options.js';
import { Listener } from './listener.js';
import type { TlsCertificates, ListenTlsOptions } from './tls.js';

export type {
  ListenAddress,
  ListenOptions,
  NodeLimits,
  ServingOptions,
  SocketAddress,
  SocketOptions,
  TlsCertificates,
  ListenTlsOptions,
};

/** Options of `EmbeddedNode.open`. */
export interface EmbeddedNodeOptions extends Partial<NodeLimits> {
  /**
   * The folder for the jobs, which requires the package `classic-level`; created if missing. A change is synced to disk before it
   * is answered. Present but undefined or empty is `DQ_CONFIG`, so that jobs never end up in memory by mistake.
   * @default none: jobs are in memory, and lost with the process
   */
  dir?: string;
  /** How long to wait while another process has the folder, as a `Duration`; 0 fails at once. @default '15s' */
  patience?: Duration;
  /**
   * Minimum free space on the file system of `dir`, in bytes. Below it each put is answered OUT_OF_MEMORY; 0 disables the check.
   * @default 64 MiB
   */
  minFree?: number;
  /** Receives warnings for the operator, one sentence each. @default they are dropped */
  warn?: (message: string) => void;
}

const OPTIONS = ['dir', 'patience', 'minFree', ...LIMIT_NAMES, 'warn'];

/**
 * A beanstalkd 1.12 in this process: `dial` connects from inside, and `listen` accepts any client of the protocol. It keeps no
 * process alive unless it listens.
 */
export class EmbeddedNode {
  private readonly listeners = new Set<Listener>();
  private closing: Promise<void> | undefined;

  /** Resolves when the node is closed; rejects with `DQ_DISK` if it closed on its own because its folder can't be written. */
  readonly closed: Promise<void>;
  private hasEnded: () => void = () => undefined;

  private constructor(
    private readonly node: InProcessNode,
    private readonly disk: Disk | undefined,
  ) {
    this.closed = new Promise((resolve, reject) => {
      this.hasEnded = () => (disk?.failure ? reject(disk.failure) : resolve());
    });
    this.closed.catch(() => undefined); // only callers who use it see it
    disk?.onFailure(() => void this.close());
  }

  /**
   * Opens a node. Rejects with `DQ_CONFIG` for a wrong option, with `DQ_BAD_DURATION`, and with `DQ_DISK` if the folder, which is
   * left as it is, is in use by another process, is damaged, has a newer format, contains other files, or can't be read or
   * written.
   */
  static async open(options: EmbeddedNodeOptions = {}): Promise<EmbeddedNode> {
    const { dir, limits, warn, ...settings } = resolve(options);
    const disk = dir === undefined ? undefined : await Disk.open(dir, systemClock, { ...settings, warn });
    try {
      const node = new InProcessNode(systemClock, disk, limits, warn);
      await node.load();
      return new EmbeddedNode(node, disk);
    } catch (error) {
      await disk?.close();
      throw error;
    }
  }

  /** Full path of the folder for the jobs; undefined if they are in memory. */
  get dir(): string | undefined {
    return this.disk?.dir;
  }

  /** Opens a connection, like a connected socket. On a closed node it fails with `DQ_CLOSED`. */
  dial(): Duplex {
    return this.node.dial();
  }

  /**
   * Serves the protocol over TCP, or on a unix socket; resolves with the address once it does. Can be called for several
   * addresses. Rejects with `DQ_CONFIG` and `DQ_BAD_DURATION` for a wrong option, `DQ_LISTEN` if it can't listen, `DQ_CLOSED` or
   * `DQ_DISK` once it is closed.
   */
  listen(options?: ListenOptions): Promise<ListenAddress>;
  listen(options: SocketOptions): Promise<SocketAddress>;
  listen(options: ListenOptions | SocketOptions): Promise<ListenAddress | SocketAddress>;
  async listen(options: ListenOptions | SocketOptions = {}): Promise<ListenAddress | SocketAddress> {
    this.refuseClosed();
    const listener = await Listener.open(options, this.node);
    this.listeners.add(listener);
    this.disk?.space.watch();
    if (this.closing) await listener.close();
    this.refuseClosed();
    return listener.address;
  }

  /**
   * Gives these certificates to new connections at an address that listens with TLS; existing ones aren't affected. Throws
   * `DQ_CONFIG` if they can't be used, or nothing listens there with TLS: the previous ones stay in use.
   */
  renewTls(where: ListenAddress | SocketAddress, certificates: TlsCertificates): void {
    const listener = [...this.listeners].find(({ address }) => textOf(address) === textOf(where));
    if (!listener) throw new DqError('DQ_CONFIG', `nothing is listening on ${textOf(where)}`);
    listener.renewTls(certificates);
  }

  /** Answers every put DRAINING from now on, like a beanstalkd that got SIGUSR1; jobs are still handed out. */
  drain(): void {
    this.node.drain();
  }

  /**
   * Ends all connections, those over TCP with the replies so far, and resolves when nothing is left and the folder is released:
   * within a second, plus the time the disk takes. Idempotent.
   */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  private async end(): Promise<void> {
    try {
      const closed = [...this.listeners].map((listener) => listener.close());
      this.node.close();
      await Promise.all(closed);
      await this.disk?.close();
    } finally {
      this.hasEnded();
    }
  }

  private refuseClosed(): void {
    if (this.closing) throw this.disk?.failure ?? new DqError('DQ_CLOSED', 'the embedded node is closed');
  }
}

function resolve(options: EmbeddedNodeOptions) {
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) throw unknownName('DQ_CONFIG', `option \`${unknown}\``, OPTIONS);
  const { dir, patience = DEFAULT_PATIENCE, warn = () => undefined } = options;
  if ('dir' in options && (typeof dir !== 'string' || dir === ''))
    throw wrongValue('DQ_CONFIG', '`dir`', dir, 'the path to a folder');
  if (typeof warn !== 'function')
    throw wrongValue('DQ_CONFIG', '`warn`', warn, 'a function that takes a string');
  return {
    dir: dir === undefined ? undefined : resolvePath(dir),
    patience: parseDuration(patience, '`patience`'),
    minFree: checkMinFree('minFree', options.minFree),
    limits: resolveLimits(options),
    warn,
  };
}
