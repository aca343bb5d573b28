// Settings that differ between processes although all should have the same.
import type { ProcessRecord } from './presence.js';

/** Settings that processes have to agree on, in words for people. A process's nodes are the keys of its record's `nodes`. */
const SHARED: readonly (readonly [name: string, of: (record: ProcessRecord) => string])[] = [
  ['lease', ({ settings }) => `${settings.lease} ms`],
  ['doneTtl', ({ settings }) => `${settings.doneTtl} ms`],
  ['staleAfter', ({ settings }) => `${settings.staleAfter} ms`],
  ['beanstalks', ({ nodes }) => Object.keys(nodes).toSorted().join(', ')],
];
const MAX_NAMED = 3;

/** Returns the shared settings as one string: two processes agree if theirs are equal. */
export function sharedSettings(record: ProcessRecord): string {
  return SHARED.map(([name, of]) => `${name}: ${of(record)}`).join('; ');
}

/** A setting that differs in other processes. */
export interface UnequalSetting {
  /** The setting and the other value. */
  readonly what: string;
  /** For people: both values, and who has them. */
  readonly text: string;
  /** The same in parts, for other languages. */
  readonly facts: UnequalFacts;
}

/** A setting with two values, and who has them: processes as `host:pid`. */
export interface UnequalFacts {
  readonly name: string;
  readonly here: string;
  /** This process. */
  readonly own: string;
  readonly there: string;
  /** Up to three of the others. */
  readonly others: readonly string[];
  /** Number of further ones. */
  readonly more: number;
}

/** Returns how the settings of others differ from those of one process. */
export function unequalSettings(own: ProcessRecord, others: readonly ProcessRecord[]): UnequalSetting[] {
  return SHARED.flatMap(([name, of]) => {
    const here = of(own);
    const elsewhere = whoHas(others, of);
    elsewhere.delete(here);
    return Array.from(elsewhere, ([there, who]) => {
      const values = `${here} in ${nameOf(own)} (this process), and ${there} in ${namesOf(who)}`;
      return {
        what: `${name}: ${there}`,
        text: `\`${name}\` is ${values}: expected the same in all processes`,
        facts: {
          name,
          here,
          own: nameOf(own),
          there,
          others: who.slice(0, MAX_NAMED).map(nameOf),
          more: Math.max(0, who.length - MAX_NAMED),
        },
      };
    });
  });
}

/** Returns a sentence without its end for each setting that differs between these processes, saying who has which value. */
export function settingsThatDiffer(records: readonly ProcessRecord[]): string[] {
  return SHARED.flatMap(([name, of]) => {
    const byValue = whoHas(records, of);
    if (byValue.size < 2) return [];
    const values = Array.from(byValue, ([value, who]) => `${value} in ${namesOf(who)}`);
    return [`\`${name}\` is ${values.join(', and ')}`];
  });
}

/** Groups the processes by a value. */
export function whoHas(
  records: readonly ProcessRecord[],
  of: (record: ProcessRecord) => string,
): Map<string, ProcessRecord[]> {
  const found = new Map<string, ProcessRecord[]>();
  for (const record of records) found.set(of(record), [...(found.get(of(record)) ?? []), record]);
  return found;
}

export function namesOf(records: readonly ProcessRecord[]): string {
  const names = records.slice(0, MAX_NAMED).map(nameOf);
  const more = records.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(' and ');
}

function nameOf({ host, pid }: ProcessRecord): string {
  return `${host}:${pid}`;
}
