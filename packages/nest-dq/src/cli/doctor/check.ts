import { type Line, shortened, type Style, styled, wrapped } from 'nest-handlers/cli';

type Level = 'ok' | 'warning' | 'failure';

/** One finding of the doctor. */
export interface Check {
  readonly level: Level;
  /** Subject of the check: a node by its endpoint, `redis`, a tube, `nodes`. */
  readonly about: string;
  /** The finding, as a short phrase. */
  readonly fact: string;
  /** Recommended action; absent if all is well. */
  readonly advice?: string;
}

export function ok(about: string, fact: string): Check {
  return { level: 'ok', about, fact };
}

export function warning(about: string, fact: string, advice: string): Check {
  return { level: 'warning', about, fact, advice };
}

export function failure(about: string, fact: string, advice: string): Check {
  return { level: 'failure', about, fact, advice };
}

/** Returns 0 if all is well, 1 for warnings, 2 for failures, as monitoring tools expect. */
export function statusOf(checks: readonly Check[]): number {
  const has = (level: Level) => checks.some((check) => check.level === level);
  return has('failure') ? 2 : has('warning') ? 1 : 0;
}

/** The worst checks first, as a screen may be too short for all. */
export function worstFirst(checks: readonly Check[]): Check[] {
  const levels: readonly Level[] = ['failure', 'warning', 'ok'];
  return levels.flatMap((level) => checks.filter((check) => check.level === level));
}

const STYLES: Readonly<Record<Level, Style>> = { ok: 'green', warning: 'yellow', failure: 'red' };
/** Columns before the subject of a check. */
const INDENT = 9;
const LEAST_WIDTH = 16;
/** Longest subject that shares a line with its finding, on a page of any width. */
const LONGEST_SUBJECT = 40;

/** Formats one line per check, followed by the advice, in `columns` columns. A long subject has a line of its own. */
export function showChecks(checks: readonly Check[], columns: number): Line[] {
  const limit = Math.min(LONGEST_SUBJECT, Math.max(LEAST_WIDTH, Math.floor(columns / 4)));
  const width = Math.max(0, ...checks.map(({ about }) => (about.length <= limit ? about.length : 0)));
  const indent = INDENT + width + 2;
  const room = Math.max(LEAST_WIDTH, columns - indent);
  const below = (text: string, more = '') =>
    wrapped(text, room - more.length).map(
      (line, i) => ' '.repeat(indent) + (i === 0 ? more : ' '.repeat(more.length)) + line,
    );
  const lines = checks.flatMap(({ level, about, fact, advice }): Line[] => {
    const [first = '', ...rest] = wrapped(fact, room);
    const start = styled(STYLES[level], level.padEnd(INDENT));
    return [
      ...(about.length > limit
        ? [[start, shortened(about, columns - INDENT)], ...below(fact)]
        : [[start, `${about.padEnd(width)}  ${first}`], ...rest.map((line) => ' '.repeat(indent) + line)]),
      ...(advice === undefined ? [] : below(advice, '→ ')),
    ];
  });
  const count = (level: Level) => checks.filter((check) => check.level === level).length;
  const [failures, warnings] = [count('failure'), count('warning')];
  const words = [
    ...(failures > 0 ? [`${failures} failed`] : []),
    ...(warnings > 0 ? [`${warnings} with a warning`] : []),
    `${count('ok')} ok`,
  ];
  return [...lines, '', `${checks.length} checks: ${words.join(', ')}`];
}
