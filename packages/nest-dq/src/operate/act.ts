import { hostname } from 'node:os';
import type { JobRef } from '../api/job.js';
import { withoutPrefix } from '../api/tube.js';
import { namedCopies } from '../copies/formats/unwrap.js';
import { parseRef } from '../copies/job-ref.js';
import { DqError, wrongValue } from '../errors.js';
import type { EventHub } from '../events/event-hub.js';
import type { OperatorAct, ActTarget } from '../events/events.js';

/** Options of every act of `DqControl`. */
export interface ActOptions {
  /** Name of the operator in the event `operated`: 1 to 200 characters. @default host and process, as in `web-1:4711` */
  by?: string;
}

const LONGEST_BY = 200;

/** One act of `DqControl`. Create it before changing anything, and report its end once: that emits the event `operated`. */
export class Act {
  private readonly by: string;

  /**
   * Throws `DQ_BAD_OPTION` for a wrong `by`.
   * @param name The method of `DqControl`.
   */
  constructor(
    private readonly events: EventHub,
    private readonly name: string,
    private readonly on: ActTarget,
    by: string | undefined,
  ) {
    this.by = by === undefined ? `${hostname()}:${process.pid}` : checkBy(by);
  }

  /** Ends the act. `count` is the number of changed items, and `error` what ended it early. */
  ended(count: number, error?: Error): void {
    const told: OperatorAct = { by: this.by, act: this.name, on: this.on, count };
    this.events.emit('operated', error ? { ...told, error } : told);
  }
}

/** Performs an act on one job and emits it. `changed`: the results that mean the job was changed. Rejects as `work` does. */
export async function actOnJob<Result>(
  {
    events,
    settings: { prefix },
  }: { readonly events: EventHub; readonly settings: { readonly prefix: string } },
  name: string,
  ref: JobRef,
  by: string | undefined,
  changed: Result | readonly Result[],
  work: () => Promise<Result>,
): Promise<Result> {
  const on = targetOf(ref, prefix);
  const act = new Act(events, name, on, by);
  try {
    const result = await work();
    act.ended([changed].flat().includes(result) ? 1 : 0);
    return result;
  } catch (error) {
    if (error instanceof DqError && error.code === 'DQ_UNCONFIRMED') act.ended(1, error); // it is revoked
    throw error;
  }
}

function targetOf(ref: JobRef, prefix: string): ActTarget {
  const copies = namedCopies(ref);
  if (copies) {
    const ids = copies.map(({ endpoint, tube, copyId }) => `${endpoint}/${tube}/${copyId}`);
    return { tube: withoutPrefix(copies[0].tube, prefix), id: ids.join() };
  }
  const { tube, id, key } = parseRef(ref, prefix);
  return { tube: withoutPrefix(tube, prefix), id, ...(key !== undefined && { key }) };
}

/** Throws `DQ_BAD_OPTION`. */
export function checkBy(by: unknown): string {
  if (typeof by === 'string' && by.trim() !== '' && by.length <= LONGEST_BY) return by;
  throw wrongValue('DQ_BAD_OPTION', '`by`', by, `a string of 1 to ${LONGEST_BY} characters`);
}
