import { span } from 'nest-handlers/cli';
import { show } from '../errors.js';
import { withinLimit } from '../time/call-limit.js';
import type { Ledger } from '../ledger/ledger.js';
import type { ProcessRecord } from '../ledger/presence.js';
import type { DqOptions, ResolvedOptions } from '../nest/options.js';
import type { Clock } from 'nest-handlers/time';

const DURATIONS = ['lease', 'doneTtl', 'staleAfter'] as const;
const COUNTS = ['replicas', 'minWritten'] as const;
type Duration = (typeof DURATIONS)[number];
type Count = (typeof COUNTS)[number];

/** Milliseconds that Redis has to tell of the processes. */
const LIMIT = 1_000;

/** The processes of the application, as they told within the last 15 s. Undefined: Redis does not tell. Never rejects. */
export function processesIn(ledger: Ledger, clock: Clock): Promise<ProcessRecord[] | undefined> {
  const told = ledger.presence!.all().then((all) => all.map(({ record }) => record));
  return withinLimit(clock, LIMIT, told).catch(() => undefined);
}

/** How the application is set up, as far as its processes say so. */
export interface SharedSettings {
  /** What was given, and for the rest what the processes have. */
  readonly options: DqOptions;
  /** For people who are about to change something: what is in doubt, a line each. */
  readonly doubts: readonly string[];
}

/**
 * The settings that records and copies are written with, which should be those of the application. What was given to the command
 * counts. Where processes differ, the largest value does: it lets records stay longer, and asks for more copies.
 * @param settings What was given, with the defaults for the rest.
 */
export function sharedSettings(
  given: DqOptions,
  settings: ResolvedOptions,
  processes: readonly ProcessRecord[],
): SharedSettings {
  const isOpen = (name: Duration | Count) => given[name] === undefined;
  const open = [...DURATIONS, ...COUNTS].filter(isOpen);
  if (processes.length === 0) {
    const none = `no process with the prefix ${show(settings.prefix)} is there, so the defaults count for ${open.join(', ')}`;
    return { options: given, doubts: open.length > 0 ? [none] : [] };
  }
  const valuesOf = (name: Duration | Count) =>
    [...new Set(processes.map((each) => each.settings[name]))].sort((a, b) => a - b);
  const valueOf = (name: Duration | Count) => (isOpen(name) ? valuesOf(name).at(-1)! : settings[name]);
  const lease = valueOf('lease');
  // A command that is given fewer nodes, or some of the settings, still has ones that fit together.
  const replicas = Math.min(valueOf('replicas'), settings.servers!.beanstalks.length);
  const options = {
    ...given,
    lease,
    doneTtl: isOpen('doneTtl') ? Math.max(valueOf('doneTtl'), 4 * lease) : settings.doneTtl,
    staleAfter: valueOf('staleAfter'),
    replicas,
    minWritten: isOpen('minWritten') ? Math.min(valueOf('minWritten'), replicas) : settings.minWritten,
  };
  const unequal = open.filter((name) => valuesOf(name).length > 1);
  const values = unequal.map((name) => `${name} (${valuesOf(name).map(spellOf(name)).join(', ')})`);
  const differ = `the processes differ in ${values.join(' and ')}: the largest counts`;
  return {
    options,
    doubts: [...(unequal.length > 0 ? [differ] : []), ...nodesOfOthers(settings, processes)],
  };
}

function nodesOfOthers({ servers }: ResolvedOptions, processes: readonly ProcessRecord[]): string[] {
  const given = new Set(servers!.beanstalks.map(({ text }) => text));
  const theirs = new Set(processes.flatMap(({ nodes }) => Object.keys(nodes)));
  const missing = [...theirs].filter((node) => !given.has(node));
  if (missing.length === 0) return [];
  return [`the processes also use nodes that were not named here: ${missing.join(', ')}`];
}

function spellOf(name: Duration | Count): (value: number) => string {
  return (COUNTS as readonly string[]).includes(name) ? String : span;
}
