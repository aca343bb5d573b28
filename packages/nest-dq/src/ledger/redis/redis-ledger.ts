import type { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import { DqError, toError } from '../../errors.js';
import type { Clock, Timer } from '../../time/clock.js';
import { withinLimit } from '../call-limit.js';
import { LeaseKeeper, type StartKeeperThread } from '../lease-thread/lease-keeper.js';
import type { Ledger, LedgerListener, LedgerSettings } from '../ledger.js';
import { unchecked, unfitness } from './server-check.js';
import {
  CALL_LIMIT,
  isAboutDatabase,
  isCluster,
  isRefusal,
  ledgerConnection,
  SILENCE_LIMIT,
  type LedgerConnection,
  type RedisSource,
} from './connection.js';
import { RedisHandover } from './redis-handover.js';
import { RedisMaster } from './master.js';
import { RedisTubeLedger } from './redis-tube-ledger.js';
import { threadSource } from '../lease-thread/thread-source.js';

/** Milliseconds until the next attempt where ioredis makes none. */
const RECONNECT = 500;

/** Milliseconds. A tube that nobody asked for within this time is forgotten, until it is asked for again. */
const FORGET_EVERY = 60_000;

export interface RedisLedgerOptions {
  readonly redis: RedisSource;
  readonly settings: LedgerSettings;
  /** What every tube's name begins with. @default '' */
  readonly prefix?: string;
  readonly clock: Clock;
  /** Is told, once each, what is wrong with the server's settings, and why leases are not kept. */
  readonly warn: (message: string) => void;
  /** Keeps the leases of claimed jobs while the event loop is blocked; without it nobody does. */
  readonly startKeeper?: StartKeeperThread;
}

/** The ledger of many processes, in one Redis or a Redis Cluster. */
export class RedisLedger implements Ledger {
  private readonly connection: LedgerConnection;
  private readonly keeper: LeaseKeeper | undefined;
  private readonly tubes = new Map<string, RedisTubeLedger>();
  /** One for all tubes; in a cluster one for each, as any two may be on different masters, and move. */
  private readonly masters = new Map<string, RedisMaster>();
  private readonly awayMasters = new Set<RedisMaster>();
  private readonly listeners = new Set<LedgerListener>();
  private state: 'new' | 'started' | 'closed' = 'new';
  private checked = false;
  private forgetting: Timer | undefined;
  private reconnecting: Timer | undefined;
  private greeting: Timer | undefined;
  /** The server has refused the database of the options. */
  private noDatabase: DqError | undefined;
  private closing: Promise<void> | undefined;

  constructor(private readonly options: RedisLedgerOptions) {
    this.connection = ledgerConnection(options.redis);
    const { startKeeper: start, settings, prefix = '', warn } = options;
    const source = () => threadSource(this.connection);
    this.keeper = start && new LeaseKeeper({ start, source, settings, prefix, warn });
  }

  tube(name: string): RedisTubeLedger {
    let tube = this.tubes.get(name);
    if (!tube) {
      const base = baseOf(name);
      tube = new RedisTubeLedger(this.master(base), base, this.keeper?.tube(name));
      this.tubes.set(name, tube);
    }
    tube.used = true;
    this.forgetting ??= this.options.clock.after(FORGET_EVERY, () => this.forgetUnused());
    return tube;
  }

  get handover(): RedisHandover {
    const master = this.master(this.anyBase);
    const keys = [`${this.anyBase}:left`];
    return new RedisHandover((script, json) => master.call(script, keys, json));
  }

  /** As of any tube: a user of Redis may have rights for these keys only. */
  private get anyBase(): string {
    return baseOf(this.options.prefix ?? '');
  }

  start(): void {
    if (this.state !== 'new') return;
    this.state = 'started';
    if (!isCluster(this.connection)) this.master(this.anyBase); // so that it is asked although no tube is used yet
    for (const master of this.masters.values()) master.start();
    this.watch();
    this.connect();
  }

  /**
   * Starts, and looks whether the server has the database of the options: `DQ_CONFIG` if not, as ioredis would go on with
   * database 0. With a server that cannot be reached now, it is away until somebody gives it one.
   */
  open(): Promise<void> {
    const { connection } = this;
    const entered =
      isCluster(connection) || !connection.options.db
        ? Promise.resolve()
        : new Promise<void>((resolve, reject) => {
            connection.once('ready', () => this.noDatabase || resolve());
            connection.once('close', () => (this.noDatabase ? reject(this.noDatabase) : resolve()));
          });
    this.start();
    return this.limited(entered).catch((error: unknown) => {
      if (error !== this.noDatabase) return; // no answer yet
      throw error;
    });
  }

  listen(listener: LedgerListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Asks now whether all servers answer: of a cluster those that were used. Takes as long as a call at most. */
  async ping(): Promise<boolean> {
    if (this.connection.status !== 'ready') return false;
    const answers = await Promise.all(Array.from(this.masters.values(), (master) => master.ping()));
    return answers.every(Boolean);
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    const { connection } = this;
    this.state = 'closed';
    this.reconnecting?.cancel();
    this.greeting?.cancel();
    this.forgetting?.cancel();
    for (const master of this.masters.values()) master.close();
    await this.keeper?.close();
    // Quitting lets what is under way arrive; a server that is away needs no farewell.
    if (connection.status === 'ready') await this.limited(connection.quit()).catch(() => undefined);
    if (connection.status !== 'end') connection.disconnect();
  }

  private connect(): void {
    // A failure is told by `close`, and followed by the next attempt.
    this.connection.connect().catch(() => undefined);
  }

  /** A server may take a connection, and then say nothing. */
  private awaitReady(): void {
    const { clock } = this.options;
    this.greeting = clock.after(SILENCE_LIMIT, () =>
      clock.soon(() => {
        if (this.state === 'started' && this.connection.status === 'connect') this.reconnect();
      }),
    );
  }

  /** Of one server: those of a cluster's connections are ioredis' own matter. */
  private reconnect(): void {
    if (!isCluster(this.connection)) this.connection.disconnect(true);
  }

  private limited<T>(call: Promise<T>): Promise<T> {
    return withinLimit(this.options.clock, CALL_LIMIT, call);
  }

  private watch(): void {
    const events: EventEmitter = this.connection;
    let problem: Error | undefined;
    events.on('error', (error: Error) => {
      problem = error;
      if (isCluster(this.connection) || !isAboutDatabase(error)) return;
      problem = this.noDatabase = noDatabase(this.connection, error);
      this.connection.disconnect(true);
    });
    events.on('node error', (error: Error) => (problem = error));
    events.on('connect', () => this.awaitReady());
    events.on('ready', () => {
      this.greeting?.cancel();
      if (problem && problem === this.noDatabase) return; // the connection is closed already, and says so next
      problem = this.noDatabase = undefined;
      for (const master of this.masters.values()) master.connected();
      void this.check();
    });
    events.on('close', () => {
      this.greeting?.cancel();
      for (const master of this.masters.values())
        master.lost(problem ?? new Error('the connection was closed'));
    });
    events.on('+node', () => {
      for (const master of this.masters.values()) master.time.renew();
    });
    events.on('end', () => {
      // ioredis gives up on some errors, such as those of a resolver; we never do.
      if (this.state === 'started')
        this.reconnecting = this.options.clock.after(RECONNECT, () => this.connect());
    });
  }

  /** Warns of unfit settings, once in the life of this ledger, as soon as the server tells them. */
  private async check(): Promise<void> {
    if (this.checked) return;
    this.checked = true;
    const { connection } = this;
    const servers = isCluster(connection) ? connection.nodes('master') : [connection as Redis];
    const problems = new Set<string>();
    for (const server of servers) {
      try {
        for (const problem of unfitness(await this.limited(server.info()))) problems.add(problem);
      } catch (thrown) {
        const error = toError(thrown);
        if (isRefusal(error)) problems.add(unchecked(error));
        else this.checked = false; // it went away: asked again when it comes back
      }
    }
    if (this.state === 'started') for (const problem of problems) this.options.warn(problem);
  }

  private master(base: string): RedisMaster {
    const place = this.placeOf(base);
    let master = this.masters.get(place);
    if (!master) {
      master = new RedisMaster({
        connection: this.connection,
        probeKey: isCluster(this.connection) ? base : this.anyBase,
        settings: this.options.settings,
        clock: this.options.clock,
        start: () => this.start(),
        reconnect: () => this.reconnect(),
      });
      this.masters.set(place, master);
      this.tellOf(master);
      if (this.state === 'started') master.start();
      if (this.state === 'closed') master.close();
      if (this.connection.status === 'ready') master.connected();
    }
    return master;
  }

  /** Tubes may come and go. What is consumed is not forgotten, as it is listened to; others keep what they hold. */
  private forgetUnused(): void {
    this.forgetting = undefined;
    for (const [name, tube] of this.tubes) {
      const { used } = tube;
      tube.used = false;
      if (used) continue;
      const master = isCluster(this.connection) ? this.masters.get(baseOf(name)) : undefined;
      // This ledger listens to all of them.
      if (master && master.audience > 1) continue;
      this.tubes.delete(name);
      if (master) this.drop(baseOf(name), master);
    }
    if (this.state !== 'closed' && this.tubes.size > 0)
      this.forgetting = this.options.clock.after(FORGET_EVERY, () => this.forgetUnused());
  }

  private drop(place: string, master: RedisMaster): void {
    this.masters.delete(place);
    master.close();
    if (this.awayMasters.delete(master) && this.awayMasters.size === 0)
      for (const listener of this.listeners) listener.back(false);
  }

  private placeOf(base: string): string {
    return isCluster(this.connection) ? base : '';
  }

  private tellOf(master: RedisMaster): void {
    master.listen({
      away: (error, heardAt) => {
        const first = this.awayMasters.size === 0;
        this.awayMasters.add(master);
        if (first) for (const listener of this.listeners) listener.away(error, heardAt);
      },
      back: (sameServer) => {
        this.awayMasters.delete(master);
        if (this.awayMasters.size === 0) for (const listener of this.listeners) listener.back(sameServer);
      },
    });
  }
}

/** What the keys of a tube begin with, in one hash tag: all of a tube is in one slot. */
function baseOf(tube: string): string {
  return `{${tube}}:`;
}

function noDatabase({ options }: Redis, cause: Error): DqError {
  const fact = `the database ${options.db} of \`redis\` cannot be used`;
  return new DqError(
    'DQ_CONFIG',
    `${fact}: expected one that the server has and the user may select (${cause.message})`,
    {
      cause,
    },
  );
}
