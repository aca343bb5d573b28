// ◆ marks a rule of docs/internals/delivery.md.
import { createHash, randomBytes } from 'node:crypto';
import type { Connection, Done } from '../beanstalk/connection.js';
import { DqError, toError } from '../errors.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { ClusterNode } from './cluster-node.js';
import type { Cluster } from './cluster.js';

/** How long the first look waits for the nodes' first answers. */
const FIRST_ANSWERS_MS = 500;
/** Interval between two rounds. A ledger that lost its data has its identity back within it. */
const ROUND_EVERY_MS = 5_000;
/** How long a newcomer leaves it to the others to restore the identity its Redis has lost, and how often it looks. */
const LOST_IDENTITY_MS = ROUND_EVERY_MS + 1_000;
const LOST_IDENTITY_LOOK_MS = 500;
/** Interval between two looks at the nodes' tubes by an admitted process; up to half more, so that processes take turns. */
const LOOK_EVERY_MS = 60_000;
/** In ms. By then, one of two processes that announced at the same time has withdrawn. */
const TIE = 1_000;

const IDENTITY = /^[0-9a-f]{16}$/;

/** The ledger of other processes, as seen on one node. */
export interface OtherLedger {
  /** Identity of the other ledger. */
  readonly id: string;
  /** Endpoint of the node. */
  readonly node: string;
  /** Identity of this process's ledger. */
  readonly ours: string;
}

interface AdmissionListener {
  /** This process may run jobs. */
  admitted?(): void;
  /** It may not run jobs for now. Called on each look that finds the other ledger. */
  refused?(other: OtherLedger): void;
  /** The ledger's identity can't be read. Called on each look. */
  unidentified?(error: Error): void;
  /** It keeps running jobs, and so does another ledger. Called on each look. */
  shared?(other: OtherLedger): void;
}

interface AdmissionParts {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly prefix: string;
  /** If false, this process runs no jobs: it looks, but announces nothing. */
  readonly consume: boolean;
  /** Resolves with the ledger's identity, which becomes `known` if it has none. Rejects while the ledger is away. */
  readonly identify: (known: string) => Promise<string>;
  /** Resolves with whether the ledger has no identity, so that `identify` would store one. */
  readonly isUnknown: () => Promise<boolean>;
}

/** Returns the error of calls in a process that was refused. */
export function otherLedgerError({ id, node, ours }: OtherLedger): DqError {
  return new DqError(
    'DQ_OTHER_LEDGER',
    `the Redis of this process has the ledger ${ours}, but other processes at ${node} use the ledger ${id}: expected the same \`redis\` in all processes`,
  );
}

/** Returns the prefix of all tubes that announce ledgers of a prefix. It contains a hash of the prefix, which may be too long. */
export function announcementsOf(prefix: string): string {
  return `dq-ledger.${hashOf(prefix)}.`;
}

/** As `announcementsOf`, for tubes that announce that the ledger is away, by the second in which that began. */
function awayOf(prefix: string): string {
  return `dq-away.${hashOf(prefix)}.`;
}

function hashOf(prefix: string): string {
  return createHash('sha256').update(prefix).digest('hex').slice(0, 16);
}

/** Returns whether a tube only announces a ledger, or that it is away, of any prefix. */
export function isAnnouncement(tube: string): boolean {
  return /^dq-(ledger\.[0-9a-f]{16}\.[0-9a-f]{16}|away\.[0-9a-f]{16}\.\d{1,11})$/.test(tube);
}

/** Returns since when the ledger is away for processes of a prefix, as these tubes of a node show it. Undefined if for none. */
export function awaySinceIn(tubes: readonly string[], prefix: string): Date | undefined {
  const beginning = awayOf(prefix);
  const times = tubes
    .filter((tube) => isAnnouncement(tube) && tube.startsWith(beginning))
    .map((tube) => Number(tube.slice(beginning.length)) * 1_000);
  return times.length === 0 ? undefined : new Date(Math.min(...times));
}

/** Returns the identities of the ledgers announced by these tubes of a node. */
export function announcedIn(tubes: readonly string[], prefix: string): string[] {
  const beginning = announcementsOf(prefix);
  return tubes.flatMap((tube) => {
    const id = tube.startsWith(beginning) ? tube.slice(beginning.length) : '';
    return IDENTITY.test(id) ? [id] : [];
  });
}

/**
 * Ensures that the jobs of a node are decided in one ledger: processes with two would run each job twice ◆.
 *
 * An admitted process watches a tube on each node that is named after its ledger's identity. The tube exists on a node exactly as
 * long as somebody watches it, so it shows which ledgers are in use now, without a clock and without leaving anything behind. A
 * process looks for tubes of other ledgers before it watches its own and once more afterwards: of two that start at the same
 * time, at least one sees the other. The newcomer is refused until no other ledger is left.
 *
 * While its ledger is away, an admitted process watches a second tube, which says since when: nobody can read that from the ledger.
 */
export class Admission {
  /** Whether this process may reserve and claim. False until its first look. */
  admitted = false;
  /** The other ledger that caused the refusal, or that it shares the nodes with. */
  other: OtherLedger | undefined;

  private id = randomBytes(8).toString('hex');
  private refused = false;
  /** Clock time in ms since when no look of a refused process has found another ledger. */
  private clearSince: number | undefined;
  /** By announced tube: the nodes where it is. An announcement ends with its connection. */
  private readonly announced = new Map<string, Map<ClusterNode, Connection>>();
  /** Ledger time in ms since when the ledger is away. */
  private awaySince: number | undefined;
  /** Nodes that reject a command, which costs the connection: they are not asked again. */
  private readonly denying = new Set<ClusterNode>();
  private readonly listeners = new Set<AdmissionListener>();
  private readonly unlisten: (() => void)[] = [];
  private nextLook = 0;
  /** Whether the ledger's identity is known. */
  private identified = false;
  /** Clock time in ms until which a newcomer stores no identity while nodes show one. */
  private leavesUntil = 0;
  private leavesIdentity = false;
  /** Why the last look couldn't read the ledger's identity. Undefined if it could. */
  unread: Error | undefined;
  private timer: Timer | undefined;
  private first: Promise<void> | undefined;
  /** The last round requested. Rounds run one after another. */
  private rounds: Promise<void> = Promise.resolve();
  /** The round that has not started yet. */
  private next: Promise<void> | undefined;
  private closed = false;

  constructor(private readonly parts: AdmissionParts) {}

  /** Returns a function that stops listening. */
  listen(listener: AdmissionListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** Starts looking. Resolves after the first look, which may find no node and no ledger. Never rejects. Idempotent. */
  start(): Promise<void> {
    return (this.first ??= this.begin());
  }

  /** Looks now, in addition to the regular rounds, e.g. because the ledger answers again. */
  lookNow(): void {
    this.nextLook = 0;
    if (this.unlisten.length > 0) void this.round();
  }

  /** Announces that the ledger is away since this ledger time in ms, or, if undefined, that it answers again. */
  ledgerAway(since: number | undefined): void {
    this.awaySince = since;
    this.lookNow();
  }

  /** Stops looking. Announcements end with the connections. Idempotent. */
  close(): void {
    this.closed = true;
    this.timer?.cancel();
    for (const stop of this.unlisten.splice(0)) stop();
  }

  private async begin(): Promise<void> {
    const { cluster, clock } = this.parts;
    await cluster.firstAnswers(clock, FIRST_ANSWERS_MS);
    if (this.closed) return;
    this.leavesUntil = clock.now() + LOST_IDENTITY_MS;
    for (const node of cluster.nodes) this.unlisten.push(node.listen({ up: () => this.lookNow() }));
    await this.round();
  }

  private round(): Promise<void> {
    return (this.next ??= this.rounds =
      this.rounds.then(async () => {
        this.next = undefined;
        this.timer?.cancel();
        if (!this.closed) await this.look();
        const pause = this.leavesIdentity ? LOST_IDENTITY_LOOK_MS : ROUND_EVERY_MS;
        if (!this.closed) this.timer = this.parts.clock.after(pause, () => void this.round());
      }));
  }

  private async look(): Promise<void> {
    const { clock, consume } = this.parts;
    const over = [...this.announced.keys()].filter((tube) => !this.shownTubes.includes(tube));
    await Promise.all(over.map((tube) => this.withdraw(tube)));
    // Before the ledger is asked, which takes seconds if it is frozen.
    if (this.awaySince !== undefined && this.admitted && consume) await this.announce();
    const id = await this.identity().catch((error: unknown) => this.unidentified(toError(error)));
    if (this.closed || this.leavesIdentity) return;
    if (id === undefined) {
      // Restarted nodes have forgotten the announcement; to a refused process that must not look like the end of this ledger.
      if (this.admitted && consume) await this.announce();
      return;
    }
    this.identified = true;
    this.unread = undefined;
    if (id !== this.id) await this.become(id);
    if (this.admitted && clock.now() < this.nextLook) return;
    this.nextLook = clock.now() + LOOK_EVERY_MS * (1 + Math.random() / 2);
    if (this.admitted && consume) await this.announce();
    const found = await this.otherLedger();
    if (found === 'not known') this.clearSince = undefined;
    if (found === 'not known' || this.closed) return;
    if (found) return this.admitted && consume ? this.share(found) : this.refuse(found);
    this.other = undefined;
    if (this.admitted) return;
    // Processes of the other ledger may be about to reconnect, e.g. to restarted nodes.
    this.clearSince ??= clock.now();
    if (this.refused && clock.now() - this.clearSince < ROUND_EVERY_MS) return;
    if (!consume) return this.admit();
    await this.announce();
    let tied = await this.otherLedger();
    if (typeof tied === 'object' && id < tied.id) {
      await new Promise<void>((resolve) => void clock.after(TIE, resolve));
      tied = await this.otherLedger();
    }
    if (this.closed) return;
    if (tied === undefined) return this.admit();
    await this.withdraw(this.tube);
    if (tied !== 'not known') this.refuse(tied);
  }

  /** Resolves with undefined if the ledger lost its identity, and a newcomer leaves it to the others to restore it. */
  private async identity(): Promise<string | undefined> {
    const { clock, identify, isUnknown } = this.parts;
    this.leavesIdentity = false;
    if (!this.identified && clock.now() < this.leavesUntil && (await isUnknown()))
      this.leavesIdentity = typeof (await this.otherLedger()) === 'object';
    return this.leavesIdentity ? undefined : identify(this.id);
  }

  /** The ledger has another identity: either it is another ledger, or it lost its data when a new process came. */
  private async become(id: string): Promise<void> {
    await this.withdraw(this.tube);
    this.id = id;
    this.admitted = false;
  }

  private unidentified(error: Error): undefined {
    this.unread = error;
    if (!this.closed) for (const listener of this.listeners) listener.unidentified?.(error);
  }

  private admit(): void {
    this.admitted = true;
    this.refused = false;
    this.clearSince = undefined;
    for (const listener of this.listeners) listener.admitted?.();
  }

  private refuse(other: OtherLedger): void {
    this.admitted = false;
    this.refused = true;
    this.clearSince = undefined;
    this.other = other;
    for (const listener of this.listeners) listener.refused?.(other);
  }

  private share(other: OtherLedger): void {
    this.other = other;
    for (const listener of this.listeners) listener.shared?.(other);
  }

  /** Resolves with the first of the other ledgers seen on reachable nodes. Undefined: none. `not known`: no node was reachable. */
  private async otherLedger(): Promise<OtherLedger | undefined | 'not known'> {
    const { cluster, prefix } = this.parts;
    const lists = await Promise.all(
      cluster.nodes.map(async (node) => ({ node, tubes: await this.tubesOf(node) })),
    );
    const known = lists.filter(({ tubes }) => tubes !== undefined);
    if (known.length === 0) return 'not known';
    const others = known.flatMap(({ node, tubes }) =>
      announcedIn(tubes!, prefix)
        .filter((id) => id !== this.id)
        .map((id) => ({ id, node: node.endpoint, ours: this.id })),
    );
    return others.toSorted((a, b) => (a.id < b.id ? -1 : 1))[0];
  }

  /** Resolves with undefined if the node is down. */
  private async tubesOf(node: ClusterNode): Promise<string[] | undefined> {
    if (this.denying.has(node) || !node.up) return node.up ? [] : undefined;
    return node.ask<string[]>((connection, done) =>
      connection.listTubes((error, tubes) => {
        if (error?.code === 'UNKNOWN_COMMAND') this.denying.add(node);
        done(error, tubes);
      }),
    );
  }

  /** A node that doesn't answer reconnects, which triggers another look. */
  private async announce(): Promise<void> {
    const nodes = this.parts.cluster.nodes.filter((node) => node.up && !this.denying.has(node));
    const asked = this.shownTubes.flatMap((tube) =>
      nodes.map((node) => node.ask<number>((connection, done) => this.watch(tube, node, connection, done))),
    );
    await Promise.all(asked);
  }

  private watch(tube: string, node: ClusterNode, connection: Connection, done: Done<number>): void {
    const shown = this.announced.get(tube) ?? new Map<ClusterNode, Connection>();
    this.announced.set(tube, shown);
    if (shown.get(node) === connection) return done(undefined, 0);
    connection.watch(tube, (error, count) => {
      if (error?.code === 'UNKNOWN_COMMAND') this.denying.add(node);
      if (!error) shown.set(node, connection);
      done(error, count);
    });
  }

  private async withdraw(tube: string): Promise<void> {
    const connections = [...(this.announced.get(tube)?.values() ?? [])].filter(({ closed }) => !closed);
    this.announced.delete(tube);
    const ends = connections.map((connection) =>
      connection.ask<number>((done) => connection.ignore(tube, done)),
    );
    await Promise.allSettled(ends); // without an answer, the announcement ends with the connection
  }

  private get tube(): string {
    return announcementsOf(this.parts.prefix) + this.id;
  }

  /** The tubes that this process announces, if it is admitted. */
  private get shownTubes(): string[] {
    const { awaySince, tube } = this;
    if (awaySince === undefined) return [tube];
    return [tube, awayOf(this.parts.prefix) + Math.floor(awaySince / 1_000)];
  }
}
