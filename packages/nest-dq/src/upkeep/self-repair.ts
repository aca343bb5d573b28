import { withoutPrefix } from '../api/tube.js';
import { DqError, factOf, toError } from '../errors.js';
import { BAD_SEAL } from '../copies/formats/sealed.js';
import { parseLocation } from '../copies/location.js';
import type { ProducerContext } from '../producer/producer-context.js';
import type { Clock, Timer } from 'nest-handlers/time';
import { Act } from '../operate/act.js';
import { inBulk, PAGE } from '../operate/bulk.js';
import { Repair, type Checked } from '../operate/repair.js';

/** Milliseconds from the end of one look to the next. */
const EVERY = 120_000;
/** Pages of jobs that such a look takes. The next one goes on behind them. */
const PAGES = 10;
/** Milliseconds from a reason to look at all jobs to the look: several nodes come back together. */
const SOON = 1_000;
/** Milliseconds from the end of one look to the next, whatever reason there is. */
const LEAST_BETWEEN = 10_000;
/** Milliseconds: what is due sooner runs from the copies that it has. */
const DUE_AFTER = 60_000;
/** Jobs moved, and jobs looked at, in a second: adds have to go on beside it. */
const MOST_MOVES = 1_000;
const MOST_LOOKS = 2_000;
const AT_ONCE = 8;
/** Milliseconds for which a process that could not repair lets others be elected, and after which it says again that it can't. */
const GIVEN_UP_FOR = 600_000;
/** Who does it, as the event `operated` tells it. */
const BY = 'nest-dq';

interface SelfRepairParts {
  /** Whether this process is the one that repairs for all. */
  readonly elected: () => boolean;
  readonly log: (message: string) => void;
  readonly warn: (message: string) => void;
}

/** Jobs that a repair could not read. */
interface UnreadableJobs {
  readonly count: number;
  /** The names of the keys that this process misses. */
  readonly keys: readonly string[];
}

/** A job that can be repaired, and where a repair begins. Undefined: with the first job. */
interface Found {
  readonly job: Checked;
  readonly cursor: string | undefined;
}

/**
 * Repairs by itself, in the elected process. When it was elected and when a node was started anew it looks at all jobs that wait,
 * and now and then at some. If one misses copies and has one left, it repairs. Whatever ends that, a look at all begins anew.
 * Two processes may do it at once: a job is moved only from the generation that was looked at.
 */
export class SelfRepair {
  private readonly unlisten: (() => void)[] = [];
  private timer: Timer | undefined;
  /** By the clock: when the next look is planned for, and the time before which there is none. */
  private planned = Infinity;
  private notBefore = 0;
  /** The next look is at all jobs. */
  private all = false;
  /** Where the next look at some jobs begins. */
  private behind: string | undefined;
  private underWay: Promise<void> | undefined;
  private wake: (() => void) | undefined;
  private repairing: Repair | undefined;
  private closed = false;
  /** By the clock: until then others should repair, unless the missing keys come. */
  private givenUpUntil = 0;
  private unread: UnreadableJobs | undefined;
  /** By what was told: when it may be told again. */
  private readonly told = new Map<string, number>();

  constructor(
    private readonly context: ProducerContext,
    private readonly parts: SelfRepairParts,
  ) {}

  private get clock(): Clock {
    return this.context.parts.clock;
  }

  /** About how many jobs the repair under way has still to look at. 0: there is none. */
  get left(): number {
    return this.repairing ? Math.max(1, this.repairing.listed - this.repairing.looked) : 0;
  }

  /** Jobs that miss copies and that this process can't read, as its last look found them. */
  get unreadable(): UnreadableJobs | undefined {
    return this.hasGivenUp ? this.unread : undefined;
  }

  /** It could not repair: another process should. */
  get hasGivenUp(): boolean {
    return this.clock.now() < this.givenUpUntil && !this.hasAllKeys;
  }

  /** Idempotent, and nothing after `close`. */
  start(): void {
    if (this.closed || this.unlisten.length > 0) return;
    for (const node of this.context.parts.cluster.nodes) {
      let known = node.instance;
      const up = () => {
        // A server that was only out of reach has what it had.
        if (node.instance !== known) this.lookAtAll();
        known = node.instance;
      };
      this.unlisten.push(node.listen({ up }));
    }
  }

  /** There is a reason: a node was started anew, or this process was elected. */
  lookAtAll(): void {
    if (!this.goesOn) return;
    this.all = true;
    if (!this.underWay) this.lookIn(Math.max(SOON, this.notBefore - this.clock.now()));
  }

  /** After the close of its context. Awaits what it has begun. Idempotent. */
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
        this.notBefore = this.clock.now() + LEAST_BETWEEN;
        if (this.goesOn) this.lookIn(this.all && isDone ? LEAST_BETWEEN : EVERY);
      });
    });
  }

  /** If not, whoever is elected next begins with a look at all. */
  private get goesOn(): boolean {
    return !this.closed && this.parts.elected();
  }

  /** False: it failed. */
  private async work(): Promise<boolean> {
    const { context, all } = this;
    if (!this.goesOn) return true;
    this.all = false;
    const work = new Repair(context, {
      counting: { byItself: true },
      dueAfter: DUE_AFTER,
      patience: context.parts.settings.patience,
      atOnce: AT_ONCE,
    });
    try {
      const found = await this.look(work, all);
      if (found) await this.repair(work, found);
      if (all || work.unreadable.length > 0) this.tellUnreadable(work);
      return true;
    } catch (thrown) {
      this.all = true;
      this.giveUp(undefined);
      const fact = thrown instanceof DqError ? factOf(thrown) : toError(thrown).message;
      if (!this.closed)
        this.parts.warn(`jobs that miss copies are looked for again in ${EVERY / 60_000} minutes: ${fact}`);
      return false;
    }
  }

  private async look(work: Repair, all: boolean): Promise<Found | undefined> {
    let cursor = all ? undefined : this.behind;
    for (let pages = 0; all || pages < PAGES; pages++) {
      const begun = this.clock.now();
      const page = await work.read(cursor);
      for (const job of page.items) {
        // One without any copy cannot be repaired; or it is over, and the list does not know it yet.
        if (!work.isMeant(job) || !(await work.isRepairable(job))) continue;
        work.looked = all ? work.looked - page.items.length : 0; // as it begins
        return { job, cursor: all ? page.cursor : undefined };
      }
      cursor = page.next;
      if (cursor === undefined) break;
      await this.pauseAfter(begun, PAGE / MOST_LOOKS);
      if (!this.goesOn) return undefined;
    }
    this.behind = cursor;
    return undefined;
  }

  private giveUp(unread: UnreadableJobs | undefined): void {
    this.unread = unread;
    this.givenUpUntil = this.clock.now() + GIVEN_UP_FOR;
  }

  /** The keys that were missing have come. */
  private get hasAllKeys(): boolean {
    const { seal } = this.context.parts.cluster.settings;
    const keys = this.unread?.keys ?? [];
    return keys.length > 0 && seal !== undefined && keys.every((name) => seal.knows(name));
  }

  private tellUnreadable({ unreadable }: Repair): void {
    const { events, settings, clock } = this.context.parts;
    const { warn } = this.parts;
    const keys = [...new Set(unreadable.flatMap(({ copy }) => copy.missingKey ?? []))].toSorted();
    if (keys.length > 0) this.giveUp({ count: unreadable.length, keys });
    else this.givenUpUntil = 0;
    for (const reason of new Set(unreadable.map(({ copy }) => copy.reason))) {
      if (clock.now() < (this.told.get(reason) ?? 0)) continue;
      this.told.set(reason, clock.now() + GIVEN_UP_FOR);
      const jobs = unreadable.filter(({ copy }) => copy.reason === reason);
      const { job, copy } = jobs[0]!;
      const tube = withoutPrefix(job.tube, settings.prefix);
      const { endpoint: node, copyId } = parseLocation(copy.location)!;
      events.tell('badSeal', { tube, node, copyId, reason: BAD_SEAL + reason, buried: false });
      const follows =
        copy.missingKey === undefined
          ? 'no process repairs them'
          : 'another process repairs them, if one has the key';
      warn(
        `${jobs.length} jobs miss copies, and this process can't read the ones that are left, such as that of job ${job.id} ` +
          `of ${tube} at ${copy.location}: ${reason}; ${follows}`,
      );
    }
  }

  private async repair(work: Repair, { job, cursor: begin }: Found): Promise<void> {
    const { events, clock, settings } = this.context.parts;
    const { log, warn } = this.parts;
    const { tube, id, missing } = job;
    warn(
      `job ${id} of ${withoutPrefix(tube, settings.prefix)} misses ${missing} of its copies: ` +
        `all of about ${work.listed} listed jobs are looked at, and get the copies that they miss`,
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
        const counts = `${done} jobs have all of their copies again, ${failed} could not get them${why}, and ${skipped} changed meanwhile`;
        if (cursor === undefined) (failed > 0 ? warn : log)(`the repair is over after ${took}: ${counts}`);
        else if (!this.goesOn) {
          log(`the repair goes on in the process that is elected next; here, after ${took}: ${counts}`);
          return;
        }
        const before = tried;
        tried = done + failed + skipped;
        await this.pauseAfter(pageBegun, Math.max(PAGE / MOST_LOOKS, (tried - before) / MOST_MOVES));
        pageBegun = clock.now();
      }
    } finally {
      this.repairing = undefined;
    }
  }

  /** Until so many seconds after this time. It ends early at a close. */
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
