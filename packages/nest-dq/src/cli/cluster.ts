import { ANSWER_FLAGS, type Answer, type Arguments, type Command, counted, span } from 'nest-handlers/cli';
import type { StoredTube } from '../api/tube.js';
import type { Cluster } from '../cluster/cluster.js';
import type { WaitingJobs } from '../ledger/waiting/waiting-jobs.js';
import { realEnvironment } from '../nest/environment.js';
import type { DqOptions, ResolvedOptions } from '../nest/options.js';
import { DqRuntime } from '../nest/runtime.js';
import { note } from './process.js';
import { CONNECTION_FLAGS } from './connection-flags.js';
import { contextOf } from './contexts.js';
import { causeOf, isLedgerDown, ledgerFailure } from './ledger-down.js';
import { outageOf } from './outage.js';
import { givenOptions, resolveSettings } from './settings.js';
import { show, toError } from '../errors.js';
import { withinLimit } from '../time/call-limit.js';
import type { Fleet } from '../fleet/fleet.js';
import type { ProcessRecord } from '../fleet/presence.js';
import type { Clock } from 'nest-handlers/time';

/** How long a command waits for the nodes' first answers. */
const FIRST_ANSWERS_MS = 1_000;

/** The connected parts of an application that consumes nothing. */
export interface Connected {
  readonly runtime: DqRuntime;
  readonly cluster: Cluster;
  readonly waiting: WaitingJobs;
  readonly settings: ResolvedOptions;
  /** The context that named the servers. */
  readonly context: string | undefined;
  /** Why Redis can't be used. Undefined if it answers. */
  readonly redisCause: string | undefined;
}

type ClusterCommand = Omit<Command, 'run'> & {
  /** False if it returns no `Answer`, so that it has no `--json`. @default true */
  readonly json?: boolean;
  /** Whether it writes records or copies, as the application's processes do; for some commands depending on their flags. */
  readonly writes?: boolean | ((args: Arguments) => boolean);
  /** Whether it acts on the cluster, which `writes` implies: it waits for Redis, and names the context. */
  readonly acts?: boolean;
  /** Whether it shows what it can without Redis. */
  readonly withoutRedis?: boolean;
  run(args: Arguments, connected: Connected): Promise<Answer | void>;
};

/** Wraps a command that connects to a cluster: adds the connection flags, connects before it runs, and closes afterwards. */
export function clusterCommand(command: ClusterCommand): Command {
  return {
    ...command,
    flags: { ...command.flags, ...(command.json === false ? {} : ANSWER_FLAGS), ...CONNECTION_FLAGS },
    run: async (args) => {
      const { clock } = realEnvironment;
      const writes = typeof command.writes === 'function' ? command.writes(args) : command.writes === true;
      const isAct = command.acts === true || writes;
      const context = contextOf(args);
      if (context !== undefined && isAct) note(`context ${context}`);
      const settings = await settingsOf(args, writes ? note : () => undefined);
      const backend = realEnvironment.backend(settings, undefined);
      const runtime = new DqRuntime(settings, clock, backend);
      const { cluster, waiting } = backend;
      const failed = async (cause: string) =>
        ledgerFailure(cause, await outageOf({ up: false }, cluster, settings.prefix), runtime.now());
      try {
        // Not `runtime.start()`, which starts an application's background work.
        await runtime.open();
        cluster.start();
        // Any name will do, since the time is the server's. The command itself reports what is unreachable.
        const ledger = backend.ledger.tube(settings.prefix as StoredTube);
        const [redisCause] = await Promise.all([
          ledger.readTime().then(
            () => undefined,
            (error: unknown) => causeOf(toError(error)),
          ),
          cluster.firstAnswers(clock, FIRST_ANSWERS_MS),
          runtime.lookForOtherLedger(),
          // A command that adds copies must also know which nodes are drained.
          runtime.process.watch(),
        ]);
        runtime.refuseOtherKeys();
        if (redisCause !== undefined && !isAct && !command.withoutRedis) throw await failed(redisCause);
        return await command.run(args, { runtime, cluster, waiting, settings, context, redisCause });
      } catch (error) {
        throw isLedgerDown(error) ? await failed(causeOf(error)) : error;
      } finally {
        await runtime.close();
        const { unstored } = runtime.actWriter;
        if (unstored > 0)
          note(`Redis did not store ${counted(unstored, 'act')}, so \`nest-dq acts\` will be incomplete`);
      }
    },
  };
}

/** Returns the given settings, completed with those announced by the application's processes. */
async function settingsOf(args: Arguments, doubt: (line: string) => void): Promise<ResolvedOptions> {
  const given = givenOptions(args);
  const settings = resolveSettings(given);
  const { ledger, fleet } = realEnvironment.backend(settings, undefined);
  const processes = await processesIn(fleet, realEnvironment.clock);
  await ledger.close();
  if (!processes) return settings; // the command will report that Redis is unreachable
  const { options, doubts } = sharedSettings(given, settings, processes);
  doubts.forEach(doubt);
  return resolveSettings(options);
}

const DURATIONS = ['lease', 'doneTtl', 'staleAfter'] as const;
const COUNTS = ['replicas', 'minWritten'] as const;
type Duration = (typeof DURATIONS)[number];
type Count = (typeof COUNTS)[number];

/** Time limit for reading the processes from Redis. */
const LIMIT_MS = 1_000;

/** Resolves with the application's processes announced within the last 15 s, or undefined if Redis doesn't answer. Never rejects. */
function processesIn({ presence }: Fleet, clock: Clock): Promise<ProcessRecord[] | undefined> {
  const told = presence.all().then((all) => all.map(({ record }) => record));
  return withinLimit(clock, LIMIT_MS, told).catch(() => undefined);
}

/** The application's settings, as far as its processes announce them. */
interface SharedSettings {
  /** The options given, completed with the settings of the processes. */
  readonly options: DqOptions;
  /** Warnings for people who are about to change something, one line each. */
  readonly doubts: readonly string[];
}

/**
 * Returns the settings for writing records and copies, which should be the application's. Options given to the command take
 * precedence. Where processes differ, the largest value is used: it keeps records longer, and requires more copies.
 * @param settings The given options, completed with defaults.
 */
export function sharedSettings(
  given: DqOptions,
  settings: ResolvedOptions,
  processes: readonly ProcessRecord[],
): SharedSettings {
  const named = { ...given, ...given.advanced };
  const isOpen = (name: Duration | Count) => named[name] === undefined;
  const open = [...DURATIONS, ...COUNTS].filter(isOpen);
  if (processes.length === 0) {
    const none = `no process with the prefix ${show(settings.prefix)} is running; using the defaults for ${open.join(', ')}`;
    return { options: given, doubts: open.length > 0 ? [none] : [] };
  }
  const valuesOf = (name: Duration | Count) =>
    [...new Set(processes.map((each) => each.settings[name]))].sort((a, b) => a - b);
  const valueOf = (name: Duration | Count) => (isOpen(name) ? valuesOf(name).at(-1)! : settings[name]);
  const lease = valueOf('lease');
  // The settings must be consistent even if the command was given fewer nodes, or only some of the settings.
  const replicas = Math.min(valueOf('replicas'), settings.servers!.beanstalks.length);
  const options = {
    ...given,
    advanced: {
      ...given.advanced,
      lease,
      doneTtl: isOpen('doneTtl') ? Math.max(valueOf('doneTtl'), 4 * lease) : settings.doneTtl,
      staleAfter: valueOf('staleAfter'),
    },
    replicas,
    minWritten: isOpen('minWritten') ? Math.min(valueOf('minWritten'), replicas) : settings.minWritten,
  };
  const unequal = open.filter((name) => valuesOf(name).length > 1);
  const values = unequal.map((name) => `${name} (${valuesOf(name).map(spellOf(name)).join(', ')})`);
  const differ = `processes differ in ${values.join(' and ')}; using the largest`;
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
  return [`processes also use nodes that are not listed here: ${missing.join(', ')}`];
}

function spellOf(name: Duration | Count): (value: number) => string {
  return (COUNTS as readonly string[]).includes(name) ? String : span;
}
