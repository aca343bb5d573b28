import { createHash } from 'node:crypto';
import { DqError, show, toError } from '../errors.js';
import { parseWhen, type When } from '../time.js';

/**
 * When a series occurs: a cron expression, or a function that tells the first occurrence after an instant, or undefined
 * when there is none any more.
 */
export type RecurrencePlan = string | ((after: Date) => When | undefined);

/** A checked plan. */
export interface Occurrences {
  /** The plan as a text, the same in all processes: a cron expression with its zone, or what identifies a function's source. */
  readonly plan: string;
  /** The first one after an instant, both in milliseconds since 1970; undefined: there is none any more. */
  readonly after: (instant: number) => number | undefined;
}

/** All machines agree on it, whatever their own time zone is. */
const DEFAULT_ZONE = 'UTC';

/** `DQ_CONFIG`: no plan, one that never occurs, no such time zone, or no package to read cron expressions with. */
export async function occurrencesOf(plan: RecurrencePlan, tz?: string): Promise<Occurrences> {
  if (typeof plan === 'function') {
    if (tz === undefined) return told(plan);
    throw new DqError('DQ_CONFIG', `\`tz\` is ${show(tz)}, beside a function: expected a cron expression`);
  }
  if (typeof plan === 'string') return cron(plan, checkZone(tz ?? DEFAULT_ZONE));
  throw new DqError('DQ_CONFIG', `its plan is ${show(plan)}: expected a cron expression, or a function`);
}

async function cron(expression: string, timezone: string): Promise<Occurrences> {
  const { Cron } = await loadCroner();
  const is = `the cron expression is ${show(expression)}`;
  // croner takes more: a seventh field of years, and a single instant.
  const fields = expression.trim().split(/\s+/).length;
  if (fields !== 5 && fields !== 6) {
    throw new DqError('DQ_CONFIG', `${is}: expected 5 fields, or 6 with seconds first`);
  }
  try {
    const parsed = new Cron(expression, { timezone });
    // Without years it is for ever, or never.
    if (parsed.nextRun(new Date(0)) === null) throw new Error('it never occurs');
    const after = (instant: number) => parsed.nextRun(new Date(instant))?.getTime();
    return { plan: `${expression} ${timezone}`, after };
  } catch (thrown) {
    const cause = toError(thrown);
    throw new DqError('DQ_CONFIG', `${is}, which cannot be used: ${cause.message}`, { cause });
  }
}

/** An optional peer: only who gives a cron expression needs it. */
async function loadCroner(): Promise<typeof import('croner')> {
  try {
    return await import('croner');
  } catch (cause) {
    const fact = 'a cron expression needs the package croner, which cannot be loaded: npm install croner@11';
    throw new DqError('DQ_CONFIG', fact, { cause });
  }
}

function told(plan: Exclude<RecurrencePlan, string>): Occurrences {
  return {
    plan: `function ${createHash('sha256').update(String(plan)).digest('base64url')}`,
    after: (instant) => {
      const next = ask(plan, instant);
      if (next === undefined) return undefined;
      const at = parseWhen(next);
      if (at > instant) return at;
      const times = `${new Date(at).toISOString()} as the first after ${new Date(instant).toISOString()}`;
      throw new DqError('DQ_BAD_TIME', `the plan tells ${times}: expected a later one`);
    },
  };
}

function ask(plan: Exclude<RecurrencePlan, string>, instant: number): When | undefined {
  try {
    return plan(new Date(instant));
  } catch (thrown) {
    const cause = toError(thrown);
    throw new DqError('DQ_BAD_OPTION', `the plan failed: ${cause.message}`, { cause });
  }
}

function checkZone(tz: unknown): string {
  try {
    if (typeof tz === 'string') {
      new Intl.DateTimeFormat('en', { timeZone: tz });
      return tz;
    }
  } catch {
    // said below
  }
  throw new DqError('DQ_CONFIG', `\`tz\` is ${show(tz)}: expected a time zone such as 'Europe/Berlin'`);
}
