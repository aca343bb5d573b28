import type { JobRef } from '../api/job.js';
import type { JobEnd } from '../api/job-end.js';
import { withoutPrefix, type StoredTube } from '../api/tube.js';
import { foreignFormatOf, namedCopies } from '../copies/formats/unwrap.js';
import type { JobTarget } from '../copies/job-ref.js';
import { parseLocation, UNKNOWN_COPY } from '../copies/location.js';
import { DqError, factOf, show, wrongValue } from '../errors.js';
import type { FinishedEntry, Schedule } from '../ledger/requests.js';
import { parseDuration } from '../time/duration.js';
import type { Duration, Timer } from 'nest-handlers/time';
import { checkObject } from './call-options.js';
import { findJob } from './job-finder.js';
import { locate } from './job-locator.js';
import type { ProducerContext } from './producer-context.js';

const TIMEOUT = '1m';
/** Calls that wait in one process. Further calls fail. */
const MOST_WAITING = 10_000;
/** Min and max pause between two looks at a job that is due: a tenth of the time since then. */
const SHORTEST_REST_MS = 20;
const LONGEST_REST_MS = 1_000;
/** Max pause while the job isn't due: it may be revoked, or moved to an earlier time. */
const REST_UNTIL_DUE_MS = 5_000;
/** Pause after a look without an answer. A return of the ledger ends it at once. */
const REST_WHEN_AWAY_MS = 500;
/** How often the copies of an overdue job without a record are looked for again. */
const COPIES_EVERY_MS = 30_000;
/** Pause before a job that nobody knows is looked for once more. */
const UNKNOWN_AGAIN_MS = 1_000;
/** Looks for what is kept of a job that has ended, before it is left out. */
const MOST_DETAIL_TRIES = 3;

/** A call of `finished`. */
interface Waiting {
  /** Completed by the first looks: with what it was born as, and its places. */
  target: JobTarget;
  /** Clock time. */
  readonly since: number;
  readonly signal: AbortSignal | undefined;
  isOver: boolean;
  /** For the error at the timeout. */
  known: string;
  /** Due time of a job without a record, as ledger time in ms, once a copy of it was seen. */
  dueOfCopy: number | undefined;
  /** Clock time. */
  copiesSeenAt: number;
  /** Looks that found no trace of it, since the last one that did. */
  unknown: number;
  detailTries: number;
  /** Whether to look again without a pause. */
  isAwake: boolean;
  /** Clock time; Infinity while it isn't paused, or is paused until it is woken. */
  pausedUntil: number;
  /** Ends its pause, or skips the next one. */
  wake: () => void;
  /** Ends the call. */
  fail: (error: unknown) => void;
}

type Outcome = JobEnd['outcome'];

/** The result of a look: the end of the job, or how long to wait before the next one, in ms. */
type Look = { readonly end: JobEnd } | { readonly rest: number };

/**
 * Waits for the ends of jobs, for `finished`. The ledger's record is the truth, and it is asked: at once, at bounded intervals, and
 * whenever the ledger is back. So nothing is announced, no run costs more because somebody waits, and nothing can be missed. All
 * that look at a tube in the same moment share a call. Where all processes share a memory, its decisions end the pauses.
 */
export class JobEnds {
  private readonly waiting = new Set<Waiting>();
  private stopListening: (() => void) | undefined;
  private timer: Timer | undefined;
  /** Clock time at which `timer` fires. */
  private wakesAt = Infinity;

  constructor(private readonly context: ProducerContext) {}

  /** See `DqProducer.finished`. */
  async finished(ref: JobRef, options?: { timeout?: Duration; signal?: AbortSignal }): Promise<JobEnd> {
    const { timeout = TIMEOUT, signal } = checkObject('the finished options', options, ['timeout', 'signal']);
    const limit = parseDuration(timeout, '`timeout`');
    if (signal !== undefined && !(signal instanceof AbortSignal))
      throw wrongValue('DQ_BAD_OPTION', '`signal`', signal, 'an AbortSignal');
    if (namedCopies(ref)) throw ofGoQueue(ref);
    const target = this.context.parse(ref);
    if (foreignFormatOf(target.id)) throw ofGoQueue(ref);
    signal?.throwIfAborted();
    if (this.waiting.size >= MOST_WAITING) {
      const fact = `${MOST_WAITING} calls of \`finished\` are already waiting in this process: expected fewer`;
      throw new DqError('DQ_OVERLOADED', fact);
    }
    return this.wait(target, limit, signal);
  }

  /** Rejects all calls. Idempotent. */
  close(): void {
    for (const { fail } of this.waiting) fail(closedError());
  }

  private wait(target: JobTarget, limit: number, signal: AbortSignal | undefined): Promise<JobEnd> {
    const { clock } = this.context.parts;
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        target,
        since: clock.now(),
        signal,
        isOver: false,
        known: 'nothing is known of it yet',
        dueOfCopy: undefined,
        copiesSeenAt: -Infinity,
        unknown: 0,
        detailTries: 0,
        isAwake: false,
        pausedUntil: Infinity,
        wake: () => undefined,
        fail: (error) => leave(() => reject(error)),
      };
      const aborted = () => waiting.fail(signal!.reason);
      const timer = clock.after(limit, () => waiting.fail(this.notFinished(waiting, limit)));
      const leave = (settle: () => void) => {
        if (waiting.isOver) return;
        waiting.isOver = true;
        timer.cancel();
        signal?.removeEventListener('abort', aborted);
        this.waiting.delete(waiting);
        if (this.waiting.size === 0) this.stopListening?.();
        waiting.wake();
        settle();
      };
      signal?.addEventListener('abort', aborted);
      waiting.wake = () => void (waiting.isAwake = true);
      this.waiting.add(waiting);
      this.stopListening ??= this.listen();
      this.follow(waiting).then((end) => end && leave(() => resolve(end)), waiting.fail);
    });
  }

  /** Looks until the job has ended. Resolves with undefined if the call is over before. */
  private async follow(waiting: Waiting): Promise<JobEnd | undefined> {
    while (!waiting.isOver) {
      waiting.isAwake = false;
      const found = await this.look(waiting);
      if ('end' in found) return found.end;
      if (found.rest > 0 && !waiting.isAwake) await this.pause(waiting, found.rest);
    }
    return undefined;
  }

  private async look(waiting: Waiting): Promise<Look> {
    try {
      return await this.lookAt(waiting);
    } catch (thrown) {
      if (!(thrown instanceof DqError) || thrown.code !== 'DQ_LEDGER_DOWN') throw thrown;
      waiting.known = factOf(thrown);
      return { rest: REST_WHEN_AWAY_MS };
    }
  }

  private async lookAt(waiting: Waiting): Promise<Look> {
    const { context } = this;
    if (waiting.target.byId) {
      const located = await locate(context, waiting.target);
      if (!located) return this.lookForTraces(waiting);
      waiting.target = located;
    }
    const { tube, id, born } = waiting.target;
    const found = await context.batched.ask(tube, 'find', id);
    if (!found) return this.lookForCopies(waiting);
    if (born !== undefined && found.born < born) return this.lookForCopies(waiting); // Redis has lost its add
    waiting.unknown = 0;
    if (born !== undefined && found.born > born) return this.details(waiting, 'replaced', 0);
    waiting.target = { ...waiting.target, born: found.born };
    switch (found.state) {
      case 'waiting':
      case 'running':
        return this.goesOn(waiting, found);
      case 'done':
      case 'dead':
      case 'revoked':
      case 'expired':
        return this.details(waiting, found.state, found.attempt);
    }
  }

  private goesOn(waiting: Waiting, { state, due }: Pick<Schedule, 'state' | 'due'>): Look {
    const time = new Date(due).toISOString();
    waiting.known = state === 'waiting' ? `it is waiting, due ${time}` : `it is running, was due ${time}`;
    const { clock, ledger } = this.context.parts;
    const now = this.context.now(waiting.target.tube);
    if (ledger.onDecision) return { rest: Infinity };
    if (due > now) return { rest: Math.min(Math.max(due - now, SHORTEST_REST_MS), REST_UNTIL_DUE_MS) };
    const longing = Math.min(now - due, clock.now() - waiting.since) / 10;
    return { rest: Math.min(Math.max(longing, SHORTEST_REST_MS), LONGEST_REST_MS) };
  }

  /**
   * Without a record, a plain job waits, or its end is forgotten. Its copies tell. They are looked for rarely: a run makes a record.
   */
  private async lookForCopies(waiting: Waiting): Promise<Look> {
    const { clock } = this.context.parts;
    if (waiting.dueOfCopy === undefined || clock.now() - waiting.copiesSeenAt >= COPIES_EVERY_MS) {
      const view = await findJob(this.context, waiting.target);
      if (!view) return this.lookForTraces(waiting);
      if (view.state !== 'waiting') return { rest: 0 }; // it has a record by now
      waiting.unknown = 0;
      waiting.dueOfCopy = view.dueAt.getTime();
      waiting.copiesSeenAt = clock.now();
    }
    return this.goesOn(waiting, { state: 'waiting', due: waiting.dueOfCopy });
  }

  /** Without a record and copies, only what `keepDone` keeps of a job is left. */
  private async lookForTraces(waiting: Waiting): Promise<Look> {
    const { target } = waiting;
    const kept = await this.context.batched.ask(target.tube, 'ended', target.id);
    if (kept && isOf(kept, target)) return { end: this.endOf(target, 'done', kept.attempt, kept) };
    waiting.dueOfCopy = undefined;
    if (!(await this.isGone(target))) {
      waiting.known = 'a node that may have a copy of it does not answer';
      return { rest: LONGEST_REST_MS };
    }
    waiting.unknown++;
    // Once more: between the record and the copies it may have run.
    if (waiting.unknown === 1) return { rest: this.context.parts.ledger.onDecision ? 0 : UNKNOWN_AGAIN_MS };
    throw new DqError(
      'DQ_UNKNOWN_JOB',
      `no ${this.nameOf(target)} is known: it never existed, or its end is forgotten; ` +
        'expected one that waits, runs, ended within `doneTtl`, or is kept by `keepDone`',
    );
  }

  /** Whether no copy is left: each node that stored one says so. */
  private async isGone({ places }: JobTarget): Promise<boolean> {
    const { cluster } = this.context.parts;
    const answers = places.map(async ({ location }) => {
      const place = parseLocation(location);
      if (!place || place.copyId === UNKNOWN_COPY) return true;
      return (await cluster.find(place.endpoint, place.instance)?.peek(place.copyId)) === 'NOT_FOUND';
    });
    return (await Promise.all(answers)).every(Boolean);
  }

  /** The end of a job with what is kept of it. */
  private async details(waiting: Waiting, outcome: Outcome, attempt: number): Promise<Look> {
    const { target } = waiting;
    const { tube, id, born } = target;
    waiting.known = `it has ended (${outcome}), but what is kept of it cannot be read`;
    try {
      const wanted = outcome === 'replaced' ? ['done', 'dead'] : [outcome];
      if (wanted.includes('dead')) {
        const letter = await this.context.batched.ask(tube, 'letter', { id, born });
        if (letter) {
          const { why, error, died, attempt: last } = letter;
          const dead = this.endOf(target, 'dead', last);
          return { end: { ...dead, endedAt: new Date(died), why, ...(error && { error }) } };
        }
      }
      if (wanted.includes('done')) {
        const kept = await this.context.batched.ask(tube, 'ended', id);
        if (kept && isOf(kept, target)) return { end: this.endOf(target, 'done', kept.attempt, kept) };
      }
    } catch (thrown) {
      const isDown = thrown instanceof DqError && thrown.code === 'DQ_LEDGER_DOWN';
      if (!isDown || ++waiting.detailTries < MOST_DETAIL_TRIES) throw thrown;
    }
    return { end: this.endOf(target, outcome, attempt) };
  }

  private endOf(target: JobTarget, outcome: Outcome, attempt: number, kept?: FinishedEntry): JobEnd {
    const { tube, id, key = kept?.key } = target;
    return {
      outcome,
      id,
      tube: withoutPrefix(tube as StoredTube, this.context.parts.settings.prefix),
      ...(key !== undefined && { key }),
      ...(attempt > 0 && { attempt }),
      ...(kept && { endedAt: new Date(kept.ended) }),
      ...(kept?.result !== undefined && { result: JSON.parse(kept.result) as unknown }),
      ...(kept?.leftOut !== undefined && { resultLeftOut: kept.leftOut }),
    };
  }

  private notFinished({ target, known }: Waiting, limit: number): DqError {
    const fact = `${this.nameOf(target)} has not ended within ${limit} ms: ${known}`;
    return new DqError('DQ_NOT_FINISHED', fact);
  }

  private nameOf({ tube, id, key = id }: JobTarget): string {
    return `job ${show(key)} of ${show(withoutPrefix(tube as StoredTube, this.context.parts.settings.prefix))}`;
  }

  /** Resolves after `ms`, or earlier once it is woken. Pauses that end at about the same time end together: their looks share a call. */
  private pause(waiting: Waiting, ms: number): Promise<void> {
    const end = this.context.parts.clock.now() + ms;
    waiting.pausedUntil = Math.ceil(end / SHORTEST_REST_MS) * SHORTEST_REST_MS;
    return new Promise((resolve) => {
      const { wake } = waiting;
      waiting.wake = () => {
        waiting.wake = wake;
        waiting.pausedUntil = Infinity;
        resolve();
      };
      this.wakeAt(waiting.pausedUntil);
    });
  }

  private wakeAt(time: number): void {
    const { clock } = this.context.parts;
    if (time >= this.wakesAt) return;
    this.timer?.cancel();
    this.wakesAt = time;
    this.timer = clock.after(Math.max(0, time - clock.now()), () => {
      this.wakesAt = Infinity;
      const now = clock.now();
      let next = Infinity;
      for (const each of this.waiting)
        if (each.pausedUntil <= now) each.wake();
        else next = Math.min(next, each.pausedUntil);
      this.wakeAt(next);
    });
  }

  private listen(): () => void {
    const { ledger, clock } = this.context.parts;
    const wakeAll = () => {
      for (const { wake } of this.waiting) wake();
    };
    let isDue = false;
    const stopHearing = ledger.listen({ away: () => undefined, back: wakeAll });
    const stopWatching = ledger.onDecision?.(() => {
      if (isDue) return;
      isDue = true;
      clock.soon(() => {
        isDue = false;
        wakeAll();
      });
    });
    return () => {
      this.stopListening = undefined;
      this.timer?.cancel();
      this.wakesAt = Infinity;
      stopHearing();
      stopWatching?.();
    };
  }
}

/** Whether a kept end is that of this job: a job with a key isn't the only one with its id. */
function isOf({ born = 0 }: FinishedEntry, target: JobTarget): boolean {
  return target.born === undefined || born === target.born;
}

function closedError(): DqError {
  return new DqError('DQ_CLOSED', 'the module is closed; no end of a job can be awaited');
}

function ofGoQueue(ref: JobRef): DqError {
  return new DqError(
    'DQ_BAD_OPTION',
    `${show(ref)} is a job in go-queue's format, whose end isn't recorded in full: expected a job of a tube of nest-dq alone`,
  );
}
