import { show } from '../errors.js';
import type { OperatorAct } from '../events/events.js';
import type { ActRecord, Acts, StoredAct } from '../fleet/acts.js';
import { readShaped, type Shape } from '../ledger/foreign-json.js';
import { checkBetween, checkObject } from '../producer/call-options.js';
import { formatCursor, parseCursor } from '../producer/cursor.js';

/** An act of an operator in any process, including the command line, or an automatic repair. */
export interface ActView extends Omit<OperatorAct, 'error'> {
  /** Unique id of the act. */
  readonly id: string;
  /** When it ended, by the ledger's clock. */
  readonly at: Date;
  /** The error that ended it early; absent if it completed. `code` is that of a `DqError`, or the name of another error. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** Selects a page of acts. */
export interface ActPageOptions {
  /** 1 to 1,000 acts. @default 50 */
  limit?: number;
  /** `cursor` of the previous page. @default the first page */
  cursor?: string;
}

/** A page of acts. */
export interface ActPage {
  /** Acts, latest first. Times in filters and changes are ISO strings. */
  readonly acts: readonly ActView[];
  /** Cursor of the next page; absent on the last one. */
  readonly cursor?: string;
}

const MAX = 1_000;

/** Rejects with `DQ_BAD_OPTION`, `DQ_LEDGER_DOWN`. */
export async function actPage(acts: Acts, options: ActPageOptions | undefined): Promise<ActPage> {
  const { limit = 50, cursor } = checkObject('the options', options, ['limit', 'cursor']);
  checkBetween('limit', limit, 1, MAX);
  const before = cursor === undefined ? undefined : parseCursor(cursor, 'the previous page', ['number'])[0];
  const found = await acts.read(before, limit + 1);
  const shown = found.slice(0, limit);
  return {
    acts: shown.map(viewOf),
    ...(found.length > limit && { cursor: formatCursor(shown.at(-1)!.place) }),
  };
}

/** The parts of an ActRecord that are shown. */
const ACT: Shape = {
  fields: {
    id: 'text',
    at: 'number',
    by: 'text',
    act: 'text',
    on: {
      fields: {
        tube: 'text?',
        id: 'text?',
        key: 'text?',
        node: 'text?',
        topic: 'text?',
        cluster: 'text?',
        filter: { optional: { fields: {} } },
      },
    },
    count: 'number',
    error: { optional: { fields: { code: 'text', message: 'text' } } },
  },
};

function viewOf({ text, place }: StoredAct): ActView {
  const record = readShaped<ActRecord>(text, ACT);
  // Another program may write into Redis: a person should then see that something is there.
  if (!record)
    return {
      id: String(place),
      at: new Date(0),
      by: 'unknown',
      act: `unreadable: ${show(text)}`,
      on: {},
      count: 0,
    };
  return { ...record, at: new Date(record.at) };
}
