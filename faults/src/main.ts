// npm run faults: checks the promises of the libraries from outside, while servers and processes fail.
// Exit status: 0 all passed, 1 one or more failed, 2 wrong arguments, 130 ended by a signal.
import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { findConfluent, runCommand, untilSignal } from 'test-servers';
import { ATTACKS, JOBS, STREAMS, type Runnable, type Suite } from './suites.js';
import { beginOfRow } from './table.js';

const USAGE = `npm run faults [-- OPTIONS]

  --kafka       the experiments with streams, of nest-kq on Kafka, instead of those with jobs
  --attacks     the attacks on sealed jobs, as npm run attacks; what follows is the same for them
  --unsealed    with --attacks: the application has no seal, so that attacks succeed, and must not pass
  --confluent   with --kafka: the consumers speak by Confluent's client, which npm run confluent builds, instead of kafkajs
  --only NAME   only this experiment, by name or number, and those whose names go on after it, as in go-queue-adds;
                may be repeated, or a list with commas
  --jobs N      how many jobs each experiment adds (default: the number in its file, mostly 20,000); for the model check,
                how many seeds (default: 1,000); with --kafka, how many messages each pushes
  --small       the small version, of which npm test runs most: some hundred jobs each, or 1,000 messages, short leases and outages
  --json        print one line of JSON for each experiment, and nothing else
  --keep        keep all logs, and print where they are; without it, only the logs of failed experiments are kept
  --help        this text

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
  if (kafka && attacks) throw new Error('--kafka and --attacks were given: expected one of them.');
  if (unsealed && !attacks) throw new Error('--unsealed was given: expected --attacks with it.');
  if (confluent && !kafka) throw new Error('--confluent was given: expected --kafka with it.');
  if (confluent && findConfluent() === undefined)
    throw new Error("Confluent's client is not there: build it by npm run confluent.");
  const suite = kafka ? STREAMS : attacks ? ATTACKS : JOBS;
  const { all } = suite;
  const names = values.only.flatMap((list) => list.split(','));
  const unknown = names.find((name) => !all.some((experiment) => isCalled(experiment, name)));
  if (unknown !== undefined) throw new Error(`There is no experiment ${unknown}.`);
  const wanted =
    names.length === 0 ? all : all.filter((experiment) => names.some((name) => isCalled(experiment, name)));
  if (values.jobs !== undefined && !/^[1-9]\d*$/.test(values.jobs)) {
    throw new Error(`--jobs was given ${values.jobs}: expected a number of 1 or more.`);
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
  return untilSignal('ended before all experiments were done', async (signal) =>
    (await runAll(flags, signal)) ? 0 : 1,
  );
}

process.exit(await runCommand({ usage: USAGE, readFlags, run }));
