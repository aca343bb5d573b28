import {
  ANSWER_FLAGS,
  WrongArguments,
  readConfigFile,
  printNote,
  type Answer,
  type Arguments,
  type Command,
} from 'nest-handlers/cli';
import { CONNECTION_FLAGS } from './connection-flags.js';
import { KqError, factOf } from '../errors.js';
import { realEnvironment } from '../nest/environment.js';
import type { KqOptions, ResolvedOptions } from '../nest/options.js';
import { KqRuntime } from '../nest/runtime.js';

/** Module options allowed in a file: those for reaching the brokers. */
const IN_FILE = [
  'brokers',
  'clientId',
  'ssl',
  'sasl',
  'connectionTimeout',
  'requestTimeout',
] satisfies readonly (keyof KqOptions)[];

type ClusterCommand = Omit<Command, 'run'> & {
  run(args: Arguments, runtime: KqRuntime): Promise<Answer>;
};

/** Wraps a command that connects to brokers: adds the flags for that, and closes the connection afterwards. */
export function clusterCommand(command: ClusterCommand): Command {
  return {
    ...command,
    flags: { ...command.flags, ...ANSWER_FLAGS, ...CONNECTION_FLAGS },
    run: async (args) => {
      const runtime = await KqRuntime.make(realEnvironment, settingsOf(args));
      try {
        return await command.run(args, runtime);
      } finally {
        await runtime.close();
      }
    },
  };
}

/** Flags override the environment, which overrides the file. */
function settingsOf(args: Arguments): ResolvedOptions {
  const doubt = (line: string) => printNote('nest-kq', line);
  const file: KqOptions = readConfigFile(args, { byDefault: 'nest-kq.json', names: IN_FILE, doubt });
  const brokers = textOf(args, 'brokers', 'host:port,host:port');
  const options: KqOptions = {
    ...file,
    ...(brokers !== undefined && { brokers: brokers.split(',').map((each) => each.trim()) }),
    ...(args.has('ssl') && { ssl: file.ssl ?? true }),
    ...saslOf(args),
  };
  if (options.brokers === undefined)
    throw new WrongArguments('No brokers given: expected --brokers, KQ_BROKERS, or a file with `brokers`.');
  if (options.brokers === 'memory')
    throw new WrongArguments("`brokers` is 'memory', which only its own process can reach: expected a list.");
  try {
    return realEnvironment.resolve({ ...options, consume: false, logger: SILENT }, undefined);
  } catch (error) {
    if (!(error instanceof KqError)) throw error;
    throw new WrongArguments(`${factOf(error)}.`, { cause: error });
  }
}

/** A command reports its failures itself. */
const SILENT = { log: () => undefined, warn: () => undefined, error: () => undefined };

function saslOf(args: Arguments): Pick<KqOptions, 'sasl'> {
  const mechanism = textOf(args, 'sasl-mechanism', 'plain, scram-sha-256 or scram-sha-512');
  const username = textOf(args, 'sasl-username', 'a name');
  const password = process.env['KQ_SASL_PASSWORD'];
  if (mechanism === undefined && username === undefined) return {};
  if (mechanism === undefined || username === undefined || !password)
    throw new WrongArguments(
      'SASL needs --sasl-mechanism, --sasl-username and the environment variable KQ_SASL_PASSWORD: expected all three.',
    );
  return { sasl: { mechanism, username, password } as NonNullable<KqOptions['sasl']> };
}

/** Returns the value of a flag or of its variable, such as KQ_BROKERS for `brokers`. An empty variable counts as unset. */
function textOf(args: Arguments, flag: string, expected: string): string | undefined {
  const variable = process.env[`KQ_${flag.toUpperCase().replaceAll('-', '_')}`];
  return args.text(flag, expected) ?? (variable === '' ? undefined : variable);
}
