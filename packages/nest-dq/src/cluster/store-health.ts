import type { Stats } from '../beanstalk/codec/yaml.js';
import type { Clock } from '../time/clock.js';
import { BinlogWatch } from './binlog-watch.js';

/** Milliseconds. After a refusal to store, a node gets no copies for so long. */
const REFUSAL_PAUSE = 5_000;
/** Why a copy was not stored, or a node is unfit: for people. */
export const LOG_STOPPED = 'its binlog has stopped';

/** Whether a node stores for sure: it did not refuse lately, and its log works, if it has one. */
export class StoreHealth {
  /** Another node of the cluster, by its endpoint, that is the same server. */
  twin: string | undefined;
  /** It refused to write its log, and nobody has put a job since. */
  full = false;
  private binlog = new BinlogWatch();
  private instance: string | undefined;
  private refusedUntil = -Infinity;
  private refusal = '';
  /** How many jobs were ever put, as of the first answer after the refusal. */
  private putsThen: number | undefined;

  constructor(
    private readonly clock: Clock,
    /** Called once each time that a problem begins. */
    private readonly trouble: (message: string) => void,
  ) {}

  /** Why it is unfit, in a few words. */
  get problem(): string | undefined {
    if (this.unfit !== undefined) return this.unfit;
    return this.clock.now() < this.refusedUntil ? `it refuses to store (${this.refusal})` : undefined;
  }

  /** Why no put there counts as a copy. */
  get unfit(): string | undefined {
    if (this.twin !== undefined) return `it is the same server as ${this.twin}`;
    return this.logStopped ? LOG_STOPPED : undefined;
  }

  get hasLog(): boolean {
    return this.binlog.there;
  }

  /** The server's restart undoes everything that it stored or deleted since then. */
  get logStopped(): boolean {
    return this.binlog.stopped;
  }

  /** The first answer of a new connection. After a restart of the server everything begins anew. */
  greeted(instance: string, stats: Stats): void {
    if (instance !== this.instance) {
      this.instance = instance;
      this.binlog = new BinlogWatch();
      this.refusedUntil = -Infinity;
      this.full = false;
    }
    this.learn(stats);
  }

  learn(stats: Stats): void {
    this.watch(() => this.binlog.learn(stats));
    if (this.full) this.lookForRoom(Number(stats['total-jobs'] ?? 0));
  }

  /** A command that the log must note was answered with this word, so the next puts go elsewhere for a while. */
  refused(word: string): void {
    if (this.hasLog && (word === 'OUT_OF_MEMORY' || word === 'INTERNAL_ERROR')) {
      this.full = true;
      this.putsThen = undefined;
    }
    const now = this.clock.now();
    const before = this.refusedUntil;
    this.refusedUntil = now + REFUSAL_PAUSE;
    this.refusal = word;
    if (before <= now) {
      this.trouble(`it refuses to store (${word}), so copies go to other nodes; look at its disk and memory`);
    }
  }

  /** The server may have failed to write its log. */
  doubtLog(): void {
    this.watch(() => this.binlog.doubt());
  }

  private lookForRoom(puts: number): void {
    this.putsThen ??= puts;
    if (puts > this.putsThen) this.full = false;
  }

  private watch(step: () => void): void {
    const before = this.logStopped;
    step();
    if (this.logStopped && !before) {
      this.trouble(
        'its binlog has stopped: a restart will lose what it stores and bring back what it deletes from now on, ' +
          'so copies go to other nodes; make room on its disk, then restart it',
      );
    }
  }
}
