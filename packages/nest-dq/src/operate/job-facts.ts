// Facts about a job besides its state: from its id, its record, one of its copies, and what processes announce.
import { decodeTime } from 'ulid';
import { PRIORITIES } from '../api/job-options.js';
import { startByOf } from '../copies/expiry.js';
import type { CopyHeader } from '../copies/header.js';
import type { PresentProcess, TubeLoad } from '../fleet/presence.js';
import type { Trace } from '../ledger/requests.js';
import type { ExplainedJob } from './explanation.js';
import { slotsIn } from './slots.js';
import type { SlotFacts } from './why.js';

/** The id of a job without a key, which contains the time. */
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const NORMAL = PRIORITIES.indexOf('normal');

/** When it was added, and when it was moved since: generations are numbered by the time at which they were opened. */
export function timesOf(
  id: string,
  born: number | undefined,
  trace: Trace | undefined,
): Pick<ExplainedJob, 'addedAt' | 'movedAt'> {
  const added = born || (ULID.test(id) ? decodeTime(id) : undefined);
  const moved = trace && trace.generation !== trace.born ? trace.generation : undefined;
  return {
    ...(added !== undefined && { addedAt: new Date(added) }),
    ...(moved !== undefined && { movedAt: new Date(moved) }),
  };
}

/** How failed runs are retried, by the job's own options, or by those of all handlers of its tube if they agree. */
export function handlingOf(
  processes: readonly PresentProcess[],
  tube: string,
  header: CopyHeader | undefined,
): Pick<ExplainedJob, 'maxAttempts' | 'backoff'> {
  const maxAttempts = header?.attempts ?? agreedOn(processes, tube, 'attempts');
  const backoff = header?.backoff ?? agreedOn(processes, tube, 'backoff');
  return { ...(maxAttempts !== undefined && { maxAttempts }), ...(backoff && { backoff }) };
}

/** The slots of the tube in all processes, and how many of them are busy; undefined if none announced that it consumes the tube. */
export function slotsOf(processes: readonly PresentProcess[], tube: string): SlotFacts | undefined {
  const announced = processes.map(({ record, at }) => ({
    tubes: record.tubes.map((load) => ({ ...load, at })),
  }));
  const { loads, slots, running } = slotsIn(announced, tube);
  if (loads.length === 0) return undefined;
  const starts = loads.flatMap(({ at, long }) => long.map(({ runFor }) => at - runFor));
  return {
    slots,
    running,
    ...(starts.length > 0 && { oldestSince: Math.min(...starts) }),
  };
}

/** When it expires, by its own option, or by that of all handlers of its tube if they agree. */
export function expiryOf(
  processes: readonly PresentProcess[],
  tube: string,
  header: CopyHeader | undefined,
): Pick<ExplainedJob, 'expiresAt'> {
  const startBy = header && startByOf(header, agreedOn(processes, tube, 'expireAfter'));
  return startBy === undefined ? {} : { expiresAt: new Date(startBy) };
}

/** The option of the tube's handlers; undefined if they don't agree. */
function agreedOn<Name extends 'attempts' | 'backoff' | 'expireAfter'>(
  processes: readonly PresentProcess[],
  tube: string,
  name: Name,
): TubeLoad[Name] | undefined {
  const loads = processes.flatMap(({ record }) => record.tubes.filter((load) => load.tube === tube));
  return new Set(loads.map((load) => JSON.stringify(load[name]))).size === 1 ? loads[0]![name] : undefined;
}

/** The options that a copy carries. */
export function optionsOf({
  priority,
  group,
  headers,
}: CopyHeader): Pick<ExplainedJob, 'priority' | 'group' | 'headers'> {
  return {
    ...(priority !== NORMAL && { priority: PRIORITIES[priority] }),
    ...(group !== undefined && { group }),
    ...(headers && { headers }),
  };
}
