import { type Answer, type Arguments, type Command, counted, JSON_FLAG } from 'nest-handlers/cli';
import type { StoredTube } from '../api/tube.js';
import type { Cluster } from '../cluster/cluster.js';
import type { WaitingJobs } from '../ledger/waiting-jobs.js';
import { realEnvironment } from '../nest/environment.js';
import type { ResolvedOptions } from '../nest/options.js';
import { DqRuntime } from '../nest/runtime.js';
import { tell } from './process.js';
import { CONNECTION_FLAGS, givenOptions, resolveSettings } from './settings.js';
import { processesIn, sharedSettings } from './shared-settings.js';

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
  const { ledger } = realEnvironment.backend(settings, undefined);
  const processes = await processesIn(ledger, realEnvironment.clock);
  await ledger.close();
  if (!processes) return settings; // the command will tell that Redis is away
  const { options, doubts } = sharedSettings(given, settings, processes);
  doubts.forEach(doubt);
  return resolveSettings(options);
}
