import { type Answer, type Arguments, type Command, counted, JSON_FLAG, span } from 'nest-handlers/cli';
import type { StoredTube } from '../api/tube.js';
import type { Cluster } from '../cluster/cluster.js';
import type { WaitingJobs } from '../ledger/waiting-jobs.js';
import { realEnvironment } from '../nest/environment.js';
import type { DqOptions, ResolvedOptions } from '../nest/options.js';
import { DqRuntime } from '../nest/runtime.js';
import { tell } from './process.js';
import { CONNECTION_FLAGS, givenOptions, resolveSettings } from './settings.js';
import { show } from '../errors.js';
import { withinLimit } from '../time/call-limit.js';
import type { Fleet } from '../fleet/fleet.js';
import type { ProcessRecord } from '../fleet/presence.js';
import type { Clock } from 'nest-handlers/time';

/** Milliseconds. How long a command waits for the first answers of the nodes. */
const FIRST_ANSWERS = 1_000;

/** The parts of an application that consumes nothing, connected. */
export interface Connected {
  readonly runtime: DqRuntime;
  readonly cluster: Cluster;
  readonly waiting: WaitingJobs;
  readonly settings: ResolvedOptions;
}

type ClusterCommand = Omit<Command, 'run'> & {
  /** False: it has no `Answer`, and so no `--json`. @default true */
  readonly json?: boolean;
  /** It writes records or copies, as a process of the application would. */
  readonly writes?: boolean;
  run(args: Arguments, connected: Connected): Promise<Answer | void>;
};

/** A command that goes to a cluster: with the flags for that, connected before it runs, and closed after it. */
export function clusterCommand(command: ClusterCommand): Command {
  return {
    ...command,
    flags: { ...command.flags, ...(command.json === false ? {} : JSON_FLAG), ...CONNECTION_FLAGS },
    run: async (args) => {
      const { clock } = realEnvironment;
      const settings = await settingsOf(args, command.writes ? tell : () => undefined);
      const backend = realEnvironment.backend(settings, undefined);
      const runtime = new DqRuntime(settings, clock, backend);
      const { cluster, waiting } = backend;
      try {
        // Not `runtime.start()`: it begins what an application does in the background.
        await runtime.open();
        cluster.start();
        // Any name will do: it is the server that is asked. What is away, the command finds out.
        const ledger = backend.ledger.tube(settings.prefix as StoredTube);
        await Promise.all([
          cluster.firstAnswers(clock, FIRST_ANSWERS),
          ledger.readTime().catch(() => undefined),
          runtime.lookForOtherLedger(),
          // A command that adds copies must know them, too.
          runtime.process.watch(),
        ]);
        runtime.refuseOtherKeys();
        return await command.run(args, { runtime, cluster, waiting, settings });
      } finally {
        await runtime.close();
        const { unstored } = runtime.actWriter;
        if (unstored > 0)
          tell(`Redis did not store ${counted(unstored, 'act')}, which \`nest-dq acts\` will not show`);
      }
    },
  };
}

/** Those of the application, as its processes tell them, for what was not given. */
async function settingsOf(args: Arguments, doubt: (line: string) => void): Promise<ResolvedOptions> {
  const given = givenOptions(args);
  const settings = resolveSettings(given);
  const { ledger, fleet } = realEnvironment.backend(settings, undefined);
  const processes = await processesIn(fleet, realEnvironment.clock);
  await ledger.close();
  if (!processes) return settings; // the command will tell that Redis is away
  const { options, doubts } = sharedSettings(given, settings, processes);
  doubts.forEach(doubt);
  return resolveSettings(options);
}

const DURATIONS = ['lease', 'doneTtl', 'staleAfter'] as const;
const COUNTS = ['replicas', 'minWritten'] as const;
type Duration = (typeof DURATIONS)[number];
type Count = (typeof COUNTS)[number];

/** Milliseconds that Redis has to tell of the processes. */
const LIMIT = 1_000;

/** The processes of the application, as they told within the last 15 s. Undefined: Redis does not tell. Never rejects. */
function processesIn({ presence }: Fleet, clock: Clock): Promise<ProcessRecord[] | undefined> {
  const told = presence.all().then((all) => all.map(({ record }) => record));
  return withinLimit(clock, LIMIT, told).catch(() => undefined);
}

/** How the application is set up, as far as its processes say so. */
interface SharedSettings {
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
