import type { OnDuplicate, RevokeResult } from '../api/job.js';
import type { Place } from '../copies/location.js';
import type { Handover } from './handover.js';

/**
 * What is decided about jobs: claimed, waiting for a retry, done, revoked, dead. Never the job itself.
 * Implementations: Redis (many processes) and memory (the embedded node). One contract suite holds both.
 */
export interface Ledger {
  /** The part of one tube, named as the nodes know it, with its prefix. One call acts on one tube, which is one Redis Cluster slot. */
  tube(name: string): TubeLedger;
  /** Of all processes with the same prefix; there is none where there is no other process. */
  readonly handover?: Handover;
  /** Connects in the background and checks the server. Idempotent. */
  start(): void;
  /** Tells when any server stops to answer, and when all answer again. Returns how to stop listening. */
  listen(listener: LedgerListener): () => void;
  /** Ends what was begun; calls after it fail. A client of the user's is left open. Idempotent. */
  close(): Promise<void>;
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
  finish(requests: readonly FinishRequest[]): Promise<FinishAnswer[]>;
  extend(requests: readonly ExtendRequest[]): Promise<ExtendAnswer[]>;
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

export interface LedgerListener {
  /** `heardAt`: ledger time, ms, of its last answer; 0 if there was none. */
  away(error: Error, heardAt: number): void;
  /** `sameServer`: it has not been started again, and no other took its place, so that it knows all that it knew. */
  back(sameServer: boolean): void;
}

/** Milliseconds: the `ahead` of a ledger whose answers take some time. A stall that is shorter makes no run late. */
export const AHEAD = 20;

/**
 * Milliseconds. A generation that is opened and not committed is left alone by claims while it is younger than this, as its
 * commit may still come, or its abort. Of an older one the first claim makes the job.
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

export interface ClaimRequest {
  readonly id: string;
  /** The generation of the copy; 0 for the first of a plain job. */
  readonly generation: number;
  /** The generation of the add; another one than `generation` if the job was moved since. */
  readonly born: number;
  /** When the copy's header says that it is due; ledger time in ms. */
  readonly due: number;
  /** Made for each delivery and kept over repeats of the call: the same token gets the same fence and attempt again. */
  readonly token: string;
  /** Runs at most. */
  readonly attempts: number;
  /** Milliseconds the handler has. A lease is not kept for longer while the event loop is blocked. @default no limit */
  readonly timeout?: number;
}

export type ClaimAnswer =
  /** Run it, once `nowAtLeast` has come to `due`: the job's time, or a retry's own. */
  | { readonly kind: 'run'; readonly fence: number; readonly attempt: number; readonly due: number }
  /** Not yet: in so many milliseconds. */
  | { readonly kind: 'wait'; readonly ms: number }
  /** Somebody runs it, since `ranFor` ms; the lease ends in `ms`. */
  | { readonly kind: 'busy'; readonly ms: number; readonly ranFor: number }
  /** Done, revoked or replaced: delete the copy. */
  | { readonly kind: 'gone' }
  /** A dead letter: bury the copy. `fresh`: this very call found the attempts used up. */
  | { readonly kind: 'dead'; readonly fresh: boolean }
  /** No record, and overdue by more than `staleAfter`: bury it; a person decides. */
  | { readonly kind: 'stale' };

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
  /** Their header knows of a put of unknown outcome, which the record must learn. */
  readonly unknown: boolean;
}

/** A run that this process was given, as every call about it carries it: a record that Redis lost is made anew from it. */
export interface RunRef {
  readonly id: string;
  readonly generation: number;
  readonly born: number;
  readonly due: number;
  readonly fence: number;
  readonly attempt: number;
  /** Ledger time of the ledger's last OK to this run (its claim, or an extend). */
  readonly lastOk: number;
}

export type ExtendRequest = RunRef;
/** `refused`: the lease is lost; whoever asks must stop. `abort`: renewed, but a revoke asks the handler to stop. */
export type ExtendAnswer = 'ok' | 'refused' | 'abort';

export interface FinishRequest extends RunRef {
  readonly owed: OwedCopies;
  readonly outcome:
    | { readonly kind: 'done' }
    /** Failed; waits until `due` (ledger time). */
    | { readonly kind: 'retry'; readonly due: number }
    /** Given back by a shutdown: due now, and the attempt does not count. */
    | { readonly kind: 'back' }
    /** `places`: where its copies are, as far as is known. */
    | { readonly kind: 'dead'; readonly death: Death; readonly places: readonly Place[] }
    /** Over, and waits as an opened generation, whose copies are stored: this commits it. */
    | ({ readonly kind: 'again' } & AnnouncedGeneration)
    /**
     * The same, but too few copies of the opened generation are stored: it is aborted, and the present one waits until `due`,
     * its attempts begun anew. A `generation` of -1: none was opened.
     */
    | ({ readonly kind: 'later' } & AnnouncedGeneration);
}

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

/** Why a job became a dead letter. */
export interface Death {
  readonly why: 'attempts' | 'discarded' | 'invalid' | 'stale';
  /** Kept as it is: whoever makes it cuts a long stack. */
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
}

/**
 * `ok`: as asked (also when an earlier call with the same fence already did it).
 * `over`: it was revoked or replaced meanwhile, so nothing follows: delete the copies.
 * `refused`: another run has taken over; the outcome is dropped. Of an `again` also when its generation was given up
 * before: then the run ends with its lease, and the job runs once more from its old copies.
 * But for `ok`, the generation of an `again` is aborted, so that its copies can be deleted; and but for `refused` that of a
 * `later`, which a claim may have made the job.
 */
export type FinishAnswer = 'ok' | 'over' | 'refused';

/** What the ledger knows of a job: its committed generation. */
export interface Schedule {
  /** `running` only while the lease lasts; what a lapsed run left is waiting. */
  readonly state: 'waiting' | 'running' | 'done' | 'revoked' | 'dead';
  readonly born: number;
  readonly generation: number;
  /** Ledger time, ms: a retry's own. */
  readonly due: number;
  /** Runs begun that count. */
  readonly attempt: number;
  /** Known of keyed jobs and of moved ones; a plain job's are in its header and its receipt. */
  readonly places: readonly Place[];
}

/** By what a new generation comes about, which decides when it is refused. */
export type Opening =
  /** A keyed add. `keep` and `reject` are refused while the job of that key waits or runs. */
  | { readonly by: 'add'; readonly onDuplicate: OnDuplicate }
  /** Moves a job that waits; `expected` is the generation of the copy that was read. */
  | { readonly by: 'move'; readonly expected: number }
  /** Brings a dead job back. */
  | { readonly by: 'revive'; readonly expected: number }
  /** A run that goes on later; its `finish` commits. */
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
   * The present generation as a reference or a copy tells of it. With it a move of a plain job that has no record
   * writes one, as waiting: only for a job of which a copy was just seen.
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
}

/** A refusal aborts the generation, so that its copies can be deleted. */
export type CommitAnswer =
  /**
   * `replaced`: what waited or ran until now. `already`: an earlier call or a claim has committed it, and what it replaced
   * is not known any more.
   */
  | { readonly kind: 'committed'; readonly replaced?: Schedule; readonly already?: true }
  /**
   * `overtaken`: a newer generation was committed, and this one is old enough that a claim may have committed it before, and
   * run it. `changed`: certainly not.
   */
  | { readonly kind: 'refused'; readonly why: Refusal | 'overtaken'; readonly present?: Schedule };

/** Takes an opened generation back; what may be stored of it stays owed. */
export interface AbortRequest extends Omit<AnnouncedGeneration, 'places'> {
  readonly id: string;
}

/**
 * `started`: too late, a claim has committed it, or may have before a newer one was committed. `full`: too many adds of this key failed lately for this one to be
 * remembered, so a copy of it that is not deleted may run.
 */
export type AbortAnswer = 'aborted' | 'started' | 'full';

export interface RevokeRequest {
  readonly id: string;
  /** The generation of the add that the reference is of, 0 for plain jobs; undefined for whatever is scheduled now. */
  readonly born: number | undefined;
  readonly due: number;
  readonly owed: OwedCopies;
  /** Asks a handler that runs to stop. */
  readonly abort: boolean;
}

export interface RevokeAnswer {
  readonly result: RevokeResult;
  /** A run of the job was begun, of whichever generation, as far as the record tells. */
  readonly begun: boolean;
  /** What was revoked and has no run: its copies can be deleted. */
  readonly revoked?: Schedule;
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

export interface LetterPage {
  readonly limit: number;
  /** Where the page before ended: goes on right behind it, whether or not that letter still exists. */
  readonly after: { readonly died: number; readonly id: string; readonly born: number } | undefined;
}

/** Newest first, those of one millisecond by `<id>:<born>` in descending order. */
export interface LetterList {
  readonly letters: readonly Letter[];
  /** There are letters behind the last one. */
  readonly more: boolean;
}

export interface BuriedRequest {
  readonly id: string;
  readonly born: number;
  readonly places: readonly Place[];
}
