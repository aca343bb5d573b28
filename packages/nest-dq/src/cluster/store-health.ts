import type { Stats } from '../beanstalk/codec/yaml.js';
import type { Clock } from 'nest-handlers/time';
import type { BeanstalkError } from '../beanstalk/codec/beanstalk-error.js';

/** How long a node gets no copies after refusing to store. */
const REFUSAL_PAUSE_MS = 5_000;
/** A node that refuses again within this time, because a put was tried again, never stopped refusing. */
const REFUSAL_GAP_MS = 60_000;
/** Why a copy was not stored, or a node is unfit; for people. */
export const LOG_STOPPED = 'its binlog has stopped';

interface Counters {
  /** Total puts. */
  readonly puts: number;
  /** Jobs present. */
  readonly jobs: number;
  /** Records written to the log. */
  readonly records: number;
}

/**
 * Whether a node reliably stores: it didn't refuse lately, and its log works, if it has one. When beanstalkd can't write its log,
 * it switches the log off until a restart and keeps answering INSERTED and DELETED. Only its counters show it.
 */
export class StoreHealth {
  /** It refused to write its log, and nobody has put a job since. */
  full = false;
  hasLog = false;
  /** It could have a log but has none. An embedded node that is served reports no log, whatever it stores. */
  lacksLog = false;
  /** A restart of the server undoes everything it stored or deleted since then. */
  logStopped = false;
  /** As of the last answer of this instance; undefined if the next answer is the first that counts. */
  private counters: Counters | undefined;
  private instance: string | undefined;
  private refusedUntil = -Infinity;
  private twinOf: string | undefined;
  /** When each problem began, by the wall clock in ms. */
  private readonly began: { twin?: number; log?: number; refusal?: number } = {};
  private refusal = '';
  /** Total puts, as of the first answer after the refusal. */
  private putsThen: number | undefined;

  constructor(
    private readonly clock: Clock,
    /** Called once whenever a problem begins. */
    private readonly trouble: (message: string) => void,
  ) {}

  /** Endpoint of another node of the cluster that is the same server. */
  get twin(): string | undefined {
    return this.twinOf;
  }

  set twin(endpoint: string | undefined) {
    if (this.twinOf !== endpoint) this.began.twin = this.clock.wall();
    this.twinOf = endpoint;
  }

  /** When the `problem` began, by the wall clock in ms; undefined if there is none. */
  get since(): number | undefined {
    if (this.twin !== undefined) return this.began.twin;
    if (this.logStopped) return this.began.log;
    return this.problem === undefined ? undefined : this.began.refusal;
  }

  /** Short reason why it is unfit. */
  get problem(): string | undefined {
    if (this.unfit !== undefined) return this.unfit;
    return this.clock.now() < this.refusedUntil ? `it rejects new jobs (${this.refusal})` : undefined;
  }

  /** Why no put there counts as a copy. */
  get unfit(): string | undefined {
    if (this.twin !== undefined) return `it is the same server as ${this.twin}`;
    return this.logStopped ? LOG_STOPPED : undefined;
  }

  /** Handles the first answer of a new connection. A restarted server starts from scratch. */
  greeted(instance: string, stats: Stats): void {
    if (instance !== this.instance) {
      this.instance = instance;
      this.counters = undefined;
      this.logStopped = false;
      this.refusedUntil = -Infinity;
      this.full = false;
    }
    this.learn(stats);
  }

  /** Call it with the answers of one instance, in order. */
  learn(stats: Stats): void {
    const now = countersOf(stats);
    this.hasLog = now.records > 0 || count(stats, 'binlog-current-index') > 0;
    this.lacksLog = !this.hasLog && count(stats, 'binlog-max-size') > 0;
    if (this.hasLog && this.counters) this.compare(this.counters, now);
    this.counters = now;
    if (this.full) this.lookForRoom(now.puts);
  }

  /** A command that must be logged was answered with this word, so the next puts go elsewhere for a while. */
  refused(word: string): void {
    if (this.hasLog && (word === 'OUT_OF_MEMORY' || word === 'INTERNAL_ERROR')) {
      this.full = true;
      this.putsThen = undefined;
    }
    const now = this.clock.now();
    const before = this.refusedUntil;
    if (now - before > REFUSAL_GAP_MS) this.began.refusal = this.clock.wall();
    this.refusedUntil = now + REFUSAL_PAUSE_MS;
    this.refusal = word;
    if (before <= now) {
      this.trouble(`it rejects new jobs (${word}), so copies go to other nodes; check its disk and memory`);
    }
  }

  /** The server's answer means that its log could not be written. From now on the log must be seen to advance. */
  doubtLog(): void {
    if (!this.hasLog) return;
    this.stopLog();
    this.counters = undefined; // the server counts the failed record too
  }

  /** A working log gets at least one record per put and per deletion, so fewer records mean that it stopped. */
  private compare(last: Counters, now: Counters): void {
    const records = now.records - last.records;
    const puts = now.puts - last.puts;
    // A job whose put was answered BURIED is counted in two states.
    const deletions = Math.max(0, puts - (now.jobs - last.jobs));
    if (records < puts + deletions) this.stopLog();
    else if (records > 0) this.logStopped = false; // it was only suspected to have stopped
  }

  private stopLog(): void {
    if (this.logStopped) return;
    this.logStopped = true;
    this.began.log = this.clock.wall();
    this.trouble(
      'its binlog has stopped: a restart will lose what it stores, and bring back what it deletes, from now on, ' +
        'so copies go to other nodes; free up space on its disk, then restart it',
    );
  }

  private lookForRoom(puts: number): void {
    this.putsThen ??= puts;
    if (puts > this.putsThen) this.full = false;
  }
}

function countersOf(stats: Stats): Counters {
  const states = ['ready', 'reserved', 'delayed', 'buried'];
  return {
    puts: count(stats, 'total-jobs'),
    jobs: states.reduce((sum, state) => sum + count(stats, `current-jobs-${state}`), 0),
    records: count(stats, 'binlog-records-written'),
  };
}

function count(stats: Stats, name: string): number {
  return Number(stats[name] ?? 0);
}

/** Consecutive failures. After one, the node may just have gone away. */
const CERTAIN = 2;
/** In ms. */
const TELL_EVERY = 60_000;
const MAX_NAMES = 5;
const OWN_LIMIT = /\bE[MN]FILE\b/;

/**
 * Whether a node accepts connections for reserving. At its limit of open files, beanstalkd accepts no more: open connections keep
 * working, and a new one gets no answer.
 */
export class LaneHealth {
  /** Consecutive failures, by tube. */
  private readonly failures = new Map<string, number>();
  private error: BeanstalkError | undefined;
  /** When the `problem` began, by the wall clock in ms; undefined if there is none. */
  since: number | undefined;
  private toldAt = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly trouble: (message: string) => void,
  ) {}

  /** Short reason why tubes have no connection. */
  get problem(): string | undefined {
    const tubes = this.tubes();
    return tubes.length === 0
      ? undefined
      : `cannot open a connection to reserve from ${named(tubes)} (${this.error?.message})`;
  }

  /** A tube's connection was lost or refused before it could reserve. */
  refused(tube: string, error: BeanstalkError): void {
    const failures = (this.failures.get(tube) ?? 0) + 1;
    this.failures.set(tube, failures);
    if (failures >= CERTAIN) this.since ??= this.clock.wall();
    this.error = error;
    const now = this.clock.now();
    if (failures < CERTAIN || now - this.toldAt < TELL_EVERY) return;
    this.toldAt = now;
    this.trouble(`${this.problem}, so jobs run late, from other nodes, or not at all; ${adviceOn(error)}`);
  }

  /** The tube's connection is reserving, or no longer needed. */
  done(tube: string): void {
    this.failures.delete(tube);
    if (this.problem === undefined) this.since = undefined;
  }

  /** The node is away, which is reported elsewhere. */
  forget(): void {
    this.failures.clear();
    this.since = undefined;
  }

  private tubes(): string[] {
    const tubes: string[] = [];
    for (const [tube, failures] of this.failures) if (failures >= CERTAIN) tubes.push(tube);
    return tubes;
  }
}

function named(tubes: readonly string[]): string {
  if (tubes.length === 1) return `tube ${tubes[0]}`;
  const names = tubes.slice(0, MAX_NAMES).join(', ');
  return `${tubes.length} tubes: ${names}${tubes.length > MAX_NAMES ? ', …' : ''}`;
}

function adviceOn({ code, message }: BeanstalkError): string {
  if (code === 'OUT_OF_MEMORY') return 'the node needs more memory';
  const who = OWN_LIMIT.test(message) ? 'this process is' : 'the node is probably';
  return `${who} at its open file limit: raise it (ulimit -n, or LimitNOFILE in a systemd unit)`;
}
