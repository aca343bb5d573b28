// The command `nest-dq`: an embedded node as a server of its own, for tools and programs in other languages.
// Exit status: 0 it was asked to end, 1 it cannot serve or could not go on, 2 wrong arguments.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { textOf, type ListenOptions } from './embedded/listener.js';
import { EmbeddedNode, type EmbeddedNodeOptions } from './embedded/embedded-node.js';

const USAGE = `nest-dq serve [OPTIONS]

Serves beanstalkd's protocol on this machine until SIGTERM, SIGINT or SIGHUP.
SIGUSR1: takes no more jobs, and hands out those it has.

  --port PORT            where to listen; 0 takes any free port (default 11300)
  --host HOST            a name or an address (default 127.0.0.1); whoever can connect can do everything
  --dir FOLDER           stores the jobs there; made if there is none (default: in memory, gone with the process);
                         it needs a package: npx -p nest-dq -p classic-level@3 nest-dq serve --dir FOLDER
  --patience SECONDS     how long to wait while another process has the folder (default 15)
  --max-connections N    one more is closed at once (default 1024)
  --max-job-size BYTES   the largest body of a job (default 65535)
  --version              prints the version
  --help                 prints this text
`;

const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

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
  if (more.length > 0) throw new WrongArguments(`serve takes no argument ${more.join(' ')}.`);
  const { help, version } = values;
  const host = text('host', values.host, 'a name or an address');
  const dir = text('dir', values.dir, 'the path of a folder');
  const number = (
    flag: 'port' | 'patience' | 'max-connections' | 'max-job-size',
    least: number,
    most: number,
  ) => wholeNumber(flag, values[flag], least, most);
  const patience = number('patience', 0, 1_000_000);
  return {
    command,
    help,
    version,
    node: {
      ...(dir !== undefined && { dir }),
      ...(patience !== undefined && { patience: patience * 1_000 }),
      maxJobSize: number('max-job-size', 1, 2 ** 30),
    },
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
      args: joinNumbers(process.argv.slice(2)),
      allowPositionals: true,
      options: {
        port: { type: 'string' },
        host: { type: 'string' },
        dir: { type: 'string' },
        patience: { type: 'string' },
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

/** Writes `--port -1` as `--port=-1`. Otherwise the parser takes -1 for a flag, and the message would not name the value. */
function joinNumbers(args: readonly string[]): string[] {
  return args.reduce<string[]>((joined, arg) => {
    const last = joined.at(-1);
    if (last !== undefined && /^--[a-z-]+$/.test(last) && /^-[\d.]/.test(arg)) {
      return [...joined.slice(0, -1), `${last}=${arg}`];
    }
    return [...joined, arg];
  }, []);
}

function text(flag: string, given: string | undefined, expected: string): string | undefined {
  if (given !== '') return given;
  throw new WrongArguments(`--${flag} was given "": expected ${expected}.`);
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
  const signals = new Signals();
  const opening = EmbeddedNode.open({ ...settings, warn: tell });
  await Promise.race([opening, signals.asked]);
  if (signals.isAsked) process.exit(); // a folder bears a process that ends at any instant
  const node = await opening;
  try {
    signals.onDrain(() => node.drain());
    const address = await node.listen(listen);
    if (signals.isAsked) return;
    process.stdout.write(
      `nest-dq ${version()} listens on ${textOf(address)}; jobs are stored in ${node.dir ?? 'memory'}\n`,
    );
    await Promise.race([signals.asked, node.closed]);
  } finally {
    await node.close();
  }
}

/** What an operator asks for. It listens from the start, because SIGUSR1 without a listener opens Node's debugger. */
class Signals {
  isAsked = false;
  /** Resolves when the process is asked to end. */
  readonly asked: Promise<void>;
  private isDraining = false;
  private drain: () => void = () => undefined;

  constructor() {
    this.asked = new Promise((resolve) => {
      for (const signal of ENDING) {
        process.on(signal, () => {
          this.isAsked = true;
          resolve();
        });
      }
    });
    process.on('SIGUSR1', () => {
      this.isDraining = true;
      this.drain();
      tell('draining: no more jobs are taken');
    });
  }

  /** Calls it at once if the operator has asked before. */
  onDrain(drain: () => void): void {
    this.drain = drain;
    if (this.isDraining) drain();
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

// The server goes on when its output cannot be written: the reader of a pipe has gone, or a disk is full.
process.stdout.on('error', ({ message }) => tell(`standard output cannot be written: ${message}`));
process.stderr.on('error', () => undefined); // there is nowhere left to tell it

main().catch((error: unknown) => {
  const isWrong = error instanceof WrongArguments;
  tell(error instanceof Error ? error.message : String(error));
  if (isWrong) process.stderr.write('nest-dq --help shows the commands and flags.\n');
  process.exitCode = isWrong ? 2 : 1;
});
