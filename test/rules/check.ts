import { stripVTControlCharacters } from 'node:util';
import { runTests, type RunResult } from './jest-run.js';
import { namePattern, type Mutant, type NamedTest } from './rule.js';

/** The result of one mutant. */
export interface Proof {
  /** The test passes with the rule, and fails without it. */
  readonly proven: boolean;
  /** The failure of the test without the rule. If nothing is proven: why not. */
  readonly message: string;
}

/** Runs the tests on the unchanged source. Resolves with the tests that do not pass, and why. */
export async function checkTests(
  tests: readonly NamedTest[],
  signal: AbortSignal,
): Promise<ReadonlyMap<NamedTest, string>> {
  const wrong = new Map<NamedTest, string>();
  for (const workspace of new Set(tests.map(workspaceOf))) {
    const own = tests.filter((test) => workspaceOf(test) === workspace);
    const result = await runTests(workspace, own, undefined, signal);
    for (const test of own) {
      const { ran, failure } = outcomeOf(test, result);
      if (failure !== undefined) wrong.set(test, `it fails with the rule, too: ${failure}`);
      else if (!ran) wrong.set(test, result.broken.get(test.spec) ?? 'there is no such test');
    }
  }
  return wrong;
}

/** Runs the test of a mutant on the source without the rule. */
export async function checkMutant(mutant: Mutant, signal: AbortSignal): Promise<Proof> {
  const { test } = mutant;
  try {
    const result = await runTests(workspaceOf(test), [test], mutant, signal);
    const { ran, failure } = outcomeOf(test, result);
    if (failure !== undefined) return { proven: true, message: failure };
    const why = ran ? 'it passes without the rule' : (result.broken.get(test.spec) ?? 'it did not run');
    return { proven: false, message: why };
  } catch (error) {
    signal.throwIfAborted();
    return { proven: false, message: (error as Error).message };
  }
}

/** The folder of its package.json. */
function workspaceOf({ spec }: NamedTest): string {
  return /^(packages\/[^/]+|[^/]+)\//.exec(spec)![1]!;
}

/** Whether the test ran, and its failure. A test with a table has several rows: the failure is that of the first one. */
function outcomeOf(
  test: NamedTest,
  { tests }: RunResult,
): { readonly ran: boolean; readonly failure?: string } {
  const pattern = new RegExp(namePattern(test));
  const rows = tests.filter(
    ({ spec, fullName, status }) => spec === test.spec && pattern.test(fullName) && status !== 'pending',
  );
  const failed = rows.find(({ status }) => status === 'failed');
  if (!failed) return { ran: rows.length > 0 };
  const [message = ''] = failed.failureMessages;
  return { ran: true, failure: stripVTControlCharacters(message).split('\n    at ')[0]!.trim() };
}
