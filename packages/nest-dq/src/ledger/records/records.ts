import { FinishedJobs } from '../finished/finished-jobs.js';
import type { Place } from '../../copies/location.js';
import { expiry, newRecord, NO_GENERATION, type JobRecord } from './job-record.js';
import { keptAfter, type LedgerSettings } from '../ledger.js';
import type { Letter, PauseSpan, RunRef } from '../requests.js';

/** A waiting job in the index. */
interface ListedJob {
  /** Ledger time in ms. */
  readonly due: number;
  readonly places: readonly Place[];
  /** Whether it waits for a retry. */
  readonly isRetried: boolean;
}

/** Finished jobs that a sweep forgets at once, so that it takes no more than a millisecond. */
const FORGOTTEN_AT_ONCE = 1_000;

/** Usage counted against the limits of one tube. */
export interface LimitUse {
  /** GCRA's theoretical arrival time of the next run, as ledger time in microseconds. */
  turn: number;
  /** The runs that hold a permit, by job id. `until` is the end of the lease, as ledger time in ms. */
  readonly running: Map<string, { permit: string; until: number }>;
  /** Groups with runs. Times are ledger time in ms. */
  readonly groups: Map<string, { running: number; grantedAt: number; askAt: number }>;
}

/** Ledger time of one call, in whole milliseconds and microseconds. */
export interface Moment {
  readonly now: number;
  readonly us: number;
}

/** The name of a dead letter in its tube: there is at most one for each (id, born). */
export function letterName(id: string, born: number): string {
  return `${id}:${born}`;
}

/** The memory ledger's content for one tube: records until they expire, dead letters and finished jobs until they are removed. */
export class Records {
  /** Records by job id, including expired ones not yet swept. */
  readonly byId = new Map<string, JobRecord>();
  /** Letters by `letterName`. */
  readonly letters = new Map<string, Letter>();
  /** Waiting jobs by id, for inspection. Never written to disk. */
  readonly index = new Map<string, ListedJob>();
  readonly finished = new FinishedJobs((id) => this.noteChange('finished', id));
  /** Past pauses that still matter, and the current one, in order of time. */
  pauses: readonly PauseSpan[] = [];
  /** Only its turn is on disk: no run outlives the process. */
  readonly limitUse: LimitUse = { turn: 0, running: new Map(), groups: new Map() };
  /** Changes not yet on disk; empty without a disk. Letters are named by `letterName`. */
  readonly unsaved = {
    records: new Set<string>(),
    letters: new Set<string>(),
    finished: new Set<string>(),
    pauses: false,
    turn: false,
  };
  private sweeping = this.byId.entries();

  constructor(
    readonly settings: LedgerSettings,
    /** How long before its due time a run may be granted, in ms. */
    readonly ahead = 0,
    /** Called on each change that must survive a restart. */
    private readonly changed?: () => void,
  ) {}

  read(id: string, { now }: Moment): JobRecord | undefined {
    const record = this.byId.get(id);
    return record && record.expiresAt > now ? record : undefined;
  }

  write(id: string, record: JobRecord, { now }: Moment): void {
    record.expiresAt = expiry(record, now, this.settings);
    this.byId.set(id, record);
    this.noteChange('records', id);
  }

  /** Writes the record and updates the index, for calls that decide about the job. */
  writeListed(id: string, record: JobRecord, time: Moment): void {
    this.relist(id, record);
    this.write(id, record, time);
  }

  /** Updates the index entry of a job, which exists while the job waits. The places are in the record. */
  relist(id: string, { state, committed, due, attempt }: JobRecord): void {
    if (state !== 'waiting') this.index.delete(id);
    else if (committed !== NO_GENERATION && (this.index.has(id) || this.roomInIndex > 0))
      this.index.set(id, { due, places: [], isRetried: attempt > 0 });
  }

  get roomInIndex(): number {
    return (this.settings.mostIndexed ?? 0) - this.index.size;
  }

  keepLetter(letter: Letter): void {
    const name = letterName(letter.id, letter.born);
    this.letters.set(name, letter);
    this.noteChange('letters', name);
  }

  /** Returns the dropped letter; undefined if there was none. */
  dropLetter(id: string, born: number): Letter | undefined {
    const name = letterName(id, born);
    const letter = this.letters.get(name);
    if (this.letters.delete(name)) this.noteChange('letters', name);
    return letter;
  }

  keepPauses(pauses: readonly PauseSpan[]): void {
    this.pauses = pauses;
    if (!this.changed) return;
    this.unsaved.pauses = true;
    this.changed();
  }

  keepTurn(turn: number): void {
    this.limitUse.turn = turn;
    if (!this.changed) return;
    this.unsaved.turn = true;
    this.changed();
  }

  /** Rebuilds the lost record of a run from what its runner knows: only while no later end can have been forgotten. */
  madeAnew(run: RunRef, { now }: Moment): JobRecord | undefined {
    if (now - run.lastOk >= this.settings.doneTtl) return undefined;
    const { generation, born, due, attempt, fence } = run;
    return { ...newRecord(generation, born, due), state: 'running', attempt, fence };
  }

  /** Checks the next record, and removes it if it has expired. Returns false after the last one, and then starts over. */
  sweepNext({ now }: Moment): boolean {
    const next = this.sweeping.next();
    if (next.done) {
      this.sweeping = this.byId.entries();
      const last = this.pauses.at(-1);
      if (last && last.to + keptAfter(this.settings) <= now) this.keepPauses([]); // see ./pauses.ts
      const { turn } = this.limitUse;
      if (turn > 0 && turn <= now * 1_000) this.keepTurn(0);
      if (this.finished.isOver(now)) this.finished.dropOldest(FORGOTTEN_AT_ONCE);
      return false;
    }
    const [id, record] = next.value;
    if (record.expiresAt <= now) {
      this.byId.delete(id);
      this.noteChange('records', id);
    }
    return true;
  }
  /** Notes that it was written or removed. */
  noteChange(kind: 'records' | 'letters' | 'finished', name: string): void {
    if (!this.changed) return;
    this.unsaved[kind].add(name);
    this.changed();
  }
}
