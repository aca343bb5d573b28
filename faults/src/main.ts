// npm run faults: checks the promises of the libraries from outside, while servers and processes fail.
// Exit status: 0 all passed, 1 one or more failed, 2 invalid arguments, 130 ended by a signal.
import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { findConfluent, runCommand, untilSignal } from 'test-servers';
import { ATTACKS, JOBS, STREAMS, type Runnable, type Suite } from './suites.js';
import { beginOfRow } from './table.js';

const USAGE = `npm run faults [-- OPTIONS]

  --kafka       the stream experiments (nest-kq on Kafka) instead of the job experiments
  --attacks     the attacks on sealed jobs, like npm run attacks; takes the same options
  --unsealed    with --attacks: run the application without a seal; attacks then succeed and must not pass
  --confluent   with --kafka: consumers use Confluent's client (build it with npm run confluent) instead of kafkajs
  --only NAME   only this experiment, by name or number, and those with this prefix, as in go-queue-adds;
                repeatable, or a comma-separated list
  --jobs N      jobs per experiment (default: the number in its file, mostly 20,000); for the model check,
                seeds (default: 1,000); with --kafka, messages per experiment
  --small       the small version, most of which npm run test:all runs: a few hundred jobs each, or 1,000 messages, short leases and outages
  --json        print only one line of JSON per experiment
  --keep        keep all logs and print where they are (default: keep only those of failed experiments)
  --help        show this help

${list(JOBS)}

with --kafka

${list(STREAMS)}

with --attacks

${list(ATTACKS)}
`;

function list({ all }: Suite): string {
  return all
    .map(({ number, name, what }) => `  ${String(number).padStart(2)} ${name.padEnd(22)} ${what}`)
    .join('\n');
}

interface Flags {
  readonly suite: Suite;
  readonly wanted: readonly Runnable[];
  readonly jobs?: number;
  readonly small: boolean;
  readonly unsealed: boolean;
  readonly confluent: boolean;
  readonly json: boolean;
  readonly keep: boolean;
  readonly help: boolean;
}

/** Throws an Error with a message for the user. */
function readFlags(): Flags {
  const { values } = parseArgs({
    options: {
      kafka: { type: 'boolean', default: false },
      attacks: { type: 'boolean', default: false },
      unsealed: { type: 'boolean', default: false },
      confluent: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      jobs: { type: 'string' },
      small: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { small, unsealed, confluent, json, keep, help, kafka, attacks } = values;
  if (kafka && attacks) throw new Error('--kafka and --attacks exclude each other.');
  if (unsealed && !attacks) throw new Error('--unsealed requires --attacks.');
  if (confluent && !kafka) throw new Error('--confluent requires --kafka.');
  if (confluent && findConfluent() === undefined)
    throw new Error("Confluent's client is not built: npm run confluent.");
  const suite = kafka ? STREAMS : attacks ? ATTACKS : JOBS;
  const { all } = suite;
  const names = values.only.flatMap((list) => list.split(','));
  const unknown = names.find((name) => !all.some((experiment) => isCalled(experiment, name)));
  if (unknown !== undefined) throw new Error(`Unknown experiment: ${unknown}.`);
  const wanted =
    names.length === 0 ? all : all.filter((experiment) => names.some((name) => isCalled(experiment, name)));
  if (values.jobs !== undefined && !/^[1-9]\d*$/.test(values.jobs)) {
    throw new Error(`--jobs is ${values.jobs}: expected a whole number, 1 or more.`);
  }
  return {
    suite,
    wanted,
    small,
    unsealed,
    confluent,
    json,
    keep,
    help,
    ...(values.jobs && { jobs: Number(values.jobs) }),
  };
}

function isCalled(
  { number, name }: { readonly number: number; readonly name: string },
  wanted: string,
): boolean {
  return wanted === name || wanted === String(number) || name.startsWith(`${wanted}-`);
}

/** Resolves with whether all passed. */
async function runAll(
  { suite, wanted, jobs, small, unsealed, confluent, json, keep }: Flags,
  signal: AbortSignal,
): Promise<boolean> {
  const print = (text: string) => void process.stdout.write(text);
  if (!json) print(suite.heading);
  let allPassed = true;
  for (const one of wanted) {
    if (!json) print(beginOfRow(one.number, one.name));
    const { row, text } = await one.run({
      ...(jobs !== undefined && { jobs }),
      small,
      unsealed,
      confluent,
      keep,
      signal,
    });
    print(json ? `${JSON.stringify(row)}\n` : text);
    allPassed &&= row.passed;
  }
  return allPassed;
}

function run(flags: Flags): Promise<number> {
  return untilSignal('interrupted before all experiments were done', async (signal) =>
    (await runAll(flags, signal)) ? 0 : 1,
  );
}

process.exit(await runCommand({ usage: USAGE, readFlags, run }));
