import type { StoredTube } from '../api/tube.js';
import type { DqError } from '../errors.js';
import type { Handover } from './handover.js';
import type { Pause, PauseRequest } from './requests.js';
import type * as Letters from './requests.js';
import type { Usage, UsageRequest } from './limits.js';
import type * as Asked from './requests.js';
import type { WaitingPage } from './waiting-jobs.js';

/**
 * Everything that is decided about jobs: claimed, waiting for a retry, done, revoked, dead. Never the job itself.
 * Implementations: Redis (many processes) and memory (the embedded node). One contract suite holds both.
 */
export interface Ledger {
  /** Ledger time, ms, for what is shown and what is of no tube. Before the first reading this is the machine's clock. */
  now(): number;
  /** The part of one tube. One call acts on one tube, which is one Redis Cluster slot. */
  tube(name: StoredTube): TubeLedger;
  /** Shared by all processes with the same prefix; absent where there is no other process. */
  readonly handover?: Handover;
  /** What tells it from other ledgers; absent where no other process can have another one. */
  readonly identity?: LedgerIdentity;
  /** Of the keys of seals; absent where no other process can have others. */
  readonly keyPrints?: KeyPrints;
  /** Connects in the background and checks the server. Idempotent. */
  start(): void;
  /** Tells when any server stops to answer, and when all answer again. Returns a function that ends the listening. */
  listen(listener: LedgerListener): () => void;
  /** Ends everything that was begun; calls after it fail. A client of the user's is left open. Idempotent. */
  close(): Promise<void>;
}

export interface LedgerIdentity {
  /**
   * The identity that is stored in the ledger. If there is none, as in a new ledger or after a loss of its data, `known` is
   * stored. `DQ_LEDGER_DOWN`.
   */
  read(known: string): Promise<string>;
  /** The same, and nothing is stored. */
  peek(): Promise<string | undefined>;
  /**
   * From now on all calls that begin or look for something fail with what this returns, because other processes decide in
   * another ledger. What was begun can end. Undefined: they are sent again.
   */
  refuse(why: (() => DqError) | undefined): void;
}

/** Fingerprints of the keys of seals, by the names of the keys: so each name means the same bytes for all processes of a prefix. */
export interface KeyPrints {
  /** Stores those of `own` whose names have none yet. Returns what is stored for the names of `own`. `DQ_LEDGER_DOWN`. */
  store(own: ReadonlyMap<string, string>): Promise<Map<string, string>>;
  /** The same, and nothing is stored. */
  peek(own: ReadonlyMap<string, string>): Promise<Map<string, string>>;
}

export interface LedgerListener {
  /** `heardAt`: ledger time, ms, of its last answer; 0 if there was none. */
  away(error: Error, heardAt: number): void;
  /** `sameServer`: it was not restarted, and no other server took its place, so it still knows everything. */
  back(sameServer: boolean): void;
}

/** Milliseconds: the `ahead` of a ledger whose answers take some time. A stall that is shorter makes no run late. */
export const AHEAD = 20;

/**
 * Milliseconds. Claims leave an opened generation alone while it is younger than this, because its commit or its abort may
 * still come. The first claim of an older one makes it the job.
 */
export const YOUNG = 10_000;

/** The settings that must be the same in all processes. Milliseconds. */
export interface LedgerSettings {
  /** How long a silent runner keeps a job. */
  readonly lease: number;
  /** How long an end is remembered once no copy can be left. */
  readonly doneTtl: number;
  /** A copy without a record that is overdue by more than this is stale. Of pauses so much is not counted, too. */
  readonly staleAfter: number;
  /** Jobs that the index of a tube's waiting jobs may have, for the adding of more. 0: none are added. @default 0 */
  readonly mostIndexed?: number;
}

/**
 * Milliseconds after its latest time by which any copy of a job is stale, also without a record: `staleAfter` counts no time in
 * which the tube was paused, up to a second `staleAfter`.
 */
export function keptAfter({ staleAfter }: Pick<LedgerSettings, 'staleAfter'>): number {
  return 2 * staleAfter + 60_000;
}

/** Each verb of a tube's ledger: what it is asked about a job, and what it answers. */
export interface Verbs {
  // runs
  claim: [Asked.ClaimRequest, Asked.ClaimAnswer];
  extend: [Asked.RunRef, Asked.ExtendAnswer];
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
 * A call that got no answer rejects with `DQ_LEDGER_DOWN`: its outcome is unknown, and it is safe to ask again with the same
 * arguments. No call acts later than a second after it was sent.
 */
export abstract class TubeLedger {
  /** Milliseconds before its due time from which on a run is granted, so that the answer is there when it is due. */
  abstract readonly ahead: number;
  /** True while the server does not answer. It is asked again at most every 500 ms until it does. */
  abstract readonly away: boolean;
  /** Ledger time: milliseconds since 1970, with fractions. Before the first reading this is the machine's clock. */
  abstract now(): number;
  /** A time that ledger time has certainly reached, however slow the replies are that tell of it. */
  abstract nowAtLeast(): number;
  /** Resolves once ledger time was read from the server at least once; rejects when the server does not answer. */
  abstract readTime(): Promise<void>;
  /** Tells each change of `away`, of this tube's server. Returns a function that ends the listening. */
  abstract listen(listener: LedgerListener): () => void;
  /** All verbs go this way. */
  abstract ask<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    context?: Asked.ClaimContext,
  ): Promise<AnswerOf<V>[]>;

  /** This process says no more about the runs that it was granted until now: their leases end by themselves. */
  abandonRuns(): void {}

  claim(requests: readonly Asked.ClaimRequest[], context?: Asked.ClaimContext): Promise<Asked.ClaimAnswer[]> {
    return this.ask('claim', requests, context);
  }

  extend(runs: readonly Asked.RunRef[]): Promise<Asked.ExtendAnswer[]> {
    return this.ask('extend', runs);
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

  /** Takes letters away for good: a job that is still dead becomes revoked. Answers the letters that were taken. */
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

  /** Finds the letters that are not retained, the oldest first, and takes none away. */
  async surplus(request: Letters.SurplusRequest): Promise<Letters.LetterList> {
    const [list] = await this.ask('surplus', [request]);
    return list!;
  }

  /**
   * From now on no run is granted, until somebody resumes the tube, or until this ledger time (ms). Runs that were granted go on.
   * Answers the pause as it is now: undefined if `until` is over already.
   */
  async pause(until?: number): Promise<Pause | undefined> {
    const [pause] = await this.ask('pause', [{ until }]);
    return pause;
  }

  /** Ends the pause. Answers it; undefined if there was none. */
  async resume(): Promise<Pause | undefined> {
    const [pause] = await this.ask('resume', [{}]);
    return pause;
  }

  /** The present pause; undefined if there is none. */
  async paused(): Promise<Pause | undefined> {
    const [pause] = await this.ask('paused', [{}]);
    return pause;
  }

  /** Says where copies of dead jobs are, so that their letters can be read, revived and discarded. */
  buried(requests: readonly Letters.BuriedRequest[]): Promise<Letters.BuriedAnswer[]> {
    return this.ask('buried', requests);
  }
}
