// npm run rules: takes one rule at a time out of the source, and runs the test that has to fail without it.
// Exit status: 0 all rules are proven, 1 one or more are not, 2 invalid arguments, 130 ended by a signal.
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { runCommand, untilSignal } from 'test-servers';
import { checkMutant, checkTests, type Proof } from './check.js';
import type { Mutant } from './rule.js';
import { RULES } from './rules.js';

const USAGE = `npm run rules [-- OPTIONS]

  --only TEXT    only changes whose rule, source file or test contains this text
  --parallel N   number of tests to run in parallel (default: the number of processors)
  --json         print only one line of JSON per change
  --help         show this help
`;

/** One change, and the rule that it takes out. */
type Item = Mutant & { readonly rule: string };

interface Flags {
  readonly items: readonly Item[];
  readonly parallel: number;
  readonly json: boolean;
  readonly help: boolean;
}

/** Throws an Error with a message for the user. */
function readFlags(): Flags {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: '' },
      parallel: { type: 'string', default: String(availableParallelism()) },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { only, parallel, ...flags } = values;
  if (!/^[1-9]\d*$/.test(parallel)) {
    throw new Error(`--parallel is ${parallel}: expected a whole number, 1 or more.`);
  }
  const items = RULES.flatMap(({ rule, mutants }) => mutants.map((mutant) => ({ rule, ...mutant }))).filter(
    ({ rule, file, test }) => [rule, file, test.spec, test.title].some((text) => text.includes(only)),
  );
  if (items.length === 0) throw new Error(`No rule, source file or test contains ${only}.`);
  return { ...flags, items, parallel: Number(parallel) };
}

/** Resolves with whether all rules are proven. Prints the results in the order of the list, each as soon as possible. */
async function proveAll({ items, parallel, json }: Flags, signal: AbortSignal): Promise<boolean> {
  const print = (text: string) => void process.stdout.write(text);
  const wrong = await checkTests(
    items.map(({ test }) => test),
    signal,
  );
  if (!json) print('Without the rule in the file on the left, the test on the right must fail.\n');
  const proofs: Proof[] = [];
  let printed = 0;
  const left = items.entries();
  const worker = async () => {
    for (const [i, item] of left) {
      const message = wrong.get(item.test);
      proofs[i] = message === undefined ? await checkMutant(item, signal) : { proven: false, message };
      for (let proof = proofs[printed]; proof; proof = proofs[++printed]) {
        const heading = items[printed - 1]?.rule !== items[printed]!.rule;
        print(
          json
            ? `${JSON.stringify({ ...items[printed], ...proof })}\n`
            : lineOf(items[printed]!, proof, heading),
        );
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  const proven = proofs.filter((proof) => proof.proven).length;
  if (!json) print(`\nA test failed in ${proven} of ${items.length} cases.\n`);
  return proven === items.length;
}

function lineOf({ rule, file, test }: Item, { proven, message }: Proof, heading: boolean): string {
  const where = test.ledger === undefined ? '' : ` (${test.ledger})`;
  return (
    (heading ? `\n${rule}\n` : '') +
    `  ${proven ? 'yes' : 'NO '}  ${basename(file)} → ${basename(test.spec)} › ${test.title}${where}\n` +
    (proven ? '' : `       ${message.replaceAll('\n', '\n       ')}\n`)
  );
}

function run(flags: Flags): Promise<number> {
  return untilSignal('ended before all rules were tried', async (signal) =>
    (await proveAll(flags, signal)) ? 0 : 1,
  );
}

process.exitCode = await runCommand({ usage: USAGE, readFlags, run });
