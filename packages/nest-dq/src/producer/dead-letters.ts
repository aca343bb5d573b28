import { deleteCopies } from '../copy-deletion.js';
import { readCopy } from '../copy-reading.js';
import { deadLetter, type DeadLetter } from '../dead-letter.js';
import { DqError, show } from '../errors.js';
import { parseRef, type JobTarget } from '../job-ref.js';
import type { DiscardResult, JobRef, ReviveResult } from '../job.js';
import type { Letter, LetterPage } from '../ledger/ledger.js';
import type { Duration } from '../time.js';
import { tubeName, type AsJson, type Tube } from '../tube.js';
import { BatchedLedger } from './batched-ledger.js';
import { checkBetween, checkObject } from './call-options.js';
import { dueAfter, dueNow } from './due.js';
import { Lookups, withoutPrefix } from './lookups.js';
import { Moves } from './moves.js';
import type { ProducerParts } from './producer-parts.js';

/**
 * The dead letters of a tube: their copies stay buried on the nodes, and Redis has the list. They never expire. Inject it.
 * Every call may throw `DQ_LEDGER_DOWN`, `DQ_CLOSED`, and `DQ_BAD_REF` or `DQ_BAD_TUBE`.
 */
export abstract class DqDeadLetters {
  /**
   * Newest first, `limit` of them: 50 unless given, 1000 at most. A page that is not the last has a `cursor`, which asks for
   * the next. `DQ_BAD_OPTION`.
   */
  abstract list<In = unknown>(
    tube: string | Tube<In>,
    page?: { limit?: number; cursor?: string },
  ): Promise<{ letters: DeadLetter<AsJson<In>>[]; cursor?: string }>;

  /** Undefined: it is no dead letter. A reference by key means the job that is scheduled under it now. */
  abstract get(ref: JobRef): Promise<DeadLetter | undefined>;

  /**
   * Runs it again, now or after a delay; attempts begin anew. Where it is no dead letter (any more), tells what the job
   * is. `DQ_NO_COPY`: every node that has a copy is away; it stays dead. `DQ_TOO_FEW_COPIES`.
   */
  abstract revive(ref: JobRef, options?: { delay?: Duration }): Promise<ReviveResult>;

  /** Gives it up for good, and deletes its copies. Where it is no dead letter (any more), tells what the job is. */
  abstract discard(ref: JobRef): Promise<DiscardResult>;
}

const LARGEST_PAGE = 1_000;

export class ClusterDeadLetters extends DqDeadLetters {
  private readonly batched: BatchedLedger;
  private readonly moves: Moves;
  private readonly lookups: Lookups;
  private closed = false;

  constructor(private readonly parts: ProducerParts) {
    super();
    this.batched = new BatchedLedger(parts.ledger, parts.clock);
    this.moves = new Moves(parts, this.batched);
    this.lookups = new Lookups(parts, this.batched);
  }

  override async list<In>(
    tube: string | Tube<In>,
    page?: { limit?: number; cursor?: string },
  ): Promise<{ letters: DeadLetter<AsJson<In>>[]; cursor?: string }> {
    this.refuseIfClosed();
    const { limit = 50, cursor } = checkObject('the page', page, ['limit', 'cursor']);
    checkBetween('limit', limit, 1, LARGEST_PAGE);
    const { prefix } = this.parts.settings;
    const storedAs = prefix + tubeName(tube, prefix);
    const after = cursor === undefined ? undefined : parseCursor(cursor);
    const found = await this.parts.ledger.tube(storedAs).letters({ limit, after });
    const letters = await Promise.all(found.letters.map((letter) => this.opened(storedAs, letter)));
    const last = found.letters.at(-1);
    return {
      letters: letters as DeadLetter<AsJson<In>>[],
      ...(found.more && last ? { cursor: formatCursor(last) } : {}),
    };
  }

  override async get(ref: JobRef): Promise<DeadLetter | undefined> {
    const target = this.parse(ref);
    const letter = await this.letter(target);
    return letter && this.opened(target.tube, letter);
  }

  override async revive(ref: JobRef, options?: { delay?: Duration }): Promise<ReviveResult> {
    const { delay } = checkObject('the revive options', options, ['delay']);
    const due = delay === undefined ? dueNow : dueAfter(delay);
    const target = this.parse(ref);
    const { tube } = target;
    const ledger = this.parts.ledger.tube(tube);
    let letter = await this.letter(target);
    while (letter) {
      if (await this.moves.revive(tube, letter, due(ledger.now()))) return 'revived';
      const still = await this.letter(target);
      if (still?.generation === letter.generation) return 'replaced';
      // Somebody else revived it in between; where it is dead again, this is another letter.
      letter = still;
    }
    return this.stateOf(target);
  }

  override async discard(ref: JobRef): Promise<DiscardResult> {
    const target = this.parse(ref);
    const { tube, id, born } = target;
    const { cluster, settleQueue } = this.parts;
    const letter = await this.batched.tube(tube).discard({ id, born });
    if (!letter) return this.stateOf(target);
    await deleteCopies(cluster, settleQueue, tube, letter, letter.places);
    return 'discarded';
  }

  /** Everything fails from now on. Idempotent. */
  close(): void {
    this.closed = true;
  }

  private parse(ref: JobRef): JobTarget {
    this.refuseIfClosed();
    return parseRef(ref, this.parts.settings.prefix);
  }

  private letter({ tube, id, born }: JobTarget): Promise<Letter | undefined> {
    return this.batched.tube(tube).letter({ id, born });
  }

  /** Of a job that has no letter. */
  private async stateOf(target: JobTarget): Promise<Exclude<DiscardResult, 'discarded'>> {
    const state = (await this.lookups.find(target))?.state;
    // Dead, it died since it was asked for.
    return state === undefined || state === 'dead' ? 'unknown' : state;
  }

  /** The payload, and the key, are in the copies only. */
  private async opened(storedAs: string, letter: Letter): Promise<DeadLetter> {
    const copy = await readCopy(this.parts.cluster, letter, letter.places);
    const tube = withoutPrefix(storedAs, this.parts.settings.prefix);
    return deadLetter({ tube, storedAs, letter, copy });
  }

  private refuseIfClosed(): void {
    if (this.closed)
      throw new DqError('DQ_CLOSED', 'the module is closed, so dead letters cannot be reached');
  }
}

function formatCursor({ died, id, born }: Letter): string {
  return Buffer.from(JSON.stringify([died, id, born])).toString('base64url');
}

function parseCursor(cursor: string): LetterPage['after'] {
  try {
    const [died, id, born] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof died === 'number' && typeof id === 'string' && typeof born === 'number')
      return { died, id, born };
  } catch {
    // said below
  }
  throw new DqError('DQ_BAD_OPTION', `\`cursor\` is ${show(cursor)}: expected the one of the page before`);
}
