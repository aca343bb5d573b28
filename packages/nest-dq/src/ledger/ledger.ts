import type { RevokeResult } from '../job.js';

/**
 * What is decided about jobs: claimed, waiting for a retry, done, revoked, dead. Never the job itself.
 * Implementations: Redis (many processes) and memory (the embedded node). One contract suite holds both.
 */
export interface Ledger {
  /** The part of one tube, named as the nodes know it, with its prefix; the same object for the same name. One call acts on one tube, which is one Redis Cluster slot. */
  tube(name: string): TubeLedger;
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
  /** Resolves once ledger time was read from the server at least once; rejects when the server does not answer. */
  readTime(): Promise<void>;
  /** True while the server does not answer. It is asked again at most every 500 ms until it does. */
  readonly away: boolean;
  /** Tells each change of `away`, of this tube's server. Returns how to stop listening. */
  listen(listener: LedgerListener): () => void;

  claim(requests: readonly ClaimRequest[], settled?: readonly SettledCopies[]): Promise<ClaimAnswer[]>;
  finish(requests: readonly FinishRequest[]): Promise<FinishAnswer[]>;
  extend(requests: readonly ExtendRequest[]): Promise<ExtendAnswer[]>;
  revoke(requests: readonly RevokeRequest[]): Promise<RevokeAnswer[]>;
  settle(settled: readonly SettledCopies[]): Promise<void>;
}

export interface LedgerListener {
  away(error: Error): void;
  back(): void;
}

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
  /** When the copy's header says that it is due; ledger time in ms. */
  readonly due: number;
  /** Made for each delivery and kept over repeats of the call: the same token gets the same fence and attempt again. */
  readonly token: string;
  /** Runs at most. */
  readonly attempts: number;
}

export type ClaimAnswer =
  /** Run it. `due` is when this run was due: a retry's own time. */
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
  readonly due: number;
  readonly fence: number;
  readonly attempt: number;
  /** Ledger time of the ledger's last OK to this run (its claim, or an extend). */
  readonly lastOk: number;
}

export type ExtendRequest = RunRef;
/** `refused`: the lease is lost; whoever asks must stop. */
export type ExtendAnswer = 'ok' | 'refused';

export interface FinishRequest extends RunRef {
  readonly owed: OwedCopies;
  readonly outcome:
    | { readonly kind: 'done' }
    /** Failed; waits until `due` (ledger time). */
    | { readonly kind: 'retry'; readonly due: number }
    /** Given back by a shutdown: due now, and the attempt does not count. */
    | { readonly kind: 'back' }
    | { readonly kind: 'dead'; readonly death: Death };
}

/** Why a job became a dead letter. */
export interface Death {
  readonly why: 'attempts' | 'discarded' | 'invalid' | 'stale';
  /** Kept as it is: whoever makes it cuts a long stack. */
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string };
}

/**
 * `ok`: as asked (also when an earlier call with the same fence already did it).
 * `revoked`: it was revoked meanwhile, so nothing follows: delete the copies.
 * `refused`: another run has taken over; the outcome is dropped.
 */
export type FinishAnswer = 'ok' | 'revoked' | 'refused';

export interface RevokeRequest {
  readonly id: string;
  /** The generation of the add that the reference is of; 0 for plain jobs. */
  readonly born: number;
  readonly due: number;
  readonly owed: OwedCopies;
}

export interface RevokeAnswer {
  readonly result: RevokeResult;
}
