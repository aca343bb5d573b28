import { deleteCopies } from '../copy-deletion.js';
import { readCopy } from '../copy-reading.js';
import {
  announcedBy,
  envelopeFor,
  owedAt,
  refuseTooLarge,
  storeCopies,
  tooFewCopies,
  type Stored,
} from '../copy-storing.js';
import type { Content, Envelope } from '../envelope.js';
import { DqError } from '../errors.js';
import type { JobTarget } from '../job-ref.js';
import type { RescheduleResult } from '../job.js';
import type { Letter, Opening, Refusal, StoredGeneration } from '../ledger/ledger.js';
import type { Place } from '../location.js';
import type { BatchedLedger } from './batched-ledger.js';
import { abortAndDelete, ask, commit } from './generations.js';
import type { ProducerParts } from './producer-parts.js';

type MoveOpening = Extract<Opening, { by: 'move' | 'revive' }>;

/** A generation that gives way to another one of the same job. */
interface Present extends StoredGeneration {
  readonly born: number;
}

interface Move {
  readonly tube: string;
  readonly id: string;
  readonly opening: MoveOpening;
  readonly present: Present;
  /** A copy of the present generation: what the job is. */
  readonly envelope: Envelope;
  /** Ledger time, ms. */
  readonly due: number;
  readonly change: Change;
}

/** What of a job becomes another than it was, besides its time. */
export interface Change {
  readonly content?: Content | undefined;
  /** Written over those of the same names. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Gives jobs another time: those that wait, and dead ones. The new copies are stored before the ledger decides. */
export class Moves {
  constructor(
    private readonly parts: ProducerParts,
    private readonly batched: BatchedLedger,
  ) {}

  async reschedule(target: JobTarget, due: number, change: Change): Promise<RescheduleResult> {
    for (;;) {
      const outcome = await this.tryReschedule(target, due, change);
      // Somebody else moved it in between: again, from what it is now.
      if (outcome !== 'changed') return outcome;
    }
  }

  /** False: the letter's job is not dead any more. `DQ_NO_COPY`: no copy is in reach, and it stays dead. */
  async revive(tube: string, letter: Letter, due: number): Promise<boolean> {
    const { id, born, generation, places } = letter;
    const envelope = await readCopy(this.parts.cluster, letter, places);
    if (!envelope) {
      // Somebody else may have revived or discarded it in between.
      const still = await ask(this.batched.tube(tube).letter({ id, born }));
      if (!still) return false;
      throw noCopy(id, places);
    }
    const present = { ...letter, owed: owedAt(places) };
    const opening = { by: 'revive', expected: generation } as const;
    const why = await this.move({ tube, id, opening, present, envelope, due, change: {} });
    return why === undefined;
  }

  private async tryReschedule(
    target: JobTarget,
    due: number,
    change: Change,
  ): Promise<RescheduleResult | 'changed'> {
    const { tube, id, born } = target;
    const { cluster } = this.parts;
    const find = () => ask(this.batched.tube(tube).find(id));
    const found = await find();
    if (found && born !== undefined && found.born !== born) return 'unknown';
    if (found && found.state !== 'waiting') return found.state;
    if (!found && born === undefined) return 'unknown';
    const places = found && found.places.length > 0 ? found.places : target.places;
    const known = found ?? { born: born!, generation: born!, due: target.due };
    const present: Present = { ...known, places, owed: owedAt(places) };
    const envelope = await readCopy(cluster, { id, generation: present.generation }, places);
    if (!envelope) {
      const now = await find();
      if (now?.generation !== found?.generation || now?.state !== found?.state) return 'changed';
      // Nothing may be written of a job that was perhaps done long ago.
      if (!found) return 'unknown';
      throw noCopy(id, places);
    }
    const opening = { by: 'move', expected: present.generation } as const;
    const why = await this.move({ tube, id, opening, present, envelope, due, change });
    switch (why) {
      case undefined:
        return 'rescheduled';
      case 'taken':
      case 'lost':
      case 'changed':
        return 'changed';
      default:
        return why;
    }
  }

  /** Undefined: it is moved. */
  private async move({
    tube,
    id,
    opening,
    present,
    envelope,
    due,
    change,
  }: Move): Promise<Refusal | undefined> {
    const { cluster, ledger, settleQueue, clock, settings } = this.parts;
    const tubeLedger = ledger.tube(tube);
    const batched = this.batched.tube(tube);
    const { header } = envelope;
    const { born } = present;
    const envelopeOf = (generation: number) => {
      const { key, priority, attempts, backoff } = header;
      const headers = change.headers ? { ...header.headers, ...change.headers } : header.headers;
      const next = { id, due, generation, born, key, priority, attempts, backoff, headers };
      return envelopeFor(cluster, next, change.content ?? envelope.content);
    };
    // The number of a generation has as many digits as the due time.
    refuseTooLarge(cluster, envelopeOf(due));
    const request = { id, opening, due, announced: announcedBy(cluster), known: present };
    const opened = await ask(batched.open(request));
    if (opened.kind === 'refused') return opened.why;
    const { generation } = opened;
    const job = { tube, envelope: envelopeOf(generation), backupDelay: settings.backupDelay };
    const stored = await new Promise<Stored>((resolve) =>
      storeCopies(cluster, job, () => tubeLedger.now(), resolve),
    );
    if (!stored.enough) {
      const undone = await abortAndDelete(cluster, settleQueue, tubeLedger, tube, id, stored);
      throw tooFewCopies(cluster, stored, undone ? 'it stays as it was' : 'it may be moved', !undone);
    }
    const answer = await commit(batched, clock, { ...stored, id, born, opening });
    const why = answer.kind === 'refused' ? answer.why : undefined;
    const gone = why === undefined ? present : stored;
    void deleteCopies(cluster, settleQueue, tube, { id, generation: gone.generation }, gone.places);
    // It was moved, and then replaced or moved on; or that came first, and it is as if this had come right before.
    return why === 'overtaken' ? undefined : why;
  }
}

function noCopy(id: string, places: readonly Place[]): DqError {
  const where = places.map(({ location }) => location).join(', ') || 'a place that the ledger knows';
  return new DqError(
    'DQ_NO_COPY',
    `no copy of job ${id} is in reach, so it stays as it is: expected one at ${where}`,
  );
}
