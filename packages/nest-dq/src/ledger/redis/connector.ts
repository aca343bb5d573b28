import type { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { detached } from 'nest-handlers/context';
import { DqError } from '../../errors.js';
import type { Clock, Timer } from 'nest-handlers/time';
import { NoAnswer, withinLimit } from '../../time/call-limit.js';
import {
  CALL_LIMIT_MS,
  isAboutDatabase,
  isCluster,
  SILENCE_LIMIT_MS,
  withoutArguments,
  type LedgerConnection,
} from './connection.js';

/** Pause before reconnecting where ioredis doesn't. */
const RECONNECT_MS = 500;

export interface ConnectorListener {
  connected(): void;
  lost(error: Error): void;
  /** A Redis Cluster has a new node. */
  nodeAdded(): void;
}

/** Opens the ledger's connection, and reopens it until closed. */
export class Connector {
  private closed = false;
  private reconnecting: Timer | undefined;
  private greeting: Timer | undefined;
  /** Why there is no connection, as far as it reported. */
  private problem: Error | undefined;
  /** Set if the server refused the database of the options. */
  private noDatabase: DqError | undefined;

  constructor(
    private readonly connection: LedgerConnection,
    private readonly clock: Clock,
    private readonly listener: ConnectorListener,
  ) {}

  start(): void {
    this.listen();
    this.connect();
  }

  /**
   * Resolves once the server has accepted the database of the options, or can't be reached now. Rejects with `DQ_CONFIG` if the
   * server refused the database, because ioredis would continue with database 0.
   */
  async databaseAccepted(): Promise<void> {
    const { connection } = this;
    if (isCluster(connection) || !connection.options.db) return;
    const accepted = new Promise<void>((resolve, reject) => {
      connection.once('ready', () => this.noDatabase || resolve());
      connection.once('close', () => (this.noDatabase ? reject(this.noDatabase) : resolve()));
    });
    await withinLimit(this.clock, CALL_LIMIT_MS, accepted).catch((error: unknown) => {
      if (error === this.noDatabase) throw error;
    });
  }

  /** Replaces a silent connection. ioredis does this itself for the nodes of a Redis Cluster. */
  reconnect(): void {
    if (isCluster(this.connection)) return;
    this.problem ??= new NoAnswer(SILENCE_LIMIT_MS);
    this.connection.disconnect(true);
  }

  async close(): Promise<void> {
    const { connection } = this;
    this.closed = true;
    this.reconnecting?.cancel();
    this.greeting?.cancel();
    // `quit` lets sent calls arrive. A server that is away isn't informed.
    if (connection.status === 'ready') {
      await withinLimit(this.clock, CALL_LIMIT_MS, connection.quit()).catch(() => undefined);
    }
    if (connection.status !== 'end') connection.disconnect();
  }

  private connect(): void {
    // After a failure, `close` reports it and the next attempt follows.
    detached(() => this.connection.connect()).catch(() => undefined);
  }

  private listen(): void {
    const events: EventEmitter = this.connection;
    events.on('error', (error: Error) => this.failed(withoutArguments(error)));
    events.on('node error', (error: Error) => (this.problem = withoutArguments(error)));
    events.on('connect', () => this.awaitReady());
    events.on('ready', () => this.ready());
    events.on('close', () => {
      this.greeting?.cancel();
      this.listener.lost(this.problem ?? new Error('the connection was closed'));
    });
    events.on('+node', () => this.listener.nodeAdded());
    events.on('end', () => {
      // ioredis gives up after some errors, such as those of a resolver; the ledger never does.
      if (!this.closed) this.reconnecting = this.clock.after(RECONNECT_MS, () => this.connect());
    });
  }

  private failed(error: Error): void {
    const { connection } = this;
    this.problem = error;
    if (isCluster(connection)) return;
    // While no sentinel names a master, there is no connection that could close.
    if (connection.options.sentinels && connection.status === 'connecting') this.listener.lost(error);
    if (!isAboutDatabase(error)) return;
    this.problem = this.noDatabase = noDatabase(connection, error);
    connection.disconnect(true);
  }

  private ready(): void {
    this.greeting?.cancel();
    if (this.problem && this.problem === this.noDatabase) return; // already disconnected: `close` comes next
    this.problem = this.noDatabase = undefined;
    this.listener.connected();
  }

  /** Gives up on a server that accepted the connection but says nothing. */
  private awaitReady(): void {
    this.greeting = this.clock.after(SILENCE_LIMIT_MS, () =>
      this.clock.soon(() => {
        if (!this.closed && this.connection.status === 'connect') this.reconnect();
      }),
    );
  }
}

function noDatabase({ options }: Redis, cause: Error): DqError {
  const fact = `the database ${options.db} of \`redis\` cannot be used`;
  return new DqError(
    'DQ_CONFIG',
    `${fact}: expected one that exists and that the user may select (${cause.message})`,
    { cause },
  );
}
