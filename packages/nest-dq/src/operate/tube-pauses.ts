import type { When } from 'nest-handlers/time';
import type { PatienceOptions } from '../api/job.js';
import type { StoredTube, Tube } from '../api/tube.js';
import { checkObject } from '../producer/call-options.js';
import type { ProducerContext } from '../producer/producer-context.js';
import type { ActOptions } from './act.js';
import { alreadyPast, parseEnd, tubeAct } from './tube-act.js';
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
    const call = tubeAct(this.context, 'pause', tube, rest);
    const pause = await call.retried(() => call.ledger.pause(until));
    if (!pause || (until !== undefined && pause.until !== until))
      throw alreadyPast(until!, call.ledger.now());
    call.act.ended(1);
    return { ...tubePause(pause), ...(await this.doubt(call.storedAs)) };
  }

  async resume(tube: string | Tube, options?: PatienceOptions & ActOptions): Promise<ResumedTube> {
    const rest = checkObject('the options', options, ['by', 'patience']);
    const call = tubeAct(this.context, 'resume', tube, rest);
    const pause = await call.retried(() => call.ledger.resume());
    call.act.ended(pause ? 1 : 0);
    return pause ? { ended: tubePause(pause) } : this.doubt(call.storedAs);
  }

  /** Resolves with `unknown` if the name may be wrong. Never rejects. */
  private async doubt(tube: StoredTube): Promise<{ unknown?: true }> {
    return isUnknown(await viewOfTube({ ...this.sources, waiting: undefined }, tube))
      ? { unknown: true }
      : {};
  }
}
