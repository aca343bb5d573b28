import type { When } from 'nest-handlers/time';
import { checkCount } from '../api/job-options.js';
import type { LimitOptions, PatienceOptions } from '../api/job.js';
import type { Tube } from '../api/tube.js';
import { resolveLimit } from '../api/limit-options.js';
import { wrongValue } from '../errors.js';
import type { LimitChange } from '../fleet/limit-changes.js';
import type { Presence } from '../fleet/presence.js';
import type { TubeLimits } from '../api/limit-options.js';
import { checkObject } from '../producer/call-options.js';
import type { ProducerContext } from '../producer/producer-context.js';
import type { ActOptions } from './act.js';
import { alreadyPast, parseEnd, tubeAct } from './tube-act.js';
import { isUnknown, viewOfTube } from './tube-view.js';

/** New concurrency and limits of a tube, as in its handler's options. An absent field stays as the handler has it. */
export interface LimitSettings {
  /** Max concurrent runs in each process. */
  concurrency?: number;
  /** Limits across all processes. `rate`, `per` and `burst` change together. */
  limit?: LimitOptions;
}

/** A change of a tube's concurrency and limits. */
export interface ChangedLimits {
  /** Max concurrent runs in each process. Absent if unchanged. */
  readonly concurrency?: number;
  /** Limits across all processes. Absent if unchanged. */
  readonly limit?: TubeLimits;
  /** When it ends by itself. Absent if it lasts until `resetLimits`. */
  readonly until?: Date;
  /** Set if nobody seems to know the tube: no process consumes it, and it has no job. Its name may be wrong. */
  readonly unknown?: true;
}

/** Changes the limits of tubes, for `DqControl`. */
export class TubeLimitActs {
  constructor(
    private readonly context: ProducerContext,
    private readonly presence: Presence,
  ) {}

  async set(
    tube: string | Tube,
    settings: LimitSettings,
    options?: PatienceOptions & ActOptions & { until?: When },
  ): Promise<ChangedLimits> {
    const { until: when, ...rest } = checkObject('the options', options, ['until', 'by', 'patience']);
    const call = tubeAct(this.context, 'setLimits', tube, rest);
    const given = checkSettings(settings);
    const until = when === undefined ? undefined : Math.ceil(parseEnd(when));
    const { name, ledger } = call;
    if (until !== undefined) {
      await call.retried(() => ledger.readTime());
      if (until <= ledger.now()) throw alreadyPast(until, ledger.now());
    }
    const change: LimitChange = { ...given, ...(until !== undefined && { until }) };
    await call.retried(() => this.presence.changeLimits(name, change));
    call.act.ended(1);
    const sources = { ...this.context.parts, presence: this.presence, waiting: undefined };
    const view = await viewOfTube(sources, call.storedAs);
    return { ...shownChange(change), ...(isUnknown(view) && { unknown: true }) };
  }

  async reset(
    tube: string | Tube,
    options?: PatienceOptions & ActOptions,
  ): Promise<ChangedLimits | undefined> {
    const rest = checkObject('the options', options, ['by', 'patience']);
    const call = tubeAct(this.context, 'resetLimits', tube, rest);
    const before = await call.retried(() => this.presence.changeLimits(call.name, undefined));
    call.act.ended(before ? 1 : 0);
    return before && shownChange(before);
  }
}

function shownChange({ until, ...change }: LimitChange): ChangedLimits {
  return until === undefined ? change : { ...change, until: new Date(until) };
}

/** Throws `DQ_BAD_OPTION`, `DQ_BAD_DURATION`. */
function checkSettings(settings: LimitSettings): LimitChange {
  const { concurrency, limit } = checkObject('the limits', settings, ['concurrency', 'limit']);
  if (concurrency === undefined && limit === undefined)
    throw wrongValue('DQ_BAD_OPTION', 'the limits', settings, 'an object with `concurrency` or `limit`');
  return {
    ...(concurrency !== undefined && { concurrency: checkCount('concurrency', concurrency) }),
    ...(limit !== undefined && { limit: resolveLimit(limit) }),
  };
}
