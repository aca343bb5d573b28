// The plans of series made at run time (`DqSeries`), for all processes of one prefix.

/** Time, in ms, until an entry that a process has taken is given to another one, unless the process has dealt with it. */
export const CHECK_AGAIN_MS = 30_000;

/**
 * An entry is one string: what its job carries as a header, a line break, and the payload in JSON. A removed series keeps its
 * entry, marked as removed, until its job is revoked. Each series has the time of its next check, at which a process ensures that
 * it has a job: that is what makes a series continue after a crash. All calls but `page` cost the same however many series there are.
 */
export interface SeriesPlans {
  /** Ledger time in ms. */
  now(): number;
  /**
   * Stores a plan, beginning now or at `startAt`, unless the series has this plan. It's due for a check at once if the caller
   * dies, so the caller must call `checked`. Rejects with `DQ_LEDGER_DOWN`: it may have been stored.
   */
  upsert(name: string, plan: PlanTexts, startAt?: number): Promise<UpsertedPlan>;
  /** Resolves with the entry; undefined if there is none. Rejects with `DQ_LEDGER_DOWN`. */
  get(name: string): Promise<StoredSeries | undefined>;
  /** Resolves with series by name, and with how many there are. Rejects with `DQ_LEDGER_DOWN`. */
  page(query: PlanQuery): Promise<{ readonly total: number; readonly series: StoredSeries[] }>;
  /** Marks a series as removed. Resolves with its entry as it was; undefined if there was none. Rejects with `DQ_LEDGER_DOWN`. */
  remove(name: string): Promise<string | undefined>;
  /** Forgets a removed series, whose job is revoked. Resolves with false if it isn't removed any more. Rejects with `DQ_LEDGER_DOWN`. */
  forget(name: string): Promise<boolean>;
  /** Stores an entry that the ledger has lost. An existing one stays. Rejects with `DQ_LEDGER_DOWN`. */
  restore(name: string, entry: string): Promise<void>;
  /** Resolves with series whose check is due, and puts it off by `CHECK_AGAIN_MS`. Rejects with `DQ_LEDGER_DOWN`. */
  take(limit: number): Promise<StoredSeries[]>;
  /**
   * Notes that a series was checked. Resolves with undefined; if its entry is another one by now, with that one or '', and nothing
   * is noted. Rejects with `DQ_LEDGER_DOWN`.
   */
  checked(name: string, entry: string, check: PlanCheck): Promise<string | undefined>;
  /** Resolves with the series that were missed, the longest overdue first. Rejects with `DQ_LEDGER_DOWN`. */
  missed(limit: number): Promise<StoredSeries[]>;
  /** Remembers how series ran last. One that was removed is ignored. Rejects with `DQ_LEDGER_DOWN`. */
  ran(runs: readonly { readonly name: string; readonly text: string }[]): Promise<void>;
}

export interface PlanTexts {
  /** The plan as canonical JSON. */
  readonly spec: string;
  /** JSON, or '' for none. */
  readonly payload: string;
}

export interface UpsertedPlan {
  readonly status: 'created' | 'changed' | 'unchanged';
  readonly entry: string;
  /** The entry that it replaced. */
  readonly before?: string;
}

export interface StoredSeries {
  readonly name: string;
  readonly entry: string;
  /** Its last run, as `ran` stored it. */
  readonly run?: string;
}

export interface PlanQuery {
  readonly limit: number;
  /** Only names with this beginning. @default all */
  readonly prefix?: string | undefined;
  /** Only names after this one. @default from the first one on */
  readonly after?: string | undefined;
}

export interface PlanCheck {
  /** Ledger time in ms. Undefined if the series has ended. */
  readonly next: number | undefined;
  /** When it should have run. Undefined if it's on time. */
  readonly missedSince: number | undefined;
}

/** Beginning of the entry of a removed series, in place of the time at which it began. */
export const REMOVED = 'removed';
