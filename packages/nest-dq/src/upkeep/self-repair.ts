import { withoutPrefix } from '../api/tube.js';
import { DqError, factOf, toError } from '../errors.js';
import { BAD_SEAL } from '../copies/formats/sealed.js';
import { parseLocation } from '../copies/location.js';
import type { ProducerContext } from '../producer/producer-context.js';
import type { Clock, Timer } from 'nest-handlers/time';
import { Act } from '../operate/act.js';
import { inBulk, PAGE } from '../operate/bulk.js';
import { Repair, type Checked } from '../operate/repair.js';

/** Pause between two scans. */
const INTERVAL_MS = 120_000;
/** Pages of jobs per partial scan. The next one continues after them. */
const PAGES = 10;
/** Delay of a full scan, since several nodes tend to come back together. */
const SOON_MS = 1_000;
/** Least pause between two scans, whatever the reason. */
const LEAST_BETWEEN_MS = 10_000;
/** Jobs due sooner than this, run from the copies they have. */
const DUE_AFTER_MS = 60_000;
/** Jobs moved, and jobs looked at, per second: adds must continue meanwhile. */
const MAX_MOVES = 1_000;
const MAX_LOOKS = 2_000;
const AT_ONCE = 8;
/** How long a process that failed to repair lets others be elected, and after which it reports the failure again. */
const GIVEN_UP_FOR_MS = 600_000;
/** The operator named in the event `operated`. */
const BY = 'nest-dq';

interface SelfRepairParts {
  /** Whether this process is the leader, which repairs for all. */
  readonly elected: () => boolean;
  readonly log: (message: string) => void;
  readonly warn: (message: string) => void;
}

/** Jobs that a repair couldn't read. */
interface UnreadableJobs {
  readonly count: number;
  /** The names of the keys this process lacks. */
  readonly keys: readonly string[];
}

/** A repairable job, and where a repair starts; an undefined cursor starts at the first job. */
interface Found {
  readonly job: Checked;
  readonly cursor: string | undefined;
}

/**
 * Repairs automatically, in the leader. After an election and after a node restart it scans all waiting jobs, and some of them
 * periodically. If one lacks copies but still has one, it repairs. If that is interrupted, the full scan starts over. Two
 * processes may do it concurrently: a job is moved only from the generation that was looked at.
 */
export class SelfRepair {
  private readonly unlisten: (() => void)[] = [];
  private timer: Timer | undefined;
  /** Times on the local clock: when the next scan is planned, and before which there is none. */
  private planned = Infinity;
  private notBefore = 0;
  /** Whether the next scan is a full one. */
  private all = false;
  /** Where the next partial scan starts. */
  private behind: string | undefined;
  private underWay: Promise<void> | undefined;
  private wake: (() => void) | undefined;
  private repairing: Repair | undefined;
  private closed = false;
  /** Time on the local clock until which others should repair, unless the missing keys arrive. */
  private givenUpUntil = 0;
  private unread: UnreadableJobs | undefined;
  /** When each report may be repeated, by reason. */
  private readonly warned = new Map<string, number>();

  constructor(
    private readonly context: ProducerContext,
    private readonly parts: SelfRepairParts,
  ) {}

  private get clock(): Clock {
    return this.context.parts.clock;
  }

  /** Approximate number of jobs the current repair still has to look at; 0 if none is running. */
  get left(): number {
    return this.repairing ? Math.max(1, this.repairing.listed - this.repairing.looked) : 0;
  }

  /** Jobs that lack copies and that this process can't read, according to its last scan. */
  get unreadable(): UnreadableJobs | undefined {
    return this.hasGivenUp ? this.unread : undefined;
  }

  /** Whether it failed to repair, so that another process should. */
  get hasGivenUp(): boolean {
    return this.clock.now() < this.givenUpUntil && !this.hasAllKeys;
  }

  /** Idempotent; does nothing after `close`. */
  start(): void {
    if (this.closed || this.unlisten.length > 0) return;
    for (const node of this.context.parts.cluster.nodes) {
      let known = node.instance;
      const up = () => {
        // A server that was merely unreachable still has its jobs.
        if (node.instance !== known) this.lookAtAll();
        known = node.instance;
      };
      this.unlisten.push(node.listen({ up }));
    }
  }

  /** Requests a full scan: a node was restarted, or this process was elected. */
  lookAtAll(): void {
    if (!this.goesOn) return;
    this.all = true;
    if (!this.underWay) this.lookIn(Math.max(SOON_MS, this.notBefore - this.clock.now()));
  }

  /** Call it after closing its context. Waits for the current work. Idempotent. */
  async close(): Promise<void> {
    this.closed = true;
    this.timer?.cancel();
    for (const stop of this.unlisten.splice(0)) stop();
    this.wake?.();
    await this.underWay;
  }

  private lookIn(ms: number): void {
    const at = this.clock.now() + ms;
    if (at >= this.planned) return;
    this.planned = at;
    this.timer?.cancel();
    this.timer = this.clock.after(ms, () => {
      this.planned = Infinity;
      this.underWay = this.work().then((isDone) => {
        this.underWay = undefined;
        this.notBefore = this.clock.now() + LEAST_BETWEEN_MS;
        if (this.goesOn) this.lookIn(this.all && isDone ? LEAST_BETWEEN_MS : INTERVAL_MS);
      });
    });
  }

  /** If not, whoever is elected next starts with a full scan. */
  private get goesOn(): boolean {
    return !this.closed && this.parts.elected();
  }

  /** Returns false if it failed. */
  private async work(): Promise<boolean> {
    const { context, all } = this;
    if (!this.goesOn) return true;
    this.all = false;
    const work = new Repair(context, {
      counting: { byItself: true },
      dueAfter: DUE_AFTER_MS,
      patience: context.parts.settings.patience,
      atOnce: AT_ONCE,
    });
    try {
      const found = await this.look(work, all);
      if (found) await this.repair(work, found);
      if (all || work.unreadable.length > 0) this.warnUnreadable(work);
      return true;
    } catch (thrown) {
      this.all = true;
      this.giveUp(undefined);
      const fact = thrown instanceof DqError ? factOf(thrown) : toError(thrown).message;
      if (!this.closed)
        this.parts.warn(
          `looking for jobs with missing copies failed; retrying in ${INTERVAL_MS / 60_000} minutes: ${fact}`,
        );
      return false;
    }
  }

  private async look(work: Repair, all: boolean): Promise<Found | undefined> {
    let cursor = all ? undefined : this.behind;
    for (let pages = 0; all || pages < PAGES; pages++) {
      const begun = this.clock.now();
      const page = await work.read(cursor);
      for (const job of page.items) {
        // A job without any copy can't be repaired, or is over and the list doesn't know it yet.
        if (!work.matches(job) || !(await work.isRepairable(job))) continue;
        work.looked = all ? work.looked - page.items.length : 0; // as at its start
        return { job, cursor: all ? page.cursor : undefined };
      }
      cursor = page.next;
      if (cursor === undefined) break;
      await this.pauseAfter(begun, PAGE / MAX_LOOKS);
      if (!this.goesOn) return undefined;
    }
    this.behind = cursor;
    return undefined;
  }

  private giveUp(unread: UnreadableJobs | undefined): void {
    this.unread = unread;
    this.givenUpUntil = this.clock.now() + GIVEN_UP_FOR_MS;
  }

  /** Whether the missing keys have arrived. */
  private get hasAllKeys(): boolean {
    const { seal } = this.context.parts.cluster.settings;
    const keys = this.unread?.keys ?? [];
    return keys.length > 0 && seal !== undefined && keys.every((name) => seal.knows(name));
  }

  private warnUnreadable({ unreadable }: Repair): void {
    const { events, settings, clock } = this.context.parts;
    const { warn } = this.parts;
    const keys = [...new Set(unreadable.flatMap(({ copy }) => copy.missingKey ?? []))].toSorted();
    if (keys.length > 0) this.giveUp({ count: unreadable.length, keys });
    else this.givenUpUntil = 0;
    for (const reason of new Set(unreadable.map(({ copy }) => copy.reason))) {
      if (clock.now() < (this.warned.get(reason) ?? 0)) continue;
      this.warned.set(reason, clock.now() + GIVEN_UP_FOR_MS);
      const jobs = unreadable.filter(({ copy }) => copy.reason === reason);
      const { job, copy } = jobs[0]!;
      const tube = withoutPrefix(job.tube, settings.prefix);
      const { endpoint: node, copyId } = parseLocation(copy.location)!;
      events.emit('badSeal', { tube, node, copyId, reason: BAD_SEAL + reason, buried: false });
      const follows =
        copy.missingKey === undefined
          ? 'no process can repair them'
          : 'another process can repair them if it has the key';
      warn(
        `${jobs.length} jobs are missing copies, and this process cannot read those that are left, such as that of job ${job.id} ` +
          `of ${tube} at ${copy.location}: ${reason}; ${follows}`,
      );
    }
  }

  private async repair(work: Repair, { job, cursor: begin }: Found): Promise<void> {
    const { events, clock, settings } = this.context.parts;
    const { log, warn } = this.parts;
    const { tube, id, missing } = job;
    warn(
      `job ${id} of ${withoutPrefix(tube, settings.prefix)} is missing ${missing} of its copies: ` +
        `checking all of about ${work.listed} listed jobs and restoring their missing copies`,
    );
    const begun = clock.now();
    let [pageBegun, tried] = [begun, 0];
    this.repairing = work;
    try {
      const pages = inBulk(work, { cursor: begin }, new Act(events, 'repair', {}, BY));
      for await (const { done, failed, skipped, failures, cursor } of pages) {
        const took = `${((clock.now() - begun) / 1_000).toFixed(1)} s`;
        const [first] = failures;
        const why = first ? `, such as job ${first.id} (${first.error.message})` : '';
        const counts = `${done} jobs have all of their copies again, ${failed} could not be repaired${why}, and ${skipped} changed in the meantime`;
        if (cursor === undefined) (failed > 0 ? warn : log)(`repair finished after ${took}: ${counts}`);
        else if (!this.goesOn) {
          log(`repair continues in the next leader; here, after ${took}: ${counts}`);
          return;
        }
        const before = tried;
        tried = done + failed + skipped;
        await this.pauseAfter(pageBegun, Math.max(PAGE / MAX_LOOKS, (tried - before) / MAX_MOVES));
        pageBegun = clock.now();
      }
    } finally {
      this.repairing = undefined;
    }
  }

  /** Waits until `seconds` after `begun`. Ends early on a close. */
  private pauseAfter(begun: number, seconds: number): Promise<void> {
    const { clock } = this;
    const ms = begun + 1_000 * seconds - clock.now();
    if (ms <= 0 || this.closed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = clock.after(ms, resolve);
      this.wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }
}
