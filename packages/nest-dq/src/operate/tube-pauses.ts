import { showInstant, type When } from 'nest-handlers/time';
import type { PatienceOptions } from '../api/job.js';
import { storedTube, withoutPrefix, type Tube } from '../api/tube.js';
import { DqError } from '../errors.js';
import type { TubeLedger } from '../ledger/ledger.js';
import type { Pause } from '../ledger/pause.js';
import { checkObject } from '../producer/call-options.js';
import type { ProducerContext } from '../producer/producer-context.js';
import { parseWhen } from '../time/instant.js';
import { Act, type ActOptions } from './act.js';

/** A pause of a tube. */
export interface TubePause {
  /** When it began, by the clock of the ledger. */
  readonly since: Date;
  /** When it ends by itself. Absent: when somebody resumes the tube. */
  readonly until?: Date;
}

/** The last time that a Date can have. */
const LAST_TIME = 8.64e15;

/** As users see it. */
export function tubePause({ since, until }: Pause): TubePause {
  return { since: new Date(since), ...(until !== undefined && { until: new Date(until) }) };
}

/** Pauses tubes and resumes them, for `DqControl`. */
export class TubePauses {
  constructor(private readonly context: ProducerContext) {}

  async pause(
    tube: string | Tube,
    options?: PatienceOptions & ActOptions & { until?: When },
  ): Promise<TubePause> {
    const { until: when, ...rest } = checkObject('the pause options', options, ['until', 'by', 'patience']);
    const until = when === undefined ? undefined : parseEnd(when);
    const call = this.call('pause', tube, rest);
    const pause = await call.ask((ledger) => ledger.pause(until));
    if (!pause || (until !== undefined && pause.until !== until)) {
      const now = showInstant(Math.floor(call.ledger.now()));
      const fact = `\`until\` is ${showInstant(until!)}, and it is ${now}: expected a later time`;
      throw new DqError('DQ_PAST_TIME', fact);
    }
    call.act.ended(1);
    return tubePause(pause);
  }

  async resume(tube: string | Tube, options?: PatienceOptions & ActOptions): Promise<TubePause | undefined> {
    const call = this.call('resume', tube, checkObject('the options', options, ['by', 'patience']));
    const pause = await call.ask((ledger) => ledger.resume());
    call.act.ended(pause ? 1 : 0);
    return pause && tubePause(pause);
  }

  /** What both do. `DQ_CLOSED`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION`, `DQ_BAD_DURATION`. */
  private call(name: string, tube: string | Tube, { by, patience }: PatienceOptions & ActOptions) {
    const { context } = this;
    const { events, ledger: ledgers, settings } = context.parts;
    context.refuseIfClosed();
    const stored = storedTube(tube, settings.prefix);
    const ledger = ledgers.tube(stored);
    const patient = { patience: context.patienceOf(patience), repeatable: true };
    return {
      ledger,
      act: new Act(events, name, { tube: withoutPrefix(stored, settings.prefix) }, by),
      ask: <T>(ask: (ledger: TubeLedger) => Promise<T>) => context.retries.run(patient, () => ask(ledger)),
    };
  }
}

/** `DQ_BAD_TIME`, `DQ_TOO_FAR`. */
function parseEnd(when: When): number {
  const until = parseWhen(when);
  if (until <= LAST_TIME) return until;
  const last = new Date(LAST_TIME).toISOString();
  throw new DqError('DQ_TOO_FAR', `\`until\` is ${until} ms since 1970: expected ${last} or sooner`);
}
