import type { Admission } from '../cluster/admission.js';
import type { Cluster } from '../cluster/cluster.js';

/** Health of a cluster, as seen by this process. */
export interface DqHealthState {
  /**
   * `down` if fewer nodes than `minWritten` store jobs and let this process reserve them, or Redis isn't answering, or this
   * process was refused because other processes use another Redis, or it can't read the identity of its ledger, or a key of its
   * seal was refused. If some nodes are down but enough are left, the cluster is up.
   */
  readonly status: 'up' | 'down';
  /** By endpoint: `up`, or why the node can't store or reserve. */
  readonly nodes: Readonly<Record<string, string>>;
  /**
   * By endpoint: since when a node is down or can't be used, by the clock of this process's machine. Absent for nodes that are up,
   * and if all are.
   */
  readonly nodesSince?: Readonly<Record<string, Date>>;
  /** `none` if the ledger is in this process's memory. */
  readonly redis: 'up' | 'down' | 'none';
  /** Why `redis` is `down`. Absent if it isn't. */
  readonly redisDown?: RedisDownState;
  /**
   * Set if other processes decide about the same jobs in another Redis: the identities of both ledgers, and a node where both are
   * in use. With `refused` this process runs nothing, and `status` is `down`. Otherwise both run jobs, and some may run twice.
   */
  readonly otherLedger?: OtherLedgerState;
  /** Why the identity of the ledger can't be read: no job starts, and `status` is `down`. Absent if it can. */
  readonly unidentified?: string;
  /** Settings that should be the same in all processes but differ, for people. Absent if there are none. */
  readonly unequalSettings?: readonly string[];
  /**
   * Jobs of which no node has a copy any more, as found by this process since it started: they were on nodes that lost their
   * data. Absent if there are none. Does not affect `status`.
   */
  readonly lost?: LostJobsState;
  /**
   * Jobs with missing copies that this process should have repaired but couldn't, because they are sealed with keys it doesn't
   * have. A process that has the keys repairs them. Absent if there are none. Does not affect `status`.
   */
  readonly unreadable?: UnreadableState;
  /**
   * Names of keys in `seal.keys` that mean other bytes in other processes: this process neither seals nor reads with them, and
   * `status` is `down`. Absent if there are none.
   */
  readonly refusedKeys?: readonly string[];
}

/** Jobs that this process's repair could not read. */
export interface UnreadableState {
  /** Number of jobs. */
  readonly count: number;
  /** Names of the keys that this process is missing. */
  readonly keys: readonly string[];
}

/** Why Redis isn't answering. */
export interface RedisDownState {
  /** Reason, for people; contains no secrets. */
  readonly reason: string;
  /** When this process noticed, by the clock of its machine. Absent if Redis has not answered this process yet. */
  readonly since?: Date;
}

/** Two ledgers used with the same nodes. */
export interface OtherLedgerState {
  /** Identity of the other ledger. */
  readonly id: string;
  /** Identity of this process's ledger. */
  readonly ours: string;
  /** Endpoint of a node where both are in use. */
  readonly node: string;
  /** Whether this process runs nothing because of it. */
  readonly refused: boolean;
}

/** Lost jobs, as reported by the event `lost`. */
export interface LostJobsState {
  /** Number since this process started. */
  readonly count: number;
  /** The last one reported. */
  readonly latest: {
    /** Tube name without the prefix. */
    readonly tube: string;
    /** Id of the job. */
    readonly id: string;
    /** When the job was due. */
    readonly dueAt: Date;
  };
}

/** Reports whether jobs can be stored and run, in the form @nestjs/terminus expects: `health.check([() => dq.check()])`. Inject it. */
export abstract class DqHealth {
  /**
   * Asks Redis, which takes at most a second; the state of the nodes is already known. Never rejects.
   * @param key The name in the result. Default: `dq`.
   */
  abstract check<Key extends string = 'dq'>(key?: Key): Promise<Record<Key, DqHealthState>>;
}

export class ClusterHealth extends DqHealth {
  constructor(
    private readonly cluster: Cluster,
    /** Resolves with the reason Redis isn't answering, if it isn't; absent if there is no Redis. */
    private readonly askRedis: (() => Promise<RedisDownState | undefined>) | undefined,
    private readonly unequalSettings: () => readonly string[] = () => [],
    private readonly lost: () => LostJobsState | undefined = () => undefined,
    private readonly admission: () => Pick<Admission, 'admitted' | 'other' | 'unread'> | undefined = () =>
      undefined,
    private readonly unreadable: () => UnreadableState | undefined = () => undefined,
    private readonly refusedKeys: () => readonly string[] = () => [],
  ) {
    super();
  }

  override async check<Key extends string = 'dq'>(key?: Key): Promise<Record<Key, DqHealthState>> {
    const { askRedis, cluster } = this;
    const redisDown = await askRedis?.();
    const redis = redisDown ? 'down' : askRedis ? 'up' : 'none';
    const { nodes, settings } = cluster;
    const usable = nodes.filter(({ reason }) => reason === 'up').length;
    const { other, admitted, unread } = this.admission() ?? {};
    const unidentified = redis === 'up' && !admitted ? unread?.message : undefined;
    const otherLedger = other && { ...other, refused: !admitted };
    const refused = this.refusedKeys();
    const isDown =
      redis === 'down' ||
      unidentified !== undefined ||
      usable < settings.minWritten ||
      otherLedger?.refused === true ||
      refused.length > 0;
    const status = isDown ? 'down' : 'up';
    const reasons = Object.fromEntries(nodes.map(({ endpoint, reason }) => [endpoint, reason]));
    const unequal = this.unequalSettings();
    const lost = this.lost();
    const unreadable = this.unreadable();
    const down = nodes.filter(({ since }) => since !== undefined);
    const nodesSince = Object.fromEntries(down.map(({ endpoint, since }) => [endpoint, new Date(since!)]));
    const told = {
      ...(down.length > 0 && { nodesSince }),
      ...(redisDown && { redisDown }),
      ...(otherLedger && { otherLedger }),
      ...(unidentified !== undefined && { unidentified }),
      ...(unequal.length > 0 && { unequalSettings: unequal }),
      ...(lost && { lost }),
      ...(unreadable && { unreadable }),
      ...(refused.length > 0 && { refusedKeys: refused }),
    };
    return { [key ?? 'dq']: { status, nodes: reasons, redis, ...told } } as Record<Key, DqHealthState>;
  }
}
