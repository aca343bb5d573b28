import { t } from '../words/language.js';
import { count, duration, percent, time } from '../words/say.js';
import { shortened } from '../words/shortened.js';
import type { WordKey } from '../words/words.js';
import type { ClusterProblemWire, Entry, TubeProblemWire } from './entries.js';

/** An entry in the language of the page. */
export interface EntryWords {
  readonly what: string;
  /** The same with all names in full, where `what` shortens or leaves out some. */
  readonly whole?: string | undefined;
  /** The cause in a few words. */
  readonly detail?: string | undefined;
  readonly since?: number | undefined;
  readonly effect: string;
  readonly todo: string;
  /** Address of the section that says what to do. */
  readonly link: string;
}

const DOCS = 'https://github.com/OWNER/nest-dq/blob/main/docs/';
const NODE_UNFIT: readonly string[] = ['rejects', 'binlog', 'twin', 'lanes'];
/** Causes whose remedy isn't to start the server. */
const FIXES: readonly string[] = [
  'silent',
  'unknown-host',
  'tls',
  'loading',
  'denied',
  'replica',
  'full',
  'rejects',
  'disk',
  'binlog',
  'twin',
  'lanes',
];
/** Names that a line has room for, and their characters. */
const MAX_NAMES = 2;
const MAX_LENGTH = 32;

const CLUSTER_LINKS: Readonly<Record<ClusterProblemWire['code'], string>> = {
  'ledger-down': 'runbook.md#dqledgerdown',
  'ledger-unidentified': 'runbook.md#dqledgerdown',
  'other-ledger': 'clusters.md#one-redis',
  'too-few-nodes': 'runbook.md#dqtoofewnodes',
  'refused-keys': 'security.md#to-change-keys',
  'lost-jobs': 'runbook.md#dqjobslost',
  'no-process': 'runbook.md#dqnoconsumer',
  'silent-processes': 'processes.md',
  'node-down': 'runbook.md#dqnodedown',
  'ledger-unfit': 'production.md',
  'unreadable-jobs': 'repair.md',
  'unequal-settings': 'health.md#settings-that-differ',
};

const TUBE_LINKS: Readonly<Record<TubeProblemWire['code'], string>> = {
  'ledger-down': 'runbook.md#dqledgerdown',
  paused: 'runbook.md#dqtubepaused',
  'no-consumer': 'runbook.md#dqnoconsumer',
  settling: 'runbook.md#dqledgerdown',
  'not-reserving': 'runbook.md#dqjobsdonotstart',
  failing: 'runbook.md#dqjobsfail',
  limited: 'runbook.md#dqjobsstartlate',
  'slots-full': 'runbook.md#dqjobsdonotstart',
  'rate-limited': 'runbook.md#dqjobsstartlate',
  'group-limited': 'runbook.md#dqjobsstartlate',
  'nodes-away': 'runbook.md#dqnodedown',
  'series-missed': 'runbook.md#dqseriesmissed',
  behind: 'runbook.md#dqjobsstartlate',
};

export function wordsOf(entry: Entry): EntryWords {
  if (entry.kind === 'cluster') return clusterWords(entry.problem);
  if (entry.kind === 'tubes') return tubeWords(entry.code, entry.tubes);
  return {
    what: t('problem.connection.what'),
    since: entry.since,
    effect: t('problem.connection.effect', { time: time(entry.since) }),
    todo: t('problem.connection.todo'),
    link: `${DOCS}dashboard.md#when-something-is-wrong`,
  };
}

function clusterWords(problem: ClusterProblemWire): EntryWords {
  const { code, since } = problem;
  const values = valuesOf(problem);
  const say = (part: string) => t(`problem.${code}.${part}` as WordKey, values);
  const words = {
    what: say('what'),
    effect: say('effect'),
    todo: say('todo'),
    link: DOCS + CLUSTER_LINKS[code],
    since: since === undefined ? undefined : Date.parse(since),
  };
  switch (problem.code) {
    case 'ledger-down': {
      const { cause, reason = t(`away.${cause}`), address } = problem;
      const detail = address === undefined ? reason : `${address}: ${reason}`;
      if (cause === 'loading') return { ...words, what: say('loading'), todo: t('fix.loading') };
      return { ...words, detail, todo: fixOf(cause) ?? words.todo };
    }
    case 'node-down': {
      const { cause, reason = t(`away.${cause}`) } = problem;
      const isUnfit = NODE_UNFIT.includes(cause);
      const todo = fixOf(cause) ?? words.todo;
      if (cause === 'silent') return { ...words, what: say('silent'), todo };
      const link = isUnfit ? `${DOCS}runbook.md#dqnodenotwell` : words.link;
      return { ...words, what: isUnfit ? say('unfit') : words.what, detail: reason, todo, link };
    }
    case 'silent-processes': {
      const named = problem.processes.map(
        ({ process, since }) => `${process} ${t('status.since', { time: time(Date.parse(since)) })}`,
      );
      const [first] = problem.processes;
      if (named.length === 1)
        return { ...words, what: t('problem.silent-processes.what', { processes: first!.process }) };
      const { since: _since, ...rest } = words;
      return { ...rest, what: t('problem.silent-processes.what', { processes: named.join(', ') }) };
    }
    case 'too-few-nodes': {
      const causes = [...new Set(problem.nodes.map(({ cause, reason = t(`away.${cause}`) }) => reason))];
      const told = { ...words, detail: causes.join(', ') };
      return problem.up > 0 ? told : { ...told, what: say('none'), effect: say('nothing') };
    }
    case 'other-ledger':
      return problem.refused ? { ...words, effect: say('refused') } : words;
    default:
      return words;
  }
}

function fixOf(cause: string): string | undefined {
  return FIXES.includes(cause) ? t(`fix.${cause}` as WordKey) : undefined;
}

/** The fields of a problem as texts. */
function valuesOf(problem: ClusterProblemWire): Record<string, string> {
  const values = Object.entries(problem).map(([name, value]) => [name, valueText(value as unknown)]);
  return { ...Object.fromEntries(values), texts: textsOf(problem).join(' ') };
}

/** Instructions, in a sentence for each part of the problem. */
function textsOf(problem: ClusterProblemWire): string[] {
  switch (problem.code) {
    case 'ledger-unfit':
      return problem.settings.map(({ is, ...values }) => t(`unfit.${is}`, values));
    case 'unequal-settings':
      return problem.differences.map(({ others, more, ...values }) => {
        const names = others.join(', ');
        const all = more > 0 ? t('unequal.more', { names, more: count(more) }) : names;
        return t('unequal.setting', { ...values, others: all });
      });
    default:
      return [];
  }
}

function valueText(value: unknown): string {
  if (typeof value === 'number') return count(value);
  if (!Array.isArray(value)) return String(value);
  return value
    .map((each: string | { node: string }) => (typeof each === 'string' ? each : each.node))
    .join(', ');
}

function tubeWords(code: TubeProblemWire['code'], tubes: readonly TubeProblemWire[]): EntryWords {
  const names = tubes.map(({ tube }) => tube);
  const shown = namesText(names);
  const all = names.join(', ');
  // Unknown if that of one is.
  const sum = (name: 'jobs' | 'due') =>
    count(tubes.reduce<number | undefined>((total, { [name]: more }) => sumOf(total, more), 0));
  const jobs = { jobs: sum('jobs'), due: sum('due') };
  return {
    what: `${causeText(code)}: ${shown}`,
    whole: shown === all ? undefined : `${causeText(code)}: ${all}`,
    detail: tubes.length === 1 ? detailText(tubes[0]!) : undefined,
    effect: effectOf(code, tubes, jobs),
    todo: code === 'ledger-down' ? '' : t(`todo.${code}`),
    link: DOCS + TUBE_LINKS[code],
  };
}

/** The first names, and how many there are besides. */
function namesText(names: readonly string[]): string {
  const tubes = names
    .slice(0, MAX_NAMES)
    .map((name) => shortened(name, MAX_LENGTH))
    .join(', ');
  const more = names.length - MAX_NAMES;
  return more > 0 ? t('status.andMore', { tubes, more: count(more) }) : tubes;
}

function sumOf(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}

function effectOf(
  code: TubeProblemWire['code'],
  tubes: readonly TubeProblemWire[],
  jobs: { readonly jobs: string; readonly due: string },
): string {
  if (code === 'failing') return t('problem.tube.failing');
  if (code === 'series-missed') return t('problem.tube.missed');
  const times = tubes.flatMap(({ oldestDue }) => (oldestDue === undefined ? [] : [Date.parse(oldestDue)]));
  const areDue = jobs.jobs === jobs.due;
  if (times.length === 0) return t(areDue ? 'problem.tube.due' : 'problem.tube.effect', jobs);
  const oldest = { ...jobs, time: time(Math.min(...times)) };
  return t(areDue ? 'problem.tube.allLate' : 'problem.tube.late', oldest);
}

export function causeText(code: TubeProblemWire['code']): string {
  return t(`cause.${code}`);
}

/** Details of the cause: who paused the tube, how much of a limit is used. Undefined if there are none. */
export function detailText(problem: TubeProblemWire): string | undefined {
  const { code, since, until, by, running, most, per, failed, runs, missedSince } = problem;
  const at = (text: string) => time(Date.parse(text));
  switch (code) {
    case 'paused':
      return [
        since !== undefined && t('detail.since', { time: at(since) }),
        by !== undefined && t('detail.by', { by }),
        until !== undefined && t('detail.until', { time: at(until) }),
      ]
        .filter((each) => each !== false)
        .join(' ');
    case 'limited':
    case 'slots-full':
      return t('detail.used', { running: count(running), most: count(most) });
    case 'rate-limited':
      return t('detail.rate', { most: count(most), per: duration(per) });
    case 'group-limited':
      return t('detail.group', { most: count(most) });
    case 'failing':
      return t('detail.failed', {
        percent: percent(failed!),
        runs: count(runs),
      });
    case 'settling':
      return t('detail.settling');
    case 'series-missed':
      return t('detail.missed', { time: at(missedSince!) });
    default:
      return undefined;
  }
}
