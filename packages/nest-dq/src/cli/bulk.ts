import {
  type Answer,
  type Arguments,
  confirmed,
  counted,
  type Flags,
  grouped,
  styled,
  YES_FLAG,
} from 'nest-handlers/cli';
import type { BulkOptions, BulkProgress } from '../operate/bulk.js';
import type { Connected } from './cluster.js';
import { plainError } from './plain-error.js';
import { operator } from './operator.js';
import { note } from './process.js';
import { unknownAnswer } from './unknown-tube.js';

/** Flags of all bulk commands. Each adds those of its filter. */
export const ACT_FLAGS: Flags = {
  'dry-run': { help: 'only show the count and some examples' },
  cursor: {
    value: 'CURSOR',
    help: 'resume the same command after an interruption, with the cursor it printed',
  },
  ...YES_FLAG,
};
export const BULK_FLAGS: Flags = { limit: { value: 'N', help: 'max number of items' }, ...ACT_FLAGS };

export const BULK_STATUS =
  '0 done; 1 not done, partly failed, unknown tube, or a node is unreachable; 2 Redis unusable';

const MAX = 1_000_000_000;
/** The document of an act that changed nothing. */
const NOTHING = { done: 0, failed: 0, skipped: 0, failures: [] };

/** A bulk action of `DqControl`. */
interface BulkAct<Example> {
  /** The action: `revive`. */
  readonly verb: string;
  /** The items it acts on: `dead letter of order.cancel`, `dead letters of order.cancel`. */
  readonly one: string;
  readonly many: string;
  start(options: BulkOptions): AsyncIterable<BulkProgress<Example>>;
  /** Formats an example as one line. */
  show(example: Example): string;
  /** The rest of the sentence, known once the items are counted: `, and resume it`. */
  more?(): string;
  /** Whether it also acts without items. @default false */
  readonly evenIfNone?: boolean;
}

export function limitOf(args: Arguments): number | undefined {
  return args.count('limit', 1, MAX);
}

/**
 * Counts, asks for confirmation, then acts, writing its progress to standard error. `tube`: the tube of all items, for a warning
 * if nobody knows it.
 */
export async function actOnMany<Example>(
  args: Arguments,
  { runtime, context }: Connected,
  act: BulkAct<Example>,
  tube?: string,
): Promise<Answer> {
  const { verb, one, many, evenIfNone = false } = act;
  const options = { by: operator(), cursor: args.text('cursor', 'the cursor printed by the same command') };
  const found = await last(act.start({ ...options, dryRun: true }));
  const what = `${verb} ${counted(found.done, one, many)}${act.more?.() ?? ''}`;
  const isDry = args.has('dry-run');
  if (found.done === 0 && tube !== undefined) {
    const json = isDry ? { dryRun: true, count: 0, examples: [] } : NOTHING;
    const unknown = await unknownAnswer(runtime.inspector, tube, json);
    if (unknown) return unknown;
  }
  if (isDry) {
    const lines = found.examples.map((example) => `  ${act.show(example)}`);
    const more = found.done > lines.length && lines.length > 0 ? ['  …'] : [];
    return {
      json: { dryRun: true, count: found.done, examples: found.examples },
      text: [`would ${what}`, ...lines, ...more],
    };
  }
  if (
    found.done > 0 &&
    !(await confirmed(args, context === undefined ? what : `${what} in context ${context}`))
  ) {
    return { json: NOTHING, text: 'nothing was done', status: 1 };
  }
  const { done, failed, skipped, failures } =
    found.done === 0 && !evenIfNone
      ? found
      : await last(act.start(options), ({ done, failed, skipped, cursor }) => {
          const isFirst = done + failed + skipped === 0 && cursor !== undefined;
          if (isFirst) note(`if interrupted, resume with --cursor ${cursor}`);
          else note(`${grouped(done)} of ${grouped(found.done)}`);
        });
  const lines = failures.map(({ id, error }) => styled('red', `  ${id}: ${plainError(error)}`));
  return {
    json: {
      done,
      failed,
      skipped,
      failures: failures.map(({ id, error }) => ({ id, error: error.message })),
    },
    text: [`${grouped(done)} done, ${grouped(failed)} failed, ${grouped(skipped)} skipped`, ...lines],
    status: failed > 0 ? 1 : 0,
  };
}

async function last<Example>(
  progress: AsyncIterable<BulkProgress<Example>>,
  each?: (progress: BulkProgress<Example>) => void,
): Promise<BulkProgress<Example>> {
  let latest: BulkProgress<Example> = { done: 0, failed: 0, skipped: 0, failures: [], examples: [] };
  for await (latest of progress) each?.(latest);
  return latest;
}
