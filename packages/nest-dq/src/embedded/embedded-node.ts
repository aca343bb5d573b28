/**
 * A beanstalkd inside of a process, without Nest.
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
import { LIMIT_NAMES, resolveLimits, type NodeLimits } from './limits.js';
import {
  textOf,
  type ListenAddress,
  type ListenOptions,
  type ServingOptions,
  type SocketAddress,
  type SocketOptions,
} from './listen-options.js';
import { Listener } from './listener.js';
import type { TlsCertificates, TlsOptions } from './tls.js';

export type {
  ListenAddress,
  ListenOptions,
  NodeLimits,
  ServingOptions,
  SocketAddress,
  SocketOptions,
  TlsCertificates,
  TlsOptions,
};

/** What `EmbeddedNode.open` takes. */
export interface EmbeddedNodeOptions extends Partial<NodeLimits> {
  /**
   * The folder that keeps the jobs, which needs the package `classic-level`; it is made if there is none. A change is on disk, synced, before it is answered.
   * Present but undefined or empty is `DQ_CONFIG`, never a silent memory.
   * @default none: jobs are in memory, and gone with the process
   */
  dir?: string;
  /** How long an opening waits while another process has the folder, in a `Duration`; 0 fails at once. @default '15s' */
  patience?: Duration;
  /** Bytes. While the file system of `dir` has less free, each put is answered OUT_OF_MEMORY; 0: no limit. @default 64 MiB */
  minFree?: number;
  /** Gets warnings for the operator, one sentence each. @default they are dropped */
  warn?: (message: string) => void;
}

const OPTIONS = ['dir', 'patience', 'minFree', ...LIMIT_NAMES, 'warn'];

/**
 * A beanstalkd 1.12 in this process: `dial` connects from inside, and `listen` lets any client of the protocol in.
 * It keeps no process alive unless it listens.
 */
export class EmbeddedNode {
  private readonly listeners = new Set<Listener>();
  private closing: Promise<void> | undefined;

  /** Resolves when the node was closed; rejects with `DQ_DISK` when it closed by itself, as its folder cannot be written. */
  readonly closed: Promise<void>;
  private hasEnded: () => void = () => undefined;

  private constructor(
    private readonly node: InProcessNode,
    private readonly disk: Disk | undefined,
  ) {
    this.closed = new Promise((resolve, reject) => {
      this.hasEnded = () => (disk?.failure ? reject(disk.failure) : resolve());
    });
    this.closed.catch(() => undefined); // only those who ask for it see it
    disk?.onFailure(() => void this.close());
  }

  /**
   * Opens a node. `DQ_CONFIG` for a wrong option; `DQ_BAD_DURATION`; `DQ_DISK`, and the folder is left as it is: in use by
   * another process, damaged, of a newer format, with other files in it, not to be read or written.
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

  /** The folder that keeps the jobs, as a full path; undefined: they are in memory. */
  get dir(): string | undefined {
    return this.disk?.dir;
  }

  /** A new connection, as a connected socket would be. From a closed node it fails with the error `DQ_CLOSED`. */
  dial(): Duplex {
    return this.node.dial();
  }

  /**
   * Serves the protocol over TCP, or on a unix socket; resolves, to where, once it does. It can be called for several places.
   * `DQ_CONFIG` and `DQ_BAD_DURATION` for a wrong option, `DQ_LISTEN` where it cannot listen, `DQ_CLOSED` or `DQ_DISK` once it
   * is closed.
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
   * New connections at a place that listens with TLS get these certificates; those that there are go on undisturbed.
   * `DQ_CONFIG` where they cannot be used, or nothing listens with TLS: what was in use before stays in use.
   */
  renewTls(where: ListenAddress | SocketAddress, certificates: TlsCertificates): void {
    const listener = [...this.listeners].find(({ address }) => textOf(address) === textOf(where));
    if (!listener) throw new DqError('DQ_CONFIG', `nothing listens on ${textOf(where)}`);
    listener.renewTls(certificates);
  }

  /** From now on every put is answered DRAINING, as by a beanstalkd that got SIGUSR1; jobs are handed out as ever. */
  drain(): void {
    this.node.drain();
  }

  /**
   * Ends all connections, those over TCP with the replies so far, and resolves when nothing is left and the folder is
   * free: a second later at most, beside what the disk takes. Idempotent.
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
    throw wrongValue('DQ_CONFIG', '`dir`', dir, 'the path of a folder');
  if (typeof warn !== 'function')
    throw wrongValue('DQ_CONFIG', '`warn`', warn, 'a function that takes a text');
  return {
    dir: dir === undefined ? undefined : resolvePath(dir),
    patience: parseDuration(patience, '`patience`'),
    minFree: checkMinFree('minFree', options.minFree),
    limits: resolveLimits(options),
    warn,
  };
}
