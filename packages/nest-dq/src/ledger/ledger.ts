import type { StoredTube } from '../api/tube.js';
import type { DqError } from '../errors.js';
import type { Handover } from './handover.js';
import type { Pause, PauseRequest } from './requests.js';
import type * as Letters from './requests.js';
import type { Usage, UsageRequest } from './limits/limits.js';
import type * as Asked from './requests.js';
import type { WaitingPage } from './waiting/waiting-jobs.js';

/**
 * Everything decided about jobs: claimed, waiting for a retry, done, revoked, dead. Never the job itself. Implementations: Redis
 * (many processes) and memory (the embedded node). One contract suite tests both.
 */
export interface Ledger {
  /** Ledger time in ms, for display and for what belongs to no tube. Before the first reading this is the machine's clock. */
  now(): number;
  /** The ledger of one tube. A call concerns one tube, which is one Redis Cluster slot. */
  tube(name: StoredTube): TubeLedger;
  /** Shared by all processes with the same prefix; absent where there is no other process. */
  readonly handover?: Handover;
  /** Distinguishes this ledger from others; absent where no other process can use another one. */
  readonly identity?: LedgerIdentity;
  /** Fingerprints of seal keys; absent where no other process can have other keys. */
  readonly keyPrints?: KeyPrints;
  /** Connects in the background and checks the server. Idempotent. */
  start(): void;
  /**
   * Reports that something was decided about jobs. Returns a function that stops listening. Absent where other processes decide,
   * too.
   */
  onDecision?(listener: () => void): () => void;
  /** Reports when any server stops answering, and when all answer again. Returns a function that stops listening. */
  listen(listener: LedgerListener): () => void;
  /** Ends everything that was started; later calls fail. A client provided by the user stays open. Idempotent. */
  close(): Promise<void>;
}

export interface LedgerIdentity {
  /**
   * Resolves with the identity stored in the ledger. If there is none, as in a new ledger or after a loss of its data, `known` is
   * stored. Rejects with `DQ_LEDGER_DOWN`.
   */
  read(known: string): Promise<string>;
  /** Resolves with the stored identity, and stores nothing. */
  peek(): Promise<string | undefined>;
  /**
   * Makes all calls that start or look up something fail with the returned error, because other processes use another ledger.
   * What was started can end. Undefined lifts the refusal.
   */
  refuse(why: (() => DqError) | undefined): void;
}

/** Fingerprints of seal keys by key name, so that each name means the same bytes for all processes of a prefix. */
export interface KeyPrints {
  /**
   * Stores those of `own` whose names have no fingerprint yet. Resolves with what is stored for the names of `own`. Rejects with
   * `DQ_LEDGER_DOWN`.
   */
  store(own: ReadonlyMap<string, string>): Promise<Map<string, string>>;
  /** Resolves with what is stored for the names of `own`, and stores nothing. */
  peek(own: ReadonlyMap<string, string>): Promise<Map<string, string>>;
}

export interface LedgerListener {
  /** `heardAt` is the ledger time of its last answer, in ms; 0 if there was none. */
  away(error: Error, heardAt: number): void;
  /** `sameServer`: it was neither restarted nor replaced by another server, so it still knows everything. */
  back(sameServer: boolean): void;
}

/** The `ahead` of a ledger whose answers take some time. A shorter stall makes no run late. */
export const AHEAD_MS = 20;

/**
 * Claims leave an opened generation alone while it is younger than this, because its commit or abort may still come. The
 * first claim of an older one makes it the job.
 */
export const YOUNG_MS = 10_000;

/** Number of failed runs that a record keeps, for people to see. */
export const MAX_FAILURES = 3;

/** The settings that must be the same in all processes. Times are in ms. */
export interface LedgerSettings {
  /** How long a silent runner keeps a job. */
  readonly lease: number;
  /** How long an end is remembered once no copy can be left. */
  readonly doneTtl: number;
  /** A copy without a record that is overdue by more than this is stale. Up to this much paused time isn't counted. */
  readonly staleAfter: number;
  /** Maximum number of jobs in a tube's index of waiting jobs before adds are left out; 0 adds none. @default 0 */
  readonly mostIndexed?: number;
}

/**
 * Time after a job's latest due time by which any copy of it is stale even without a record, in ms: `staleAfter` doesn't count
 * paused time, up to another `staleAfter`.
 */
export function keptAfter({ staleAfter }: Pick<LedgerSettings, 'staleAfter'>): number {
  return 2 * staleAfter + 60_000;
}

/** The verbs of a tube's ledger, each with its request about a job and its answer. */
export interface Verbs {
  // runs
  claim: [Asked.ClaimRequest, Asked.ClaimAnswer];
  extend: [Asked.RunRef, Asked.ExtendAnswer];
  progress: [Asked.ProgressRequest, void];
  complete: [Asked.CompleteRequest, Asked.CompleteAnswer];
  // schedules
  open: [Asked.OpenRequest, Asked.OpenAnswer];
  commit: [Asked.CommitRequest, Asked.CommitAnswer];
  abort: [Asked.AbortRequest, Asked.AbortAnswer];
  revoke: [Asked.RevokeRequest, Asked.RevokeAnswer];
  find: [string, Asked.Schedule | undefined];
  trace: [string, Asked.Trace | undefined];
  settle: [Asked.SettledCopies, void];
  // waiting jobs
  index: [Asked.IndexRequest, Asked.IndexAnswer];
  waiting: [WaitingPage, Asked.WaitingIds];
  locate: [string, Asked.Schedule | undefined];
  tally: [Asked.TallyRequest, Asked.Tally];
  // dead letters
  letters: [Letters.LetterPage, Letters.LetterList];
  letter: [Letters.LetterRef, Letters.Letter | undefined];
  buried: [Letters.BuriedRequest, Letters.BuriedAnswer];
  discard: [Letters.DiscardRequest, Letters.Letter | undefined];
  surplus: [Letters.SurplusRequest, Letters.LetterList];
  deaths: [Letters.DeathsRequest, number];
  // finished jobs
  finished: [Asked.FinishedQuery, Asked.FinishedList];
  ended: [string, Asked.FinishedEntry | undefined];
  // the tube as a whole
  pause: [PauseRequest, Pause | undefined];
  resume: [object, Pause | undefined];
  paused: [object, Pause | undefined];
  usage: [UsageRequest, Usage];
}
export type Verb = keyof Verbs;
export type RequestOf<V extends Verb> = Verbs[V][0];
export type AnswerOf<V extends Verb> = Verbs[V][1];

/**
 * The ledger of one tube. A call without an answer rejects with `DQ_LEDGER_DOWN`: its outcome is unknown, and it is safe to
 * repeat with the same arguments. No call takes effect later than a second after it was sent.
 */
export abstract class TubeLedger {
  /** How long before its due time a run may be granted, in ms, so that the answer is there when it is due. */
  abstract readonly ahead: number;
  /** Whether the server doesn't answer. Until it does, it is probed no more often than every 500 ms. */
  abstract readonly away: boolean;
  /** Ledger time: milliseconds since 1970, with fractions. Before the first reading this is the machine's clock. */
  abstract now(): number;
  /** A time that ledger time has certainly reached, however slow the replies that report it. */
  abstract nowAtLeast(): number;
  /** Resolves once ledger time has been read from the server at least once; rejects if the server doesn't answer. */
  abstract readTime(): Promise<void>;
  /** Reports each change of `away` for this tube's server. Returns a function that stops listening. */
  abstract listen(listener: LedgerListener): () => void;
  /** The one way for all verbs. */
  abstract ask<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    context?: Asked.ClaimContext,
  ): Promise<AnswerOf<V>[]>;

  /** Gives up the runs granted so far to this process: their leases simply run out. */
  abandonRuns(): void {}

  claim(requests: readonly Asked.ClaimRequest[], context?: Asked.ClaimContext): Promise<Asked.ClaimAnswer[]> {
    return this.ask('claim', requests, context);
  }

  extend(runs: readonly Asked.RunRef[]): Promise<Asked.ExtendAnswer[]> {
    return this.ask('extend', runs);
  }

  progress(requests: readonly Asked.ProgressRequest[]): Promise<void[]> {
    return this.ask('progress', requests);
  }

  complete(requests: readonly Asked.CompleteRequest[]): Promise<Asked.CompleteAnswer[]> {
    return this.ask('complete', requests);
  }

  open(requests: readonly Asked.OpenRequest[]): Promise<Asked.OpenAnswer[]> {
    return this.ask('open', requests);
  }

  commit(requests: readonly Asked.CommitRequest[]): Promise<Asked.CommitAnswer[]> {
    return this.ask('commit', requests);
  }

  abort(requests: readonly Asked.AbortRequest[]): Promise<Asked.AbortAnswer[]> {
    return this.ask('abort', requests);
  }

  revoke(requests: readonly Asked.RevokeRequest[]): Promise<Asked.RevokeAnswer[]> {
    return this.ask('revoke', requests);
  }

  find(ids: readonly string[]): Promise<(Asked.Schedule | undefined)[]> {
    return this.ask('find', ids);
  }

  letter(refs: readonly Letters.LetterRef[]): Promise<(Letters.Letter | undefined)[]> {
    return this.ask('letter', refs);
  }

  /** Removes letters for good: a job that is still dead becomes revoked. Resolves with the removed letters. */
  discard(refs: readonly Letters.DiscardRequest[]): Promise<(Letters.Letter | undefined)[]> {
    return this.ask('discard', refs);
  }

  async settle(settled: readonly Asked.SettledCopies[]): Promise<void> {
    await this.ask('settle', settled);
  }

  async letters(page: Letters.LetterPage): Promise<Letters.LetterList> {
    const [list] = await this.ask('letters', [page]);
    return list!;
  }

  /** Finds letters beyond their retention, oldest first, and removes none. */
  async surplus(request: Letters.SurplusRequest): Promise<Letters.LetterList> {
    const [list] = await this.ask('surplus', [request]);
    return list!;
  }

  /**
   * Grants no more runs until the tube is resumed, or until this ledger time (ms). Granted runs continue. Resolves with the
   * current pause; undefined if `until` is in the past.
   */
  async pause(until?: number): Promise<Pause | undefined> {
    const [pause] = await this.ask('pause', [{ until }]);
    return pause;
  }

  /** Ends the pause. Resolves with it; undefined if there was none. */
  async resume(): Promise<Pause | undefined> {
    const [pause] = await this.ask('resume', [{}]);
    return pause;
  }

  /** Resolves with the current pause; undefined if there is none. */
  async paused(): Promise<Pause | undefined> {
    const [pause] = await this.ask('paused', [{}]);
    return pause;
  }

  /** Reports where copies of dead jobs are, so that their letters can be read, revived and discarded. */
  buried(requests: readonly Letters.BuriedRequest[]): Promise<Letters.BuriedAnswer[]> {
    return this.ask('buried', requests);
  }
}
