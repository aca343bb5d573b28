// What the ledger is asked about a job, and what it answers: see the verbs in ledger.ts.
import type { OnDuplicate, RevokeResult } from '../api/job.js';
import type { Place } from '../copies/location.js';
import type { LimitKind, Limits } from './limits.js';
import type { WaitingCounts, WaitingPosition } from './waiting-jobs.js';

// Runs

export interface ClaimRequest {
  readonly id: string;
  /** The generation of the copy; 0 for the first of a plain job. */
  readonly generation: number;
  /** The generation of the add. It differs from `generation` if the job was moved since. */
  readonly born: number;
  /** When the copy's header says that it is due; ledger time in ms. */
  readonly due: number;
  /** Made for each delivery and used again when the call is repeated: the same token gets the same fence and attempt. */
  readonly token: string;
  /** Runs at most. */
  readonly attempts: number;
  /** Milliseconds the handler has. While the event loop is blocked, the lease is renewed for no longer. @default no limit */
  readonly timeout?: number;
  /** See `permitOf`. @default the run is not counted */
  readonly permit?: string | undefined;
}

export type ClaimAnswer =
  /**
   * Run it, once `nowAtLeast` has come to `due`: the job's time, or the time of its retry. `notBefore`: by a limit it must not begin
   * before this ledger time, in ms, either.
   */
  | {
      readonly kind: 'run';
      readonly fence: number;
      readonly attempt: number;
      readonly due: number;
      readonly notBefore?: number;
    }
  /** Not yet: in so many milliseconds. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** Somebody has run it for `ranFor` ms; the lease ends in `ms`. */
  | { readonly kind: 'busy'; readonly ms: number; readonly ranFor: number }
  /** Done, revoked or replaced: delete the copy. */
  | { readonly kind: 'gone' }
  /** A dead letter: bury the copy. `fresh`: this very call found the attempts used up. */
  | { readonly kind: 'dead'; readonly fresh: boolean }
  /** The tube is paused: nobody runs the job. Ask again in `ms`. */
  | { readonly kind: 'paused'; readonly ms: number }
  /** A limit of the tube is reached. Ask again in `ms`; each job that the rate refuses in a call has its own time. */
  | { readonly kind: 'limited'; readonly by: LimitKind; readonly ms: number }
  /** No record, and overdue by more than `staleAfter`, not counting pauses: bury it; a person decides. */
  | { readonly kind: 'stale' };

/** What goes with the claims of one call. */
export interface ClaimContext {
  readonly settled?: readonly SettledCopies[];
  /**
   * No run is taken over whose lease ended at this ledger time or later: its process may have been cut off too, and not be
   * back yet. Such a job is busy. @default leases that ended are taken over
   */
  readonly sparedFrom?: number | undefined;
  /** @default nothing is limited */
  readonly limits?: Limits | undefined;
}

/** Which copies of one generation may still exist. */
export interface OwedCopies {
  /** Bit i is set when copy i may exist. */
  readonly mask: number;
  /** A put got no answer, so one more copy may exist somewhere: the record is kept for the longest time. */
  readonly unknown: boolean;
}

export interface SettledCopies {
  readonly id: string;
  readonly generation: number;
  /** The copies whose deletion is certain. */
  readonly mask: number;
  /** Their header knows of a put without an answer, which the record must learn. */
  readonly unknown: boolean;
}

/** A run that this process was granted. Every call about it carries all of this: from it a record that Redis lost is made anew. */
export interface RunRef {
  readonly id: string;
  readonly generation: number;
  readonly born: number;
  readonly due: number;
  readonly fence: number;
  readonly attempt: number;
  /** Ledger time of the ledger's last OK to this run (its claim, or an extend). */
  readonly lastOk: number;
  /** That of its claim. */
  readonly permit?: string | undefined;
}

/** `refused`: the lease is lost, and the run must stop. `abort`: renewed, but a revoke asks the handler to stop. */
export type ExtendAnswer = 'ok' | 'refused' | 'abort';

export interface CompleteRequest extends RunRef {
  readonly owed: OwedCopies;
  /** Where the copies of a plain job are. The record of a job that goes on to wait remembers them. @default not known */
  readonly places?: readonly Place[];
  readonly outcome:
    | { readonly kind: 'done' }
    /** Failed; waits until `due` (ledger time). */
    | { readonly kind: 'retry'; readonly due: number }
    /** Handed back by a shutdown: due now, and the attempt does not count. */
    | { readonly kind: 'back' }
    /** `places`: where its copies are, as far as is known. */
    | { readonly kind: 'dead'; readonly death: Death; readonly places: readonly Place[] }
    /** The run is over, and the job goes on as an opened generation, whose copies are stored: this commits it. */
    | ({ readonly kind: 'again' } & AnnouncedGeneration)
    /**
     * The same, but too few copies of the opened generation are stored: it is aborted, and the present one waits until `due`
     * with its attempts begun anew. A `generation` of -1: none was opened.
     */
    | ({ readonly kind: 'later' } & AnnouncedGeneration);
}

/**
 * `ok`: as asked (also when an earlier call with the same fence already did it).
 * `over`: it was revoked or replaced meanwhile, so nothing follows: delete the copies.
 * `refused`: another run has taken over, and the outcome is dropped. An `again` is also refused when its generation was given
 * up before: then the run ends with its lease, and the job runs once more from its old copies.
 * Any answer but `ok` aborts the generation of an `again`, so that its copies can be deleted. Any answer but `refused` aborts
 * that of a `later`; a refused one may be the job by now, through a claim.
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
  /** The copies that its opening announced, a bit each. */
  readonly announced: number;
}

/** What the ledger knows of a job: its committed generation. */
export interface Schedule {
  /** `running` only while the lease lasts; a job whose runner lost its lease is waiting. */
  readonly state: 'waiting' | 'running' | 'done' | 'revoked' | 'dead';
  readonly born: number;
  readonly generation: number;
  /** Ledger time, ms; for a retry, the time of the retry. */
  readonly due: number;
  /** Runs begun that count. */
  readonly attempt: number;
  /** Known of keyed jobs, of moved ones, and of those that wait for a retry. Else they are in the header and the receipt. */
  readonly places: readonly Place[];
}

/** The same, and who had it last: for people who look. */
export interface Trace extends Schedule {
  /** Of the last run that began: microseconds of ledger time, and nearly always those of its claim. 0: none began. */
  readonly fence: number;
  /** Ledger time, ms: when the lease of the run ends or ended; 0 if there is no run. */
  readonly leaseEnd: number;
  /** Its lease is over, and its process has not told how it ended. */
  readonly left: boolean;
  /** Ledger time, ms: until then the job may wait for the end of a run of the job that it replaced. */
  readonly holdEnd: number;
}

/** What brings a new generation about. It decides when the generation is refused. */
export type Opening =
  /** A keyed add. `keep` and `reject` are refused while the job of that key waits or runs. */
  | { readonly by: 'add'; readonly onDuplicate: OnDuplicate }
  /** Moves a job that waits; `expected` is the generation of the copy that was read. */
  | { readonly by: 'move'; readonly expected: number }
  /** Brings a dead job back. */
  | { readonly by: 'revive'; readonly expected: number }
  /** A run that goes on later; its `complete` commits. */
  | { readonly by: 'again'; readonly run: RunRef };

/** Asks for the next generation, before its copies are stored. */
export interface OpenRequest {
  readonly id: string;
  readonly opening: Opening;
  /** When the new generation is due. */
  readonly due: number;
  /** The copies that are about to be stored, a bit each. */
  readonly announced: number;
  /**
   * The present generation as a receipt or a copy tells of it. With it, a move of a plain job that has no record writes one,
   * as waiting. Give it only for a job of which a copy was just seen.
   */
  readonly known?: StoredGeneration & { readonly born: number };
}

/**
 * Why a generation is refused. `taken`: the key's job waits or runs. `changed`: the expected generation is not the
 * present one any more, or a newer one was committed. `lost`: the run that asks has lost its lease. `unknown`: no record.
 * `revoked`: by a revoke that came after the opening, or before a move. The others are what the job is.
 */
export type Refusal = 'taken' | 'changed' | 'lost' | 'unknown' | 'running' | 'done' | 'revoked' | 'dead';

export type OpenAnswer =
  /** `present`: the job that waits or runs now, which the commit will replace. */
  | { readonly kind: 'opened'; readonly generation: number; readonly present?: Schedule }
  | { readonly kind: 'refused'; readonly why: Refusal; readonly present?: Schedule };

/** Decides that the opened generation is the job from now on; its copies are stored. */
export interface CommitRequest extends AnnouncedGeneration {
  readonly id: string;
  readonly opening: Exclude<Opening, { by: 'again' }>;
  readonly born: number;
  /**
   * Ledger time in ms: before it, no claim can have committed this generation, or run the one that it replaces. From then on, one
   * whose opening Redis has lost is `forgotten`.
   */
  readonly undecidedUntil: number;
}

/** Any answer but `committed` aborts the generation, so that its copies can be deleted. */
export type CommitAnswer =
  /**
   * `replaced`: the job that waited or ran until now. `already`: an earlier call or a claim has committed it, and the job that
   * it replaced is not known any more. `left`: where the copies of a revived job are, as the letter said that it took away.
   */
  | {
      readonly kind: 'committed';
      readonly replaced?: Schedule;
      readonly already?: true;
      readonly left?: readonly Place[];
    }
  /**
   * `overtaken`: a newer generation was committed, and this one is so old that a claim may have committed it before, and
   * run it. `changed`: certainly not.
   */
  | { readonly kind: 'refused'; readonly why: Refusal | 'overtaken'; readonly present?: Schedule }
  /** Redis has lost the opening, and with it whether a claim has committed this generation, and run it, or voided it. */
  | { readonly kind: 'forgotten' };

/** Takes an opened generation back; the copies of it that may be stored stay owed. */
export interface AbortRequest extends Omit<AnnouncedGeneration, 'places'> {
  readonly id: string;
}

/**
 * `started`: too late, a claim has committed it, or may have done so before a newer one was committed. `full`: too many adds of
 * this key failed lately for this one to be remembered, so a copy of it that is not deleted may run.
 */
export type AbortAnswer = 'aborted' | 'started' | 'full';

export interface RevokeRequest {
  readonly id: string;
  /** The generation of the add that the receipt is of, 0 for plain jobs; undefined for whatever is scheduled now. */
  readonly born: number | undefined;
  readonly due: number;
  readonly owed: OwedCopies;
  /** Where the copies of that add are, for a record that does not know. A later revoke by id then finds them. @default not stored */
  readonly places?: readonly Place[];
  /** Asks a handler that runs to stop. */
  readonly abort: boolean;
}

export interface RevokeAnswer {
  readonly result: RevokeResult;
  /** A run of the job was begun, of any generation, as far as the record tells. */
  readonly begun: boolean;
  /** The schedule that was revoked and has no run: its copies can be deleted. */
  readonly revoked?: Schedule;
}

// Waiting jobs: their index is only for those who look, and nothing is decided by it

/** Puts a plain job, which was just stored and has no record, into the index. */
export interface IndexRequest {
  readonly id: string;
  readonly due: number;
  readonly places: readonly Place[];
}

/** `full`: the index has as many jobs as it may have. `known`: it has a record, or it may have ended and be forgotten. */
export type IndexAnswer = 'full' | 'listed' | 'known';

/** A page of the index, the first due first. */
export interface WaitingIds {
  readonly ids: readonly WaitingPosition[];
  /** There are jobs behind the last one. */
  readonly more: boolean;
}

export interface TallyRequest {
  /** Ledger time, ms. */
  readonly times: readonly number[];
}

export interface Tally extends WaitingCounts {
  /** For each of the times, how many jobs of the index are due before it. */
  readonly before: readonly number[];
}

// What the ledger is asked about dead letters, and what it answers: see the verbs in ledger.ts.

/** Why a job became a dead letter. */
export interface Death {
  readonly why: 'attempts' | 'discarded' | 'invalid' | 'stale';
  /** Stored as it is: a long stack is cut by the caller. */
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
}

/** A dead job's entry in the tube's index. There is one at most for each (id, born). */
export interface Letter extends Death {
  readonly id: string;
  readonly born: number;
  readonly generation: number;
  readonly due: number;
  /** Runs begun. */
  readonly attempt: number;
  /** Ledger time, ms. */
  readonly died: number;
  readonly places: readonly Place[];
}

/** Without `born`: the job's present generation, if that is dead. */
export interface LetterRef {
  readonly id: string;
  readonly born: number | undefined;
}

export interface DiscardRequest extends LetterRef {
  /** Only the letter of this death: a job that was revived may have died again since. @default whatever letter there is */
  readonly died?: number;
}

/** Asks for the letters that are not retained: those older than `maxAge`, and those beyond the `maxCount` newest ones. */
export interface SurplusRequest {
  /** Milliseconds. */
  readonly maxAge: number;
  readonly maxCount: number;
  /** Of the oldest letters. */
  readonly limit: number;
}

/** Asks how many letters there are of jobs that died at this ledger time, in ms, or later. */
export interface DeathsRequest {
  readonly since: number;
}

export interface LetterPage {
  readonly limit: number;
  /** Where the page before ended: goes on right behind it, even if that letter does not exist any more. */
  readonly after: { readonly died: number; readonly id: string; readonly born: number } | undefined;
}

/** Newest first, those of one millisecond by `<id>:<born>` in descending order. A surplus is told the other way round. */
export interface LetterList {
  readonly letters: readonly Letter[];
  /** There are letters behind the last one. */
  readonly more: boolean;
}

/** Says where copies of a generation that is dead are, or will be buried. */
export interface BuriedRequest {
  readonly id: string;
  readonly born: number;
  readonly generation: number;
  readonly places: readonly Place[];
}

/**
 * `dead`: there is a letter of this generation, and it knows the places. `gone`: the letter was discarded or revived, and none of
 * these copies can be needed any more; a claim would answer the same. `unknown`: neither, because Redis has lost what it knew.
 */
export type BuriedAnswer = 'dead' | 'gone' | 'unknown';

// The pause of a tube: what the ledger is asked, and what it answers.

/** A time in which no run of a tube is granted. Ledger time, ms. */
export interface Pause {
  readonly since: number;
  /** Absent: until somebody resumes the tube. */
  readonly until?: number;
}

export interface PauseRequest {
  /** Ledger time, ms. In a tube that is paused it takes the place of the present end. One that is over changes nothing. */
  readonly until: number | undefined;
}

/** As a ledger in memory has a pause, present or past: ledger time, ms. */
export interface PauseSpan {
  readonly from: number;
  /** FOR_GOOD of rules/pauses.ts: until somebody resumes the tube. */
  readonly to: number;
}
