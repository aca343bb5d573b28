import { showInstant, type When } from 'nest-handlers/time';
import type { PatienceOptions } from '../api/job.js';
import { type StoredTube, storedTube, type Tube, withoutPrefix } from '../api/tube.js';
import { DqError } from '../errors.js';
import type { TubeLedger } from '../ledger/ledger.js';
import { checkObject } from '../producer/call-options.js';
import type { ProducerContext } from '../producer/producer-context.js';
import { parseWhen } from '../time/instant.js';
import { Act, type ActOptions } from './act.js';
import { isUnknown, type TubePause, tubePause, type TubeSources, viewOfTube } from './tube-view.js';

/** A pause that was set. */
export interface PausedTube extends TubePause {
  /** Set if nobody seems to know the tube: no process consumes it, and it has no job. Its name may be wrong. */
  readonly unknown?: true;
}

/** The result of a resume. */
export interface ResumedTube {
  /** The ended pause. Absent if there was none. */
  readonly ended?: TubePause;
  /** Set if there was no pause, and nobody seems to know the tube: see `PausedTube`. */
  readonly unknown?: true;
}

/** The last time a Date can have. */
const LAST_TIME = 8.64e15;

/** Pauses and resumes tubes, for `DqControl`. */
export class TubePauses {
  constructor(
    private readonly context: ProducerContext,
    private readonly sources: Omit<TubeSources, 'waiting'>,
  ) {}

  async pause(
    tube: string | Tube,
    options?: PatienceOptions & ActOptions & { until?: When },
  ): Promise<PausedTube> {
    const { until: when, ...rest } = checkObject('the pause options', options, ['until', 'by', 'patience']);
    const until = when === undefined ? undefined : parseEnd(when);
    const call = this.call('pause', tube, rest);
    const pause = await call.ask((ledger) => ledger.pause(until));
    if (!pause || (until !== undefined && pause.until !== until)) {
      const now = showInstant(Math.floor(call.ledger.now()));
      const fact = `\`until\` is ${showInstant(until!)}, but it is already ${now}: expected a later time`;
      throw new DqError('DQ_PAST_TIME', fact);
    }
    call.act.ended(1);
    return { ...tubePause(pause), ...(await this.doubt(call.tube)) };
  }

  async resume(tube: string | Tube, options?: PatienceOptions & ActOptions): Promise<ResumedTube> {
    const call = this.call('resume', tube, checkObject('the options', options, ['by', 'patience']));
    const pause = await call.ask((ledger) => ledger.resume());
    call.act.ended(pause ? 1 : 0);
    return pause ? { ended: tubePause(pause) } : this.doubt(call.tube);
  }

  /** Resolves with `unknown` if the name may be wrong. Never rejects. */
  private async doubt(tube: StoredTube): Promise<{ unknown?: true }> {
    return isUnknown(await viewOfTube({ ...this.sources, waiting: undefined }, tube))
      ? { unknown: true }
      : {};
  }

  /** Prepares a pause or a resume. Throws `DQ_CLOSED`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION`, `DQ_BAD_DURATION`. */
  private call(name: string, tube: string | Tube, { by, patience }: PatienceOptions & ActOptions) {
    const { context } = this;
    const { events, ledger: ledgers, settings } = context.parts;
    context.refuseIfClosed();
    const stored = storedTube(tube, settings.prefix);
    const ledger = ledgers.tube(stored);
    const patient = { patience: context.patienceOf(patience), repeatable: true };
    return {
      tube: stored,
      ledger,
      act: new Act(events, name, { tube: withoutPrefix(stored, settings.prefix) }, by),
      ask: <T>(ask: (ledger: TubeLedger) => Promise<T>) => context.retries.run(patient, () => ask(ledger)),
    };
  }
}

/** Throws `DQ_BAD_TIME`, `DQ_TOO_FAR`. */
function parseEnd(when: When): number {
  const until = parseWhen(when);
  if (until <= LAST_TIME) return until;
  const last = new Date(LAST_TIME).toISOString();
  throw new DqError('DQ_TOO_FAR', `\`until\` is ${until} ms since 1970: expected ${last} or sooner`);
}
