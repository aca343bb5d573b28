import type { Place } from '../../copies/location.js';
import { expiry, newRecord, NO_GENERATION, type JobRecord } from './job-record.js';
import { keptAfter, type LedgerSettings } from '../ledger.js';
import type { Letter, PauseSpan, RunRef } from '../requests.js';

/** A job that waits, in the index. */
interface ListedJob {
  /** Ledger time, ms. */
  readonly due: number;
  readonly places: readonly Place[];
  /** It waits for a retry. */
  readonly isRetried: boolean;
}

/** What counts against the limits of one tube. */
export interface LimitUse {
  /** GCRA's theoretical arrival time of the next run: microseconds of ledger time. */
  turn: number;
  /** The runs that have a permit, by the ids of their jobs. `until`: ledger time, ms, the end of the lease. */
  readonly running: Map<string, { permit: string; until: number }>;
  /** Only those with runs. Ledger time, ms. */
  readonly groups: Map<string, { running: number; grantedAt: number; askAt: number }>;
}

/** Ledger time of one call, in whole milliseconds and microseconds. */
export interface Moment {
  readonly now: number;
  readonly us: number;
}

/** What names a dead letter in its tube: there is one at most for each (id, born). */
export function letterName(id: string, born: number): string {
  return `${id}:${born}`;
}

/** What the memory ledger keeps of one tube: records until they expire, and dead letters until they are taken away. */
export class Records {
  /** By job id, those expired but not yet swept included. */
  readonly byId = new Map<string, JobRecord>();
  /** By `letterName`. */
  readonly letters = new Map<string, Letter>();
  /** The jobs that wait, by id, for those who look. No disk has it. */
  readonly index = new Map<string, ListedJob>();
  /** Of the tube: those in the past that still matter, and the present one, in the order of time. */
  pauses: readonly PauseSpan[] = [];
  /** Of it a disk has only the turn: no run outlives the process. */
  readonly limitUse: LimitUse = { turn: 0, running: new Map(), groups: new Map() };
  /** What a disk has not written yet; nothing where there is no disk. Names of letters are by `letterName`. */
  readonly unsaved = { records: new Set<string>(), letters: new Set<string>(), pauses: false, turn: false };
  private sweeping = this.byId.entries();

  constructor(
    readonly settings: LedgerSettings,
    /** Milliseconds before its due time from which on a run is granted. */
    readonly ahead = 0,
    /** Is told of each change that a restart should know. */
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

  /** By a call that decides about the job. */
  writeListed(id: string, record: JobRecord, time: Moment): void {
    this.relist(id, record);
    this.write(id, record, time);
  }

  /** Puts right what the index has of a job: it is there while it waits. The places are in the record. */
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

  /** Answers the letter; undefined: there is no such letter. */
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

  /** The record of a run that was lost, made from what its runner knows: only while no later end can be forgotten. */
  madeAnew(run: RunRef, { now }: Moment): JobRecord | undefined {
    if (now - run.lastOk >= this.settings.doneTtl) return undefined;
    const { generation, born, due, attempt, fence } = run;
    return { ...newRecord(generation, born, due), state: 'running', attempt, fence };
  }

  /** Looks at one more record, and removes it if it has expired. False: it has looked at all, and begins anew. */
  sweepNext({ now }: Moment): boolean {
    const next = this.sweeping.next();
    if (next.done) {
      this.sweeping = this.byId.entries();
      const last = this.pauses.at(-1);
      if (last && last.to + keptAfter(this.settings) <= now) this.keepPauses([]); // see ./pauses.ts
      const { turn } = this.limitUse;
      if (turn > 0 && turn <= now * 1_000) this.keepTurn(0);
      return false;
    }
    const [id, record] = next.value;
    if (record.expiresAt <= now) {
      this.byId.delete(id);
      this.noteChange('records', id);
    }
    return true;
  }
  /** It was written, or is gone. */
  noteChange(kind: 'records' | 'letters', name: string): void {
    if (!this.changed) return;
    this.unsaved[kind].add(name);
    this.changed();
  }
}
