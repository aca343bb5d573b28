#!/usr/bin/env node
// The command `nest-dq`: an embedded node as a server of its own, for tools and programs in other languages.
// Exit status: 0 it was asked to end, 1 it cannot serve or could not go on, 2 wrong arguments.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { textOf, type ListenOptions } from './embedded/listener.js';
import { EmbeddedNode, type EmbeddedNodeOptions } from './embedded/embedded-node.js';

const USAGE = `nest-dq serve [OPTIONS]

Serves beanstalkd's protocol on this machine until SIGTERM or SIGINT. SIGUSR1: takes no more jobs, and hands out those it has.

  --port PORT            where to listen; 0 takes any free port (default 11300)
  --host HOST            a name or an address (default 127.0.0.1); whoever can connect can do everything
  --dir FOLDER           keeps the jobs there; made if there is none (default: in memory, gone with the process)
  --max-connections N    one more is closed at once (default 1024)
  --max-job-size BYTES   the largest body of a job (default 65535)
  --version              prints the version
  --help                 prints this text
`;

/** A slip in the arguments, in a sentence. */
class WrongArguments extends Error {}

interface Arguments {
  readonly command: string | undefined;
  readonly help: boolean;
  readonly version: boolean;
  readonly node: EmbeddedNodeOptions;
  readonly listen: ListenOptions;
}

function readArguments(): Arguments {
  const { values, positionals } = parse();
  const [command, ...more] = positionals;
  if (command !== undefined && command !== 'serve') {
    throw new WrongArguments(`There is no command ${command}.`);
  }
  if (more.length > 0) throw new WrongArguments(`serve takes no ${more.join(' ')}.`);
  const { help, version, host, dir } = values;
  const number = (flag: 'port' | 'max-connections' | 'max-job-size', least: number, most: number) =>
    wholeNumber(flag, values[flag], least, most);
  return {
    command,
    help,
    version,
    node: { ...(dir !== undefined && { dir }), maxJobSize: number('max-job-size', 1, 2 ** 30) },
    listen: {
      host,
      port: number('port', 0, 65_535),
      maxConnections: number('max-connections', 1, 1_000_000),
    },
  };
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        port: { type: 'string' },
        host: { type: 'string' },
        dir: { type: 'string' },
        'max-connections': { type: 'string' },
        'max-job-size': { type: 'string' },
        version: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new WrongArguments((error as Error).message, { cause: error });
  }
}

function wholeNumber(
  flag: string,
  text: string | undefined,
  least: number,
  most: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new WrongArguments(
    `--${flag} was given ${JSON.stringify(text)}: expected a whole number from ${least} to ${most}.`,
  );
}

function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

async function serve({ node: settings, listen }: Arguments): Promise<void> {
  const asked = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  const node = await EmbeddedNode.open({ ...settings, warn: tell });
  try {
    const address = await node.listen(listen);
    process.on('SIGUSR1', () => {
      node.drain();
      tell('draining: no more jobs are taken');
    });
    process.stdout.write(
      `nest-dq ${version()} listens on ${textOf(address)}; jobs are kept in ${node.dir ?? 'memory'}\n`,
    );
    await Promise.race([asked, node.closed]);
  } finally {
    await node.close();
  }
}

function tell(message: string): void {
  process.stderr.write(`nest-dq: ${message}\n`);
}

async function main(): Promise<void> {
  const given = readArguments();
  if (given.version) process.stdout.write(`${version()}\n`);
  else if (given.help) process.stdout.write(USAGE);
  else if (given.command === undefined)
    throw new WrongArguments('There is nothing to do: expected `nest-dq serve`.');
  else await serve(given);
}

main().catch((error: unknown) => {
  const isWrong = error instanceof WrongArguments;
  tell(error instanceof Error ? error.message : String(error));
  if (isWrong) process.stderr.write('nest-dq --help tells what there is.\n');
  process.exitCode = isWrong ? 2 : 1;
});
