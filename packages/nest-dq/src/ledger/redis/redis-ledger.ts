import type { Clock, Timer } from 'nest-handlers/time';
import type { DqError } from '../../errors.js';
import { LeaseThread, type StartLeaseWorker } from '../lease-thread/lease-thread.js';
import type { Ledger, LedgerListener, LedgerSettings } from '../ledger.js';
import type { LedgerView } from '../ledger-view.js';
import {
  define,
  isCluster,
  ledgerConnection,
  type LedgerConnection,
  type RedisSource,
  type ScriptName,
  type Scripts,
} from './connection.js';
import { Connector } from './connector.js';
import { ForeignJson } from '../foreign-json.js';
import { RedisHandover } from './redis-handover.js';
import { RedisIdentity, RedisKeyPrints } from './redis-identity.js';
import { RedisMaster } from './master.js';
import type { RawReply } from '../script.js';
import { RedisTubeLedger } from './redis-tube-ledger.js';
import { ServerCheck, serversOf, viewOf } from './server-check.js';
import { threadSource } from '../lease-thread/thread-source.js';

/** How often unused tubes are forgotten. A tube not used for this long is created again on its next use. */
const FORGET_EVERY_MS = 60_000;

export interface RedisLedgerOptions {
  readonly redis: RedisSource;
  readonly settings: LedgerSettings;
  /** The prefix of every tube's name. @default '' */
  readonly prefix?: string;
  readonly clock: Clock;
  /** Called once for each wrong setting of the server, and with the reason if leases aren't renewed. */
  readonly warn: (message: string) => void;
  /** Starts the thread that renews leases while the event loop is blocked. Without it nobody does. */
  readonly startLeaseWorker?: StartLeaseWorker;
}

/** The ledger of many processes, in one Redis or a Redis Cluster. */
export class RedisLedger implements Ledger {
  private readonly connection: LedgerConnection;
  private readonly connector: Connector;
  private readonly leaseThread: LeaseThread | undefined;
  private readonly tubes = new Map<string, RedisTubeLedger>();
  /** One for all tubes. In a cluster each tube has its own, because any two may be on different masters, and move. */
  private readonly masters = new Map<string, RedisMaster>();
  private readonly awayMasters = new Set<RedisMaster>();
  private readonly listeners = new Set<LedgerListener>();
  /**
   * Base of the keys shared by all processes of the prefix. It looks like a tube's, since the Redis user may only have permission
   * for such keys; no tube name contains a colon. A Redis Cluster doesn't treat empty braces as a hash tag.
   */
  readonly sharedBase: string;
  readonly handover: RedisHandover;
  readonly identity: RedisIdentity;
  readonly keyPrints: RedisKeyPrints;
  private state: 'new' | 'started' | 'closed' = 'new';
  private forgetting: Timer | undefined;
  private closing: Promise<void> | undefined;
  /** Why nothing may start here. */
  private refusal: (() => DqError) | undefined;

  constructor(private readonly options: RedisLedgerOptions) {
    const { redis, clock, startLeaseWorker: start, settings, prefix = '', warn } = options;
    this.sharedBase = baseOf(`${prefix}:`);
    this.connection = ledgerConnection(redis);
    const check = new ServerCheck(this.connection, clock, (problem) => {
      if (this.state === 'started') warn(problem);
    });
    this.connector = new Connector(this.connection, clock, {
      connected: () => {
        for (const master of this.masters.values()) master.connected();
        void check.run();
      },
      lost: (error) => {
        for (const master of this.masters.values()) master.lost(error);
      },
      nodeAdded: () => {
        for (const master of this.masters.values()) master.time.renew();
      },
    });
    const source = () => threadSource(this.connection);
    this.leaseThread = start && new LeaseThread({ start, source, settings, prefix, warn });

    const about = (name: string) => (script: ScriptName, json: string) =>
      this.callShared(script, [`${this.sharedBase}:${name}`], json);
    const [identity, prints] = [about('ledger'), about('seal-keys')];
    this.identity = new RedisIdentity(
      (json) => identity('dq:identity', json),
      (why) => (this.refusal = why),
    );
    this.keyPrints = new RedisKeyPrints((json) => prints('dq:keyPrints', json));
    this.handover = new RedisHandover(new ForeignJson(warn), about('left'));
  }

  /** Registers more scripts for `callShared`. */
  define(scripts: Scripts): void {
    define(this.connection, scripts);
  }

  /** Calls a script about what all processes of the prefix share. Each key starts with `sharedBase`, so that all are in one slot. */
  callShared(script: ScriptName, keys: string[], json: string): Promise<RawReply> {
    return this.master(this.sharedBase).call(script, keys, json);
  }

  /** In a cluster each master has its own time: this is that of the master with the shared keys. */
  now(): number {
    return this.master(this.sharedBase).time.now();
  }

  tube(name: string): RedisTubeLedger {
    let tube = this.tubes.get(name);
    if (!tube) {
      const base = baseOf(name);
      const refusal = () => this.refusal?.();
      tube = new RedisTubeLedger(this.master(base), base, this.leaseThread?.tube(name), refusal);
      this.tubes.set(name, tube);
    }
    tube.used = true;
    this.forgetSoon();
    return tube;
  }

  start(): void {
    if (this.state !== 'new') return;
    this.state = 'started';
    if (!isCluster(this.connection)) this.master(this.sharedBase); // so that it is probed before any tube is used
    for (const master of this.masters.values()) master.start();
    this.connector.start();
  }

  /**
   * Starts, and rejects with `DQ_CONFIG` if the server doesn't have the database of the options, because ioredis would continue
   * with database 0. A server that can't be reached now stays away until it has that database.
   */
  open(): Promise<void> {
    const accepted = this.connector.databaseAccepted();
    this.start();
    return accepted;
  }

  listen(listener: LedgerListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Checks now whether all servers answer; in a cluster only those in use. Takes at most as long as a call. */
  async ping(): Promise<boolean> {
    if (this.connection.status !== 'ready') return false;
    const answers = await Promise.all(Array.from(this.masters.values(), (master) => master.ping()));
    return answers.every(Boolean);
  }

  /** Checks as `ping` does. Resolves with undefined if all answer, otherwise with the reason, and since when by the machine's clock. */
  async whyDown(): Promise<{ reason: string; since?: Date } | undefined> {
    if (await this.ping()) return undefined;
    const masters = this.awayMasters.size > 0 ? this.awayMasters : this.masters.values();
    for (const { lastProblem: reason, awaySince } of masters)
      return { reason, ...(awaySince !== undefined && { since: new Date(awaySince) }) };
    return { reason: this.master(this.sharedBase).lastProblem };
  }

  /** Inspects all servers now. Takes at most as long as a call, and never rejects. */
  async view(): Promise<LedgerView> {
    const { connection, options } = this;
    const { clock } = options;
    const master = this.master(this.sharedBase);
    const looks = serversOf(connection).map((server) => viewOf(server, clock, () => master.lastProblem));
    const [up, servers] = await Promise.all([this.ping(), Promise.all(looks)]);
    const { time, lastProblem } = master;
    return {
      kind: isCluster(connection) ? 'cluster' : 'redis',
      up,
      ...(!up && { reason: lastProblem }),
      ...(time.known && { clockAhead: clock.wall() - time.now() }),
      servers: servers.map(({ server }) => server),
      problems: [...new Set(servers.flatMap(({ problems }) => problems))],
    };
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    this.state = 'closed';
    this.forgetting?.cancel();
    for (const master of this.masters.values()) master.close();
    await Promise.all([this.connector.close(), this.leaseThread?.close()]);
  }

  private master(base: string): RedisMaster {
    const place = isCluster(this.connection) ? base : this.sharedBase;
    let master = this.masters.get(place);
    if (!master) {
      master = new RedisMaster({
        connection: this.connection,
        probeKey: place,
        settings: this.options.settings,
        clock: this.options.clock,
        start: () => this.start(),
        reconnect: () => this.connector.reconnect(),
      });
      this.masters.set(place, master);
      this.listenTo(master);
      if (this.state === 'started') master.start();
      if (this.state === 'closed') master.close();
      if (this.connection.status === 'ready') master.connected();
    }
    return master;
  }

  /**
   * Forgets unused tubes, which may come and go. A consumed tube stays, because somebody listens to it. Others may keep using a
   * forgotten one.
   */
  private forgetUnused(): void {
    this.forgetting = undefined;
    for (const [name, tube] of this.tubes) {
      const { used } = tube;
      tube.used = false;
      if (used) continue;
      const place = baseOf(name); // the place of a master only in a cluster
      const master = this.masters.get(place);
      // The ledger itself is one listener of each.
      if (master && master.audience > 1) continue;
      this.tubes.delete(name);
      if (!master) continue;
      this.masters.delete(place);
      master.close();
      this.isBack(master, false);
    }
    if (this.tubes.size > 0) this.forgetSoon();
  }

  private forgetSoon(): void {
    if (this.state === 'closed') return;
    this.forgetting ??= this.options.clock.after(FORGET_EVERY_MS, () => this.forgetUnused());
  }

  private listenTo(master: RedisMaster): void {
    master.listen({
      away: (error, heardAt) => {
        const first = this.awayMasters.size === 0;
        this.awayMasters.add(master);
        if (first) for (const listener of this.listeners) listener.away(error, heardAt);
      },
      back: (sameServer) => this.isBack(master, sameServer),
    });
  }

  private isBack(master: RedisMaster, sameServer: boolean): void {
    if (this.awayMasters.delete(master) && this.awayMasters.size === 0)
      for (const listener of this.listeners) listener.back(sameServer);
  }
}

/** The base of a tube's keys. It is a hash tag, so all keys of a tube are in one slot. */
function baseOf(tube: string): string {
  return `{${tube}}:`;
}
