import { showInstant, type When } from 'nest-handlers/time';
import { checkCount } from '../api/job-options.js';
import type { LimitOptions, PatienceOptions } from '../api/job.js';
import { storedTube, type Tube, withoutPrefix } from '../api/tube.js';
import { resolveLimit } from '../api/limit-options.js';
import { DqError, wrongValue } from '../errors.js';
import type { LimitChange } from '../fleet/limit-changes.js';
import type { Presence } from '../fleet/presence.js';
import type { TubeLimits } from '../api/limit-options.js';
import { checkObject } from '../producer/call-options.js';
import type { ProducerContext } from '../producer/producer-context.js';
import { parseWhen } from '../time/instant.js';
import { Act, type ActOptions } from './act.js';
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
    const call = this.call('setLimits', tube, rest);
    const given = checkSettings(settings);
    const until = when === undefined ? undefined : Math.ceil(parseWhen(when));
    const { ledger, prefix } = call;
    if (until !== undefined) {
      await call.retried(() => ledger.readTime());
      if (until <= ledger.now()) {
        const now = showInstant(Math.floor(ledger.now()));
        const fact = `\`until\` is ${showInstant(until)}, but it is already ${now}: expected a later time`;
        throw new DqError('DQ_PAST_TIME', fact);
      }
    }
    const change: LimitChange = { ...given, ...(until !== undefined && { until }) };
    await call.retried(() => this.presence.changeLimits(withoutPrefix(call.tube, prefix), change));
    call.act.ended(1);
    const sources = { ...this.context.parts, presence: this.presence, waiting: undefined };
    const view = await viewOfTube(sources, call.tube);
    return { ...told(change), ...(isUnknown(view) && { unknown: true }) };
  }

  async reset(
    tube: string | Tube,
    options?: PatienceOptions & ActOptions,
  ): Promise<ChangedLimits | undefined> {
    const call = this.call('resetLimits', tube, checkObject('the options', options, ['by', 'patience']));
    const name = withoutPrefix(call.tube, call.prefix);
    const before = await call.retried(() => this.presence.changeLimits(name, undefined));
    call.act.ended(before ? 1 : 0);
    return before && told(before);
  }

  /** Prepares an act. Throws `DQ_CLOSED`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION`, `DQ_BAD_DURATION`. */
  private call(name: string, tube: string | Tube, { by, patience }: PatienceOptions & ActOptions) {
    const { context } = this;
    const { events, ledger, settings } = context.parts;
    context.refuseIfClosed();
    const { prefix } = settings;
    const stored = storedTube(tube, prefix);
    const patient = { patience: context.patienceOf(patience), repeatable: true };
    return {
      tube: stored,
      prefix,
      ledger: ledger.tube(stored),
      act: new Act(events, name, { tube: withoutPrefix(stored, prefix) }, by),
      retried: <T>(ask: () => Promise<T>) => context.retries.run(patient, ask),
    };
  }
}

function told({ until, ...change }: LimitChange): ChangedLimits {
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
