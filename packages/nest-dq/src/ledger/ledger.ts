import type { Handover } from './handover.js';
import type {
  AbortAnswer,
  AbortRequest,
  BuriedRequest,
  ClaimAnswer,
  ClaimRequest,
  CommitAnswer,
  CommitRequest,
  CompleteAnswer,
  CompleteRequest,
  ExtendAnswer,
  Letter,
  LetterList,
  LetterPage,
  LetterRef,
  OpenAnswer,
  OpenRequest,
  RevokeAnswer,
  RevokeRequest,
  RunRef,
  Schedule,
  SettledCopies,
} from './requests.js';

/**
 * Everything that is decided about jobs: claimed, waiting for a retry, done, revoked, dead. Never the job itself.
 * Implementations: Redis (many processes) and memory (the embedded node). One contract suite holds both.
 */
export interface Ledger {
  /** The part of one tube, named as the nodes know it, with its prefix. One call acts on one tube, which is one Redis Cluster slot. */
  tube(name: string): TubeLedger;
  /** Shared by all processes with the same prefix; absent where there is no other process. */
  readonly handover?: Handover;
  /** Connects in the background and checks the server. Idempotent. */
  start(): void;
  /** Tells when any server stops to answer, and when all answer again. Returns a function that ends the listening. */
  listen(listener: LedgerListener): () => void;
  /** Ends everything that was begun; calls after it fail. A client of the user's is left open. Idempotent. */
  close(): Promise<void>;
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
  /** A copy without a record that is overdue by more than this is stale. */
  readonly staleAfter: number;
}

/**
 * Every call takes many jobs and answers in their order. A call that got no answer rejects with `DQ_LEDGER_DOWN`:
 * its outcome is unknown, and it is safe to ask again with the same arguments.
 * No call acts later than a second after it was sent.
 */
export interface TubeLedger {
  /** Ledger time: milliseconds since 1970, with fractions. Before the first reading this is the machine's clock. */
  now(): number;
  /** What ledger time has certainly come to, however slow the replies are that tell of it. */
  nowAtLeast(): number;
  /** Milliseconds before its due time from which on a run is granted, so that the answer is there when it is due. */
  readonly ahead: number;
  /** Resolves once ledger time was read from the server at least once; rejects when the server does not answer. */
  readTime(): Promise<void>;
  /** True while the server does not answer. It is asked again at most every 500 ms until it does. */
  readonly away: boolean;
  /** Tells each change of `away`, of this tube's server. Returns how to stop listening. */
  listen(listener: LedgerListener): () => void;

  // runs
  /**
   * `sparedFrom`: no run is taken over whose lease ended at this ledger time or later: its process may have been as cut off
   * as this one was, and not yet back. It is busy. @default leases that ended are taken over
   */
  claim(
    requests: readonly ClaimRequest[],
    settled?: readonly SettledCopies[],
    sparedFrom?: number,
  ): Promise<ClaimAnswer[]>;
  complete(requests: readonly CompleteRequest[]): Promise<CompleteAnswer[]>;
  extend(requests: readonly RunRef[]): Promise<ExtendAnswer[]>;
  /** Nobody here says more of the runs that were granted until now: their leases end by themselves. */
  abandonRuns(): void;

  // schedules
  open(requests: readonly OpenRequest[]): Promise<OpenAnswer[]>;
  commit(requests: readonly CommitRequest[]): Promise<CommitAnswer[]>;
  abort(requests: readonly AbortRequest[]): Promise<AbortAnswer[]>;
  revoke(requests: readonly RevokeRequest[]): Promise<RevokeAnswer[]>;
  find(ids: readonly string[]): Promise<(Schedule | undefined)[]>;
  settle(settled: readonly SettledCopies[]): Promise<void>;

  // dead letters
  letters(page: LetterPage): Promise<LetterList>;
  letter(refs: readonly LetterRef[]): Promise<(Letter | undefined)[]>;
  /** Says where copies of dead jobs are, as they are buried. */
  buried(requests: readonly BuriedRequest[]): Promise<void>;
  /** Takes letters away for good: a job that is still dead becomes revoked. Answers what was taken. */
  discard(refs: readonly LetterRef[]): Promise<(Letter | undefined)[]>;
}
