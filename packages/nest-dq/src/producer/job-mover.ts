import type { RescheduleResult } from '../api/job.js';
import type { StoredTube } from '../api/tube.js';
import { deleteCopies } from '../copies/deletion.js';
import type { Envelope } from '../copies/header.js';
import type { JobTarget } from '../copies/job-ref.js';
import type { Place } from '../copies/location.js';
import type { Content } from '../copies/payload.js';
import { readCopy } from '../copies/reading.js';
import { envelopeFor, owedAt } from '../copies/storing.js';
import { DqError, show } from '../errors.js';
import type { Letter, Opening, Refusal, Schedule, StoredGeneration } from '../ledger/requests.js';
import { ask, conflict, isEnough, storeGeneration } from './generations.js';
import type { ProducerContext } from './producer-context.js';

type MoveOpening = Extract<Opening, { by: 'move' | 'revive' }>;

/** A generation that gives way to another generation of the same job. */
interface Present extends StoredGeneration {
  readonly born: number;
}

interface Move {
  readonly tube: StoredTube;
  readonly id: string;
  readonly opening: MoveOpening;
  readonly present: Present;
  /** A copy of the present generation: what the job is. */
  readonly envelope: Envelope;
  /** Ledger time, ms. */
  readonly due: number;
  readonly change: Change;
  /** By the clock: until then a call to the ledger is repeated. */
  readonly until: number;
}

interface Refused {
  readonly why: Refusal;
  readonly present?: Schedule | undefined;
}

/** What changes besides the time. */
export interface Change {
  readonly content?: Content | undefined;
  /** They replace headers of the same names. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Gives another time to jobs that wait, and to dead ones. The new copies are stored before the ledger decides. */
export class JobMover {
  constructor(private readonly context: ProducerContext) {}

  /** If others come in between, it tries again `until` then, by the clock. `DQ_CONFLICT`. */
  async reschedule(target: JobTarget, due: number, change: Change, until: number): Promise<RescheduleResult> {
    const { tube, id, key } = target;
    const find = () => ask(this.context.tube(tube).find(id));
    let found = await find();
    for (let tries = 1; ; tries++) {
      const outcome = await this.tryReschedule(target, found, due, change, until);
      if (typeof outcome === 'string') return outcome;
      if (isEnough(tries, this.context.clock, until)) {
        throw conflict(key === undefined ? id : `the key ${show(key)}`, tries);
      }
      // Somebody else moved it in between: again, from what it is now.
      found = outcome.present ?? (await find());
    }
  }

  /** False: the letter's job is not dead any more. `DQ_NO_COPY`: no copy is in reach, and it stays dead. */
  async revive(tube: StoredTube, letter: Letter, due: number, until: number): Promise<boolean> {
    const { id, born, generation, places } = letter;
    const envelope = await readCopy(this.context.cluster, letter, places);
    if (!envelope) {
      // Somebody else may have revived or discarded it in between.
      const still = await ask(this.context.tube(tube).letter({ id, born }));
      if (!still) return false;
      throw noCopy(id, places);
    }
    const present = { ...letter, owed: owedAt(places) };
    const opening = { by: 'revive', expected: generation } as const;
    const refused = await this.move({ tube, id, opening, present, envelope, due, change: {}, until });
    return refused === undefined;
  }

  /** An object: others came in between, and this is the job that they left, as far as the ledger told. */
  private async tryReschedule(
    { tube, id, born, places: given, due: dueBefore }: JobTarget,
    found: Schedule | undefined,
    due: number,
    change: Change,
    until: number,
  ): Promise<RescheduleResult | { readonly present: Schedule | undefined }> {
    if (found && born !== undefined && found.born !== born) return 'unknown';
    if (found && found.state !== 'waiting') return found.state;
    if (!found && born === undefined) return 'unknown';
    const places = found && found.places.length > 0 ? found.places : given;
    const known = found ?? { born: born!, generation: born!, due: dueBefore };
    const before: Present = { ...known, places, owed: owedAt(places) };
    const envelope = await readCopy(this.context.cluster, { id, generation: before.generation }, places);
    if (!envelope) {
      const present = await ask(this.context.tube(tube).find(id));
      if (present?.generation !== found?.generation || present?.state !== found?.state) return { present };
      // Nothing may be written of a job that was perhaps done long ago.
      if (!found) return 'unknown';
      throw noCopy(id, places);
    }
    const opening = { by: 'move', expected: before.generation } as const;
    const refused = await this.move({ tube, id, opening, present: before, envelope, due, change, until });
    switch (refused?.why) {
      case undefined:
        return 'rescheduled';
      case 'taken':
      case 'lost':
      case 'changed':
        return { present: refused!.present };
      default:
        return refused!.why;
    }
  }

  /** Undefined: it is moved. */
  private async move(move: Move): Promise<Refused | undefined> {
    const { tube, id, opening, present, envelope, due, change, until } = move;
    const { cluster, settleQueue } = this.context;
    const { header } = envelope;
    const { born } = present;
    const headers = change.headers ? { ...header.headers, ...change.headers } : header.headers;
    const content = change.content ?? envelope.content;
    const done = await storeGeneration(this.context, {
      tube,
      id,
      opening,
      known: present,
      due,
      envelopeOf: (generation) =>
        envelopeFor(cluster, { ...header, due, generation, born, headers }, content),
      until,
      undone: 'it stays as it was',
      doubtful: 'it may be moved',
    });
    if (!('stored' in done)) return done.opened;
    const { stored, answer } = done;
    const gone = answer.kind === 'committed' ? present : stored;
    void deleteCopies(cluster, settleQueue, tube, { id, generation: gone.generation }, gone.places);
    // Overtaken: it was moved, and then replaced or moved again. If that came first, this counts as right before it.
    if (answer.kind === 'committed' || answer.why === 'overtaken') return undefined;
    return { why: answer.why, present: answer.present };
  }
}

function noCopy(id: string, places: readonly Place[]): DqError {
  const where = places.map(({ location }) => location).join(', ') || 'a place that the ledger knows';
  return new DqError(
    'DQ_NO_COPY',
    `no copy of job ${id} is in reach, so it stays as it is: expected a copy at ${where}`,
  );
}
