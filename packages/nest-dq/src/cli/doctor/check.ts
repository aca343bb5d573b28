import { escaped } from 'nest-handlers/log';

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

/** Formats one line per check, followed by the advice. */
export function showChecks(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ about }) => about.length));
  const lines = checks.flatMap(({ level, about, fact, advice }) => {
    const line = escaped(`${level.padEnd(7)}  ${about.padEnd(width)}  ${fact}`);
    return advice === undefined ? [line] : [line, escaped(`${' '.repeat(width + 11)}→ ${advice}`)];
  });
  const count = (level: Level) => checks.filter((check) => check.level === level).length;
  const [failures, warnings] = [count('failure'), count('warning')];
  const words = [
    ...(failures > 0 ? [`${failures} failed`] : []),
    ...(warnings > 0 ? [`${warnings} with a warning`] : []),
    `${count('ok')} ok`,
  ];
  return `${lines.join('\n')}\n\n${checks.length} checks: ${words.join(', ')}`;
}
