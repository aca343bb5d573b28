import type { When } from 'nest-handlers/time';
import { DqError, show, toError, wrongValue } from '../errors.js';
import { parseWhen } from '../time/instant.js';

/** When a series occurs: a cron expression, or your own calendar. */
export type RecurrencePlan = string | RecurrenceCalendar;

/** A plan defined by a function. */
export interface RecurrenceCalendar {
  /** Identifies the plan in all processes: another name is another plan, the same name the same plan. */
  readonly name: string;
  /** Returns the first occurrence after a time; undefined if there are no more. */
  readonly next: (after: Date) => When | undefined;
}

/** A validated plan. */
export interface Occurrences {
  /** The plan as a string, the same in all processes: a cron expression with its zone, or the name of a calendar. */
  readonly plan: string;
  /** Returns the first occurrence after a time, both in epoch ms; undefined if there are no more. */
  readonly after: (instant: number) => number | undefined;
}

/** The same on all machines, in any time zone. */
const DEFAULT_ZONE = 'UTC';
/** Max characters of a calendar's name, which each of its jobs carries. */
const LONGEST_NAME = 200;

/** Validates a plan. `DQ_CONFIG`: not a plan, one that never occurs, an unknown time zone, or a missing package for cron expressions. */
export async function occurrencesOf(plan: RecurrencePlan, tz?: string): Promise<Occurrences> {
  if (typeof plan === 'string') return cron(plan, checkZone(tz ?? DEFAULT_ZONE));
  const { name, next } = checkCalendar(plan);
  if (tz === undefined) return told(name, next);
  throw new DqError('DQ_CONFIG', `\`tz\` is ${show(tz)} with a calendar: expected a cron expression`);
}

/** Plans of calendars begin with it; no cron expression does. */
const CALENDAR = 'calendar ';

/** Reads the `plan` of another process. Undefined for a calendar, which only its process knows, and if croner isn't installed. */
export async function occurrencesOfPlan(plan: string): Promise<Occurrences | undefined> {
  if (plan.startsWith(CALENDAR)) return undefined;
  const end = plan.lastIndexOf(' ');
  return occurrencesOf(plan.slice(0, end), plan.slice(end + 1)).catch(() => undefined);
}

function checkCalendar(plan: unknown): RecurrenceCalendar {
  const { name, next } = (plan ?? {}) as Partial<Record<keyof RecurrenceCalendar, unknown>>;
  const isCalendar = typeof plan === 'object' && typeof next === 'function';
  if (isCalendar && typeof name === 'string' && name.trim() !== '' && name.length <= LONGEST_NAME) {
    return plan as RecurrenceCalendar;
  }
  const [what, value] = isCalendar ? ['the name of its plan', name] : ['its plan', plan];
  const expected = `a cron expression, or { name: a string of at most ${LONGEST_NAME} characters, next: (after) => … }`;
  throw wrongValue('DQ_CONFIG', what, value, expected);
}

async function cron(expression: string, timezone: string): Promise<Occurrences> {
  const { Cron } = await loadCroner();
  const is = `the cron expression is ${show(expression)}`;
  // croner would also accept a seventh field of years, or a single time.
  const fields = expression.trim().split(/\s+/).length;
  if (fields !== 5 && fields !== 6) {
    throw new DqError('DQ_CONFIG', `${is}: expected 5 fields, or 6 with seconds first`);
  }
  try {
    // With croner's default, only a single time of day would occur once across a clock change: a list or a range loses one, or
    // gets it twice.
    const parsed = new Cron(expression, { timezone, fixedTimeRule: 'no-wildcard' });
    // Without years, an expression occurs forever or never.
    if (parsed.nextRun(new Date(0)) === null) throw new Error('it never occurs');
    const after = (instant: number) => parsed.nextRun(new Date(instant))?.getTime();
    return { plan: `${expression} ${timezone}`, after };
  } catch (thrown) {
    const cause = toError(thrown);
    throw new DqError('DQ_CONFIG', `${is}, which cannot be used: ${cause.message}`, { cause });
  }
}

/** Loads croner, an optional peer dependency that only cron expressions need. */
async function loadCroner(): Promise<typeof import('croner')> {
  try {
    return await import('croner');
  } catch (cause) {
    const fact = 'a cron expression needs the package croner, which cannot be loaded: npm install croner@11';
    throw new DqError('DQ_CONFIG', fact, { cause });
  }
}

function told(name: string, next: RecurrenceCalendar['next']): Occurrences {
  return {
    plan: `${CALENDAR}${name}`,
    after: (instant) => {
      const when = ask(next, instant);
      if (when === undefined) return undefined;
      const at = parseWhen(when);
      if (at > instant) return at;
      const times = `${new Date(at).toISOString()} as the first after ${new Date(instant).toISOString()}`;
      throw new DqError('DQ_BAD_TIME', `the plan returned ${times}: expected a later instant`);
    },
  };
}

function ask(next: RecurrenceCalendar['next'], instant: number): When | undefined {
  try {
    return next(new Date(instant));
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
    // reported below
  }
  throw wrongValue('DQ_CONFIG', '`tz`', tz, "a time zone such as 'Europe/Berlin'");
}
