// The requests to the ledger about a job, and its answers: see the verbs in ledger.ts.
import type { OnDuplicate, RevokeResult } from '../api/job.js';
import type { Place } from '../copies/location.js';
import type { LimitKind, Limits } from './limits/limits.js';
import type { WaitingCounts, WaitingPosition } from './waiting/waiting-jobs.js';

// Runs

export interface ClaimRequest {
  readonly id: string;
  /** Generation of the copy; 0 for the first one of a plain job. */
  readonly generation: number;
  /** Generation of the add. It differs from `generation` if the job was moved since. */
  readonly born: number;
  /** Due time in the copy's header, as ledger time in ms. */
  readonly due: number;
  /** Created for each delivery and reused when the call is repeated: the same token gets the same fence and attempt. */
  readonly token: string;
  /** Maximum number of runs. */
  readonly attempts: number;
  /** Time limit of the handler, in ms. While the event loop is blocked, the lease is renewed no longer than this. @default no limit */
  readonly timeout?: number;
  /** See `permitOf`. @default the run isn't counted */
  readonly permit?: string | undefined;
  /** @default it never expires */
  readonly expiry?: Expiry | undefined;
}

/** When a job expires: no run of it is granted at that time or later. */
export interface Expiry {
  /** Ledger time in ms. The record of a job that continued as its old generation has its own time, which takes precedence. */
  readonly startBy: number;
  /** Whether it then becomes a dead letter. */
  readonly letter: boolean;
  readonly owed: OwedCopies;
}

export type ClaimAnswer =
  /**
   * Run it once `nowAtLeast` has reached `due`: the time of the job or of its retry. If a limit delays it, it must not start
   * before `notBefore` either (ledger time in ms).
   */
  | {
      readonly kind: 'run';
      readonly fence: number;
      readonly attempt: number;
      readonly due: number;
      readonly notBefore?: number;
      /** The record's own expiry, as ledger time in ms. @default that of the request */
      readonly startBy?: number;
    }
  /** Not due for another `ms`. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** Somebody has been running it for `ranFor` ms; the lease ends in `ms`. */
  | { readonly kind: 'busy'; readonly ms: number; readonly ranFor: number }
  /** Done, revoked or replaced: delete the copy. */
  | { readonly kind: 'gone' }
  /** A dead letter: bury the copy. `fresh` if this very call found the attempts used up. */
  | { readonly kind: 'dead'; readonly fresh: boolean }
  /** The tube is paused: nobody runs the job. Ask again in `ms`. */
  | { readonly kind: 'paused'; readonly ms: number }
  /** A limit of the tube is reached. Ask again in `ms`; every job the rate refuses in a call gets its own time. */
  | { readonly kind: 'limited'; readonly by: LimitKind; readonly ms: number }
  /** No record, and overdue by more than `staleAfter`, not counting pauses: bury it; a person decides. */
  | { readonly kind: 'stale' }
  /** This very call found it expired: delete its copies, or with `letter` bury the copy. */
  | { readonly kind: 'expired'; readonly letter: boolean };

/** Data that accompanies the claims of one call. */
export interface ClaimContext {
  readonly settled?: readonly SettledCopies[];
  /**
   * Runs whose lease ended at this ledger time or later aren't taken over: their process may have been cut off too, and not be
   * back yet. Such a job is busy. @default expired leases are taken over
   */
  readonly sparedFrom?: number | undefined;
  /** The limits to apply. @default nothing is limited */
  readonly limits?: Limits | undefined;
}

/** The copies of one generation that may still exist. */
export interface OwedCopies {
  /** Bit i is set if copy i may exist. */
  readonly mask: number;
  /** A put got no answer, so one more copy may exist somewhere: the record is kept as long as possible. */
  readonly unknown: boolean;
}

export interface SettledCopies {
  readonly id: string;
  readonly generation: number;
  /** The copies whose deletion is certain. */
  readonly mask: number;
  /** Whether their header records a put without an answer, which the record must learn. */
  readonly unknown: boolean;
}

/** A run granted to this process. Every call about it carries all of this, so that a record lost by Redis can be rebuilt. */
export interface RunRef {
  readonly id: string;
  readonly generation: number;
  readonly born: number;
  readonly due: number;
  readonly fence: number;
  readonly attempt: number;
  /** Ledger time of the ledger's last OK for this run (its claim, or an extend). */
  readonly lastOk: number;
  /** The permit granted by the claim. */
  readonly permit?: string | undefined;
}

/** `refused`: the lease is lost, and the run must stop. `abort`: renewed, but a revoke asks the handler to stop. */
export type ExtendAnswer = 'ok' | 'refused' | 'abort';

/** How far a run is, as its handler reported it last. For people to see: nothing depends on it. */
export interface RunProgress {
  /** 0 to 1. */
  readonly fraction: number;
  /** Absent if there is none, or the cluster encrypts its jobs. */
  readonly note?: string;
  /** Ledger time of the report, in ms. */
  readonly at: number;
}

/** Replaces the progress of a run. Ignored if the job isn't being run with this fence. */
export interface ProgressRequest {
  readonly id: string;
  readonly fence: number;
  readonly progress: RunProgress;
}

export interface CompleteRequest extends RunRef {
  readonly owed: OwedCopies;
  /** Places of a plain job's copies. The record of a job that waits again remembers them. @default not known */
  readonly places?: readonly Place[];
  readonly outcome:
    /** `kept`: to be shown to people once the job is over. @default it is forgotten */
    | { readonly kind: 'done'; readonly kept?: KeptDone | undefined }
    /** Failed; waits until `due` (ledger time). `failure`: to be shown to people. @default none is kept */
    | { readonly kind: 'retry'; readonly due: number; readonly failure?: FailedRun | undefined }
    /** Handed back by a shutdown: due now, and the attempt doesn't count. */
    | { readonly kind: 'back' }
    /** `places`: the known places of its copies. */
    | {
        readonly kind: 'dead';
        readonly death: Death;
        readonly places: readonly Place[];
        readonly failure?: FailedRun | undefined;
      }
    /** The run is over, and the job continues as an opened generation, whose copies are stored: this commits it. */
    | ({ readonly kind: 'again' } & AnnouncedGeneration)
    /**
     * As `again`, but too few copies of the opened generation are stored: it is aborted, and the current one waits until `due`
     * with its attempts reset. `generation` is -1 if none was opened.
     */
    | ({
        readonly kind: 'later';
        /** Its expiry from now on, as ledger time in ms. */
        readonly startBy?: number | undefined;
      } & AnnouncedGeneration);
}

/** A run that failed: kept in the record of a job that waits for its retry, and then in its letter. Nothing depends on it. */
export interface FailedRun {
  readonly attempt: number;
  /** Ledger time in ms at which its handler was called. */
  readonly startedAt: number;
  /** Time until its outcome was known, in ms. */
  readonly took: number;
  /** The process that ran it, as `host:pid`. */
  readonly process: string;
  /** Name of its error. Cut, as is the message. */
  readonly name: string;
  readonly message: string;
}

/** A job that is done, to be kept for people to see, and the bounds of its tube's list. Nothing depends on it. */
export interface KeptDone {
  readonly run: FinishedRun;
  /** How long it is kept, in ms. */
  readonly period: number;
  /** Maximum number of jobs kept per tube. */
  readonly max: number;
}

/** The run with which a job was done. */
export interface FinishedRun {
  /** Time that its handler took, in ms. */
  readonly took: number;
  readonly attempt: number;
  /** The process that ran it, as `host:pid`. */
  readonly process: string;
  /** The job's key. Absent if it has none, or the cluster seals its jobs. */
  readonly key?: string;
  /** Generation of its add. Absent for a plain job. Older versions don't keep it. */
  readonly born?: number;
  /** Return value of its handler, as JSON. Absent if there was none, or it isn't kept. */
  readonly result?: string;
  /** Why a result isn't kept. */
  readonly leftOut?: 'too long' | 'not JSON';
  /** The last one its handler reported. Absent if it reported none. */
  readonly progress?: RunProgress;
}

/**
 * `ok`: as requested (also if an earlier call with the same fence already did it).
 * `over`: it was revoked or replaced meanwhile, so nothing follows: delete the copies.
 * `refused`: another run has taken over, and the outcome is dropped. An `again` is also refused if its generation was given up
 * before: then the run ends with its lease, and the job runs once more from its old copies.
 * Any answer but `ok` aborts the generation of an `again`, so that its copies can be deleted. Any answer but `refused` aborts
 * that of a `later`; a refused one may have become the job through a claim.
 */
export type CompleteAnswer = 'ok' | 'over' | 'refused';

// Schedules

/** A generation whose copies are on the nodes. */
export interface StoredGeneration {
  readonly generation: number;
  readonly due: number;
  readonly owed: OwedCopies;
  readonly places: readonly Place[];
}

/** A stored generation that was opened before. */
export interface AnnouncedGeneration extends StoredGeneration {
  /** Bit mask of the copies announced by its opening. */
  readonly announced: number;
}

/** The state of a job in the ledger: its committed generation. */
export interface Schedule {
  /** `running` only while the lease lasts; a job whose runner lost its lease is waiting. */
  readonly state: 'waiting' | 'running' | 'done' | 'revoked' | 'dead' | 'expired';
  readonly born: number;
  readonly generation: number;
  /** Due time, or the time of the retry, as ledger time in ms. */
  readonly due: number;
  /** Number of started runs that count. */
  readonly attempt: number;
  /** Known for keyed jobs, moved jobs, and jobs waiting for a retry. Otherwise they are in the header and the receipt. */
  readonly places: readonly Place[];
  /** Last report of the handler that runs it; only in the answers of `find` and `trace`. Absent if it reported none. */
  readonly progress?: RunProgress;
}

/** A schedule with details about its last run, for people to inspect. */
export interface Trace extends Schedule {
  /** Fence of the last run that started: ledger time in microseconds, nearly always that of its claim. 0 if none started. */
  readonly fence: number;
  /** Ledger time in ms at which the lease of the run ends or ended; 0 if there is no run. */
  readonly leaseEnd: number;
  /** Whether its lease is over and its process hasn't reported how it ended. */
  readonly left: boolean;
  /** Ledger time in ms until which the job may wait for the end of a run of the job it replaced. */
  readonly holdEnd: number;
  /** Its last failed runs, at most `MAX_FAILURES`, oldest first. Absent if there are none, or none were kept. */
  readonly failures?: readonly FailedRun[];
}

/** The cause of a new generation. It determines when the generation is refused. */
export type Opening =
  /**
   * A keyed add. `keep` and `reject` are refused while the job of that key waits or runs. With `after`, any is refused if a job
   * born after that generation is known under the key, in whatever state: so an add that may have been made can be repeated.
   */
  | { readonly by: 'add'; readonly onDuplicate: OnDuplicate; readonly after?: number | undefined }
  /** Moves a waiting job; `expected` is the generation of the copy that was read. */
  | { readonly by: 'move'; readonly expected: number }
  /** Brings a dead job back. */
  | { readonly by: 'revive'; readonly expected: number }
  /** A run whose job runs again; its `complete` commits. */
  | { readonly by: 'again'; readonly run: RunRef };

/** Requests the next generation, before its copies are stored. */
export interface OpenRequest {
  readonly id: string;
  readonly opening: Opening;
  /** Due time of the new generation. */
  readonly due: number;
  /** Bit mask of the copies about to be stored. */
  readonly announced: number;
  /**
   * The current generation according to a receipt or a copy. With it, a move of a plain job without a record creates one, as
   * waiting. Pass it only for a job of which a copy was just seen.
   */
  readonly known?: StoredGeneration & { readonly born: number };
}

/**
 * Why a generation is refused. `taken`: the key's job waits or runs. `changed`: the expected generation is no longer the current
 * one, or a newer one was committed. `lost`: the requesting run has lost its lease. `unknown`: no record. `revoked`: by a revoke
 * that came after the opening, or before a move. The others are the state of the job.
 */
export type Refusal =
  | 'taken'
  | 'changed'
  | 'lost'
  | 'unknown'
  | 'running'
  | 'done'
  | 'revoked'
  | 'dead'
  | 'expired';

export type OpenAnswer =
  /** `present`: the job that waits or runs now, which the commit will replace. */
  | { readonly kind: 'opened'; readonly generation: number; readonly present?: Schedule }
  | { readonly kind: 'refused'; readonly why: Refusal; readonly present?: Schedule };

/** Makes the opened generation the job; its copies are stored. */
export interface CommitRequest extends AnnouncedGeneration {
  readonly id: string;
  readonly opening: Exclude<Opening, { by: 'again' }>;
  readonly born: number;
  /**
   * Ledger time in ms before which no claim can have committed this generation, or run the one it replaces. After that, one whose
   * opening Redis has lost is `forgotten`.
   */
  readonly undecidedUntil: number;
}

/** Any answer but `committed` aborts the generation, so that its copies can be deleted. */
export type CommitAnswer =
  /**
   * `replaced`: the job that waited or ran until now. `already`: an earlier call or a claim has committed it, and the job it
   * replaced is no longer known. `left`: places of a revived job's copies, from the letter that was removed.
   */
  | {
      readonly kind: 'committed';
      readonly replaced?: Schedule;
      readonly already?: true;
      readonly left?: readonly Place[];
    }
  /**
   * `overtaken`: a newer generation was committed, and this one is so old that a claim may have committed and run it before.
   * `changed`: certainly not.
   */
  | { readonly kind: 'refused'; readonly why: Refusal | 'overtaken'; readonly present?: Schedule }
  /** Redis has lost the opening, and with it whether a claim has committed and run this generation, or voided it. */
  | { readonly kind: 'forgotten' };

/** Withdraws an opened generation; copies of it that may be stored stay owed. */
export interface AbortRequest extends Omit<AnnouncedGeneration, 'places'> {
  readonly id: string;
}

/**
 * `started`: too late, a claim has committed it, or may have done so before a newer one was committed. `full`: too many recent
 * adds of this key failed for this one to be remembered, so a copy of it that isn't deleted may run.
 */
export type AbortAnswer = 'aborted' | 'started' | 'full';

export interface RevokeRequest {
  readonly id: string;
  /** Generation of the receipt's add, 0 for plain jobs; undefined for whatever is scheduled now. */
  readonly born: number | undefined;
  readonly due: number;
  readonly owed: OwedCopies;
  /** Places of that add's copies, for a record without them. A later revoke by id then finds them. @default not stored */
  readonly places?: readonly Place[];
  /** Whether to ask a running handler to stop. */
  readonly abort: boolean;
}

export interface RevokeAnswer {
  readonly result: RevokeResult;
  /** Whether a run of any generation of the job was started, as far as the record knows. */
  readonly begun: boolean;
  /** The revoked schedule, if it has no run: its copies can be deleted. */
  readonly revoked?: Schedule;
}

// Waiting jobs: their index is only for inspection, and nothing depends on it

/** Adds a plain job to the index that was just stored and has no record. */
export interface IndexRequest {
  readonly id: string;
  readonly due: number;
  readonly places: readonly Place[];
}

/** `full`: the index has reached its maximum. `known`: the job has a record, or may have ended and been forgotten. */
export type IndexAnswer = 'full' | 'listed' | 'known';

/** A page of the index, by due time. */
export interface WaitingIds {
  readonly ids: readonly WaitingPosition[];
  /** Whether more jobs follow. */
  readonly more: boolean;
}

export interface TallyRequest {
  /** Ledger times, in ms. */
  readonly times: readonly number[];
}

export interface Tally extends WaitingCounts {
  /** Number of indexed jobs due before each of the times. */
  readonly before: readonly number[];
}

// Finished jobs, kept for people to see: see `KeptDone`

/** A finished job. */
export interface FinishedEntry extends FinishedRun, FinishedPosition {}

/** A position in the list of finished jobs. */
export interface FinishedPosition {
  /** Ledger time of the end, in ms. */
  readonly ended: number;
  readonly id: string;
}

export interface FinishedQuery {
  /** Ended at this ledger time or later, in ms. @default all */
  readonly from?: number;
  /** Ended before this ledger time, in ms. @default all */
  readonly to?: number;
  /** Continues right after this position, even if its job is no longer kept. */
  readonly after?: FinishedPosition | undefined;
  /** 1 to 250. */
  readonly limit: number;
}

/** Newest first, those of one millisecond by id in descending order. */
export interface FinishedList {
  readonly jobs: readonly FinishedEntry[];
  /** Where the next page continues; absent on the last one. */
  readonly last?: FinishedPosition;
}

// Dead letters: the requests to the ledger, and its answers: see the verbs in ledger.ts.

/** Why a job became a dead letter. */
export interface Death {
  readonly why: 'attempts' | 'discarded' | 'invalid' | 'stale' | 'expired';
  /** Stored as it is: the caller cuts a long stack. */
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
}

/** A dead job's entry in the tube's index; at most one for each (id, born). */
export interface Letter extends Death {
  readonly id: string;
  readonly born: number;
  readonly generation: number;
  readonly due: number;
  /** Number of started runs. */
  readonly attempt: number;
  /** Ledger time of the death, in ms. */
  readonly died: number;
  readonly places: readonly Place[];
  /** As in the trace of the job before it died. */
  readonly failures?: readonly FailedRun[];
}

/** Refers to a letter. Without `born`: the job's current generation, if that is dead. */
export interface LetterRef {
  readonly id: string;
  readonly born: number | undefined;
}

export interface DiscardRequest extends LetterRef {
  /** Only the letter of this death: a job that was revived may have died again since. @default any letter */
  readonly died?: number;
}

/** Requests letters beyond their retention: older than `maxAge`, or beyond the `maxCount` newest ones. */
export interface SurplusRequest {
  /** Maximum age, in ms. */
  readonly maxAge: number;
  readonly maxCount: number;
  /** Maximum number of letters returned, oldest first. */
  readonly limit: number;
}

/** Requests the number of letters of jobs that died at or after this ledger time, in ms. */
export interface DeathsRequest {
  readonly since: number;
}

export interface LetterPage {
  readonly limit: number;
  /** Last letter of the previous page: continues right after it, even if it no longer exists. */
  readonly after: { readonly died: number; readonly id: string; readonly born: number } | undefined;
}

/** Newest first, those of one millisecond by `<id>:<born>` in descending order. A surplus is in reverse order. */
export interface LetterList {
  readonly letters: readonly Letter[];
  /** Whether more letters follow. */
  readonly more: boolean;
}

/** Reports where copies of a dead generation are, or will be buried. */
export interface BuriedRequest {
  readonly id: string;
  readonly born: number;
  readonly generation: number;
  readonly places: readonly Place[];
}

/**
 * `dead`: there is a letter of this generation, and it knows the places. `gone`: the letter was discarded or revived, and none of
 * these copies can be needed any more; a claim would answer the same. `unknown`: neither, because Redis has lost its record.
 */
export type BuriedAnswer = 'dead' | 'gone' | 'unknown';

// The pause of a tube: the requests to the ledger, and its answers.

/** A time during which no run of a tube is granted. Ledger time in ms. */
export interface Pause {
  readonly since: number;
  /** Absent if it lasts until somebody resumes the tube. */
  readonly until?: number;
}

export interface PauseRequest {
  /** Ledger time in ms. Replaces the current end if the tube is already paused. A time in the past changes nothing. */
  readonly until: number | undefined;
}

/** A current or past pause in a memory ledger. Ledger time in ms. */
export interface PauseSpan {
  readonly from: number;
  /** FOR_GOOD of pauses/pauses.rule.ts if it lasts until somebody resumes the tube. */
  readonly to: number;
}
