import type { Duration } from 'nest-handlers/time';
import { deleteCopies } from '../copies/deletion.js';
import type { DeadLetter } from '../api/dead-letter.js';
import type { JobTarget } from '../copies/job-ref.js';
import type { DiscardResult, JobRef, PatienceOptions, ReviveResult } from '../api/job.js';
import type { Letter } from '../ledger/requests.js';
import { codecsOf, storedTube, type AsJson, type Tube } from '../api/tube.js';
import { checkBetween, checkObject } from './call-options.js';
import { namesOf } from '../copies/encoded.js';
import { codecsOfRef } from '../copies/job-ref.js';
import { encodePayload } from '../copies/payload.js';
import { dueAfter, dueNow } from './due.js';
import { look } from './generations.js';
import { findJob } from './job-finder.js';
import { revive, type Change } from './job-mover.js';
import { letterCursor, openLetter, readLetterCursor } from './letter-pages.js';
import type { ProducerContext } from './producer-context.js';
import type { PatientCall } from './retries.js';

/**
 * Lists, revives and discards dead letters. Inject it. Their copies stay buried on the nodes, and Redis holds the list. The
 * module option `deadLetters` sets how long they stay. Every call may reject with `DQ_LEDGER_DOWN`, `DQ_CLOSED`, and `DQ_BAD_REF`
 * or `DQ_BAD_TUBE`.
 */
export abstract class DqDeadLetters {
  /**
   * Resolves with a page of a tube's dead letters, newest first. A page has at most `limit` letters: 50 by default, max 1000. If
   * there are more, it has a `cursor`: pass it to get the next page. `DQ_BAD_OPTION`.
   */
  abstract list<In = unknown, Kept = AsJson<In>>(
    tube: string | Tube<In, any, Kept>,
    page?: PatienceOptions & { limit?: number; cursor?: string },
  ): Promise<{ letters: DeadLetter<Kept>[]; cursor?: string }>;

  /** Resolves with a dead letter, or undefined if the job isn't one. A key refers to the job currently scheduled under it. */
  abstract get(ref: JobRef, options?: PatienceOptions): Promise<DeadLetter | undefined>;

  /**
   * Runs the job again, now or after a delay, with a fresh set of attempts, and with another payload if one is given. Pass
   * `{ tube, key }` or `{ tube, id }` with a tube that has a codec, if it has one. If it isn't, or is no longer, a dead letter, the
   * result is the state of the job. `DQ_NO_COPY`: every node that has a copy is unreachable, and the job stays dead.
   * `DQ_TOO_FEW_COPIES`; `DQ_BAD_PAYLOAD` for the payload.
   */
  abstract revive(
    ref: JobRef,
    options?: PatienceOptions & { delay?: Duration; payload?: unknown },
  ): Promise<ReviveResult>;

  /** Gives the job up for good and deletes its copies. If it isn't, or is no longer, a dead letter, the result is the state of the job. */
  abstract discard(ref: JobRef, options?: PatienceOptions): Promise<DiscardResult>;
}

const LARGEST_PAGE = 1_000;

export class ClusterDeadLetters extends DqDeadLetters {
  constructor(private readonly context: ProducerContext) {
    super();
  }

  override async list<In, Kept>(
    tube: string | Tube<In, any, Kept>,
    page?: PatienceOptions & { limit?: number; cursor?: string },
  ): Promise<{ letters: DeadLetter<Kept>[]; cursor?: string }> {
    this.context.refuseIfClosed();
    const { limit = 50, cursor, patience } = checkObject('the page', page, ['limit', 'cursor', 'patience']);
    checkBetween('limit', limit, 1, LARGEST_PAGE);
    const call = { patience: this.context.patienceOf(patience) };
    const { parts } = this.context;
    const storedAs = storedTube(tube, parts.settings.prefix);
    const after = cursor === undefined ? undefined : readLetterCursor(cursor, 'the previous page');
    const ledger = parts.ledger.tube(storedAs);
    const found = await this.context.retries.run(call, () => look(ledger.letters({ limit, after })));
    const open = (letter: Letter) => openLetter(parts, storedAs, letter, codecsOf(tube));
    const letters = await Promise.all(found.letters.map(open));
    const last = found.letters.at(-1);
    return {
      letters: letters as DeadLetter<Kept>[],
      ...(found.more && last ? { cursor: letterCursor(last) } : {}),
    };
  }

  override async get(ref: JobRef, options?: PatienceOptions): Promise<DeadLetter | undefined> {
    const call = this.callOf('the get options', options);
    const target = this.context.parse(ref);
    const letter = await this.context.retries.run(call, () => this.letter(target));
    return letter && openLetter(this.context.parts, target.tube, letter, codecsOfRef(ref));
  }

  override async revive(
    ref: JobRef,
    options?: PatienceOptions & { delay?: Duration; payload?: unknown },
  ): Promise<ReviveResult> {
    const { delay, payload, patience } = checkObject('the revive options', options, [
      'delay',
      'payload',
      'patience',
    ]);
    const dueIn = delay === undefined ? dueNow : dueAfter(delay);
    const target = this.context.parse(ref);
    const codecs = codecsOfRef(ref);
    const content = payload === undefined ? undefined : encodePayload(payload, codecs?.codec);
    const call = { patience: this.context.patienceOf(patience), bytes: content?.bytes.length };
    const due = dueIn(this.context.now(target.tube));
    const until = this.context.parts.clock.now() + call.patience;
    return this.context.retries.run(call, () =>
      this.tryRevive(target, { due, content, readable: namesOf(codecs), until }),
    );
  }

  private async tryRevive(target: JobTarget, change: Change): Promise<ReviveResult> {
    let letter = await this.letter(target);
    while (letter) {
      if (await revive(this.context, target.tube, letter, change)) return 'revived';
      const still = await this.letter(target);
      if (still?.generation === letter.generation) return 'replaced';
      // Another call revived it in the meantime; if it is dead again, this is a different letter.
      letter = still;
    }
    return this.stateOf(target);
  }

  override async discard(ref: JobRef, options?: PatienceOptions): Promise<DiscardResult> {
    const call = { ...this.callOf('the discard options', options), repeatable: true };
    const target = this.context.parse(ref);
    const { tube, id } = target;
    const { retries, batched, parts } = this.context;
    const letter = await retries.run(call, () => this.letter(target));
    if (!letter) return this.stateOf(target);
    let tries = 0;
    const taken = await retries.run(call, () => {
      tries++;
      return batched.ask(tube, 'discard', { id, born: letter.born });
    });
    // A retry finds nothing if an earlier try removed the letter but its answer was lost.
    if (!taken && tries === 1) return this.stateOf(target);
    // Other processes may have found copies since the letter was read.
    await deleteCopies(parts, tube, letter, (taken ?? letter).places);
    return 'discarded';
  }

  private letter({ tube, id, born }: JobTarget): Promise<Letter | undefined> {
    return look(this.context.batched.ask(tube, 'letter', { id, born }));
  }

  private callOf(what: string, options: PatienceOptions | undefined): PatientCall {
    return { patience: this.context.patienceOf(checkObject(what, options, ['patience']).patience) };
  }

  /** Resolves with the state of a job that has no letter. */
  private async stateOf(target: JobTarget): Promise<Exclude<DiscardResult, 'discarded'>> {
    const state = (await findJob(this.context, target))?.state;
    // If dead, it died since we asked for the letter.
    return state === undefined || state === 'dead' ? 'unknown' : state;
  }
}
